"""The runtime: one store with all that works beside it."""

from __future__ import annotations

import errno
import os
from datetime import UTC, datetime
from pathlib import Path

import pytest
from notfiles import KINDS, put_no_file

from prowess.learning.ranking import order
from prowess.server.runtime import _Ledger, machine_of, open_runtime
from prowess.server.settings import Settings
from prowess.storage.errors import StoreUnavailable
from prowess.storage.events import ModelAnswered, SkillSaved
from prowess.storage.models import EpisodeFilter, NewStep, Skill, Where, format_time
from prowess.tools.registry import call, find

pytestmark = pytest.mark.anyio


def _settings(home: Path, **more: object) -> Settings:
    return Settings(home=home, embedder="none", **more)  # type: ignore[arg-type]


async def test_the_installation_keeps_its_machine_id(tmp_path: Path) -> None:
    machines = set()
    for _ in range(2):
        async with open_runtime(_settings(tmp_path)) as runtime:
            machines.add(runtime.context(client="c", session="s", actor="person").origin.machine)
    (machine,) = machines
    assert len(machine) == 16


@pytest.mark.parametrize("content", [b"", b"  \n", b"\xff\0" * 500])
def test_a_machine_id_that_was_never_written_is_made_anew(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "machine").write_bytes(content)
    machine = machine_of(tmp_path)
    assert len(machine) == 16
    assert machine_of(tmp_path) == machine


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="there are no such files here")
@pytest.mark.parametrize("kind", KINDS)
def test_a_machine_id_that_is_no_file_is_told_at_once(tmp_path: Path, kind: str) -> None:
    path = tmp_path / "machine"
    put_no_file(kind, path)
    with pytest.raises(StoreUnavailable) as caught:
        machine_of(tmp_path)
    assert str(caught.value) == f"{path} cannot be read: it is no ordinary file"
    assert "move it away" in caught.value.hint


async def test_a_context_says_who_asks(tmp_path: Path) -> None:
    async with open_runtime(_settings(tmp_path, project="shop", unused_days=7)) as runtime:
        context = runtime.context(client="c", session="s", actor="person", key="k")
    assert (context.origin.client, context.origin.session, context.origin.actor) == ("c", "s", "person")
    assert (context.project, context.session, context.key, context.unused_days) == ("shop", "s", "k", 7)


async def test_without_a_key_there_is_no_language_model(tmp_path: Path) -> None:
    async with open_runtime(_settings(tmp_path)) as runtime:
        assert runtime.language is None


async def test_with_a_key_the_calls_are_charged_to_the_stores_ledger(tmp_path: Path) -> None:
    async with open_runtime(_settings(tmp_path, api_key="sk-test", base_url="http://127.0.0.1:9")) as runtime:
        assert runtime.language is not None
        call = ModelAnswered(
            call_id="c", at="2026-11-29T00:00:00.000Z", purpose="p", model="m", input_tokens=1, output_tokens=1,
            cost_usd=0.25, ok=True,
        )  # fmt: skip
        await runtime.store.append([call], origin=runtime.context().origin)
        assert await runtime.store.spent("") == 0.25


async def test_what_was_spent_while_the_clock_was_ahead_counts_on_no_day_before(tmp_path: Path) -> None:
    async with open_runtime(_settings(tmp_path)) as runtime:
        origin = runtime.context().origin
        ledger = _Ledger(runtime.store, origin)
        for number, (at, cost) in enumerate(
            [(format_time(datetime.now(UTC)), 0.25), ("2099-01-01T00:00:00.000Z", 5.0)]
        ):
            call = ModelAnswered(
                call_id=f"c{number}", at=at, purpose="p", model="m", input_tokens=1, output_tokens=1,
                cost_usd=cost, ok=True,
            )  # fmt: skip
            await runtime.store.append([call], origin=origin)
        assert await ledger.spent_today() == 0.25


async def test_secrets_and_errors_are_stored_masked_and_as_templates(tmp_path: Path) -> None:
    secret = "ghp_" + "a1B2c3D4e5" * 3 + "a1B2c3"
    async with open_runtime(_settings(tmp_path)) as runtime:
        step = NewStep(action="push", observation=secret, error="Error: no file '/a/x.py' at line 12")
        tracked = await runtime.store.track(Where(task_id="t"), [step], origin=runtime.context().origin)
        (raw,) = await runtime.store.steps(tracked.episode_id)
        (summary,) = await runtime.store.summaries(tracked.episode_id)
        assert await runtime.store.episodes(EpisodeFilter(task_id="t"))
    assert secret not in f"{raw}"
    assert "12" not in (summary.error or "")


async def test_learning_lets_go_of_what_was_forgotten(tmp_path: Path) -> None:
    async with open_runtime(_settings(tmp_path)) as runtime:
        context = runtime.context()
        skill = Skill(
            id="s", name="peel-potatoes", description="Peel.", steps=(), created_at="2026-11-29T00:00:00.000Z"
        )
        await runtime.store.append([SkillSaved(skill=skill, change="create")], origin=context.origin)
        await call(find("find_skill"), {"query": "peel potatoes"}, context)
        assert "peel-potatoes" in repr(order._known)
        await runtime.store.forget(skill_ids=["s"], origin=context.origin)
        assert "peel-potatoes" not in repr(order._known)


async def test_the_log_may_lie_elsewhere(tmp_path: Path) -> None:
    async with open_runtime(_settings(tmp_path / "home", redb_path=Path("elsewhere.redb"))) as runtime:
        assert runtime.store.log_path == tmp_path / "home" / "elsewhere.redb"


def test_where_the_disk_is_full_the_hint_speaks_of_space(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object, **__: object) -> int:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(Path, "write_text", refuse)
    with pytest.raises(StoreUnavailable, match="cannot be used") as caught:
        machine_of(tmp_path)
    assert caught.value.hint.startswith("Free some space")


@pytest.mark.skipif(not hasattr(os, "geteuid"), reason="file modes are Unix's")
async def test_a_home_that_is_a_file_is_refused_with_a_hint(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(StoreUnavailable, match="cannot be used") as caught:
        async with open_runtime(_settings(tmp_path / "file")):
            raise AssertionError("opened")
    assert "PROWESS_HOME" in caught.value.hint
