"""A command line in this process, and a small store for it."""

from __future__ import annotations

from pathlib import Path

import anyio
import pytest
from clikit import Command, Ended, run

from prowess.storage.events import SkillSaved
from prowess.storage.models import NewReward, NewStep, Origin, Parameter, Skill, SkillStep, Where
from prowess.storage.store import Store

ORIGIN = Origin(client="test", session="s")
SKILL = Skill(
    id="a1",
    name="return_items",
    description="Return delivered items.",
    steps=(SkillStep(tool="get_order", args_template={"order_id": "{order_id}"}), SkillStep(tool="return_items")),
    parameters=(Parameter(name="order_id"),),
    status="active",
    project="shop",
    support=2,
    created_at="2026-01-01T00:00:00.000Z",
    updated_at="2026-01-01T00:00:00.000Z",
)


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The store's folder, with no setting of the machine in the way."""
    for name in ("PROWESS_HOME", "REDB_PATH", "PROWESS_PROJECT", "ANTHROPIC_API_KEY", "NO_COLOR", "FORCE_COLOR"):
        monkeypatch.delenv(name, raising=False)
    for name in ("CLAUDE_CONFIG_DIR", "CODEX_HOME"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", str(tmp_path / "nobody"))  # doctor looks at clients' files
    monkeypatch.setenv("PROWESS_EMBEDDER", "none")
    return tmp_path / "store"


@pytest.fixture
def prowess(home: Path, capsys: pytest.CaptureFixture[str]) -> Command:
    """Run ``prowess WORDS… --store home``."""

    def prowess(*words: object, store: bool = True) -> Ended:
        return run(capsys, *words, *(("--store", home) if store else ()))

    return prowess


@pytest.fixture
def filled(home: Path) -> str:
    """A store with two episodes of ``shop/1`` (one failed, one rewarded 8 and closed) and one skill; the newer id."""

    async def fill() -> str:
        async with Store.open(home) as store:
            first = Where(task_id="shop/1", project="shop", session="s", task="Return the kettle")
            failed = NewStep(
                action="get_order", tool="get_order", error="no such order\nsecond line", outcome="failure"
            )
            await store.track(first, [failed], origin=ORIGIN)
            await store.score(first, [NewReward(value=-5.0)], final=True, origin=ORIGIN)
            steps = [NewStep(action="get_order"), NewStep(action="return_items", args={"items": ["42"]})]
            tracked = await store.track(first, steps, origin=ORIGIN)
            await store.score(first, [NewReward(value=8.0, reason="thanks")], final=True, origin=ORIGIN)
            await store.append([SkillSaved(skill=SKILL, change="create")], origin=ORIGIN)
            return tracked.episode_id

    return anyio.run(fill)
