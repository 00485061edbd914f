"""What a remote lost, or a new one never had, of the events of machines that do not come."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path

import pytest
from rounds import sync

from prowess.learning.memskill.bank import Bank
from prowess.server.memskill_files import keep_bank, load_bank
from prowess.server.sync.cycle import LostSince
from prowess.storage.events import ControllerAdopted, SkillSaved
from prowess.storage.models import NewStep, Origin, Skill, SkillStep, Where
from prowess.storage.store import Store

pytestmark = pytest.mark.anyio

ORIGIN = Origin(machine="m0", client="test", session="s")
SECRET = "vault-of-the-bank"


@asynccontextmanager
async def three(folder: Path) -> AsyncIterator[tuple[Store, Store, Store]]:
    """One that recorded, one that heard of it by the first remote, and one that knows the second remote alone."""
    async with AsyncExitStack() as stack:
        one, two, new = [await stack.enter_async_context(Store.open(folder / name)) for name in ("one", "two", "new")]
        yield one, two, new


def remotes(folder: Path) -> tuple[str, str]:
    return f"file://{folder}/first.db", f"file://{folder}/second.db"


async def work(store: Store, task: str, *, project: str = "shop", said: str = "") -> str:
    step = NewStep(action=f"look {said}", tool="bash", observation=f"seen {said}")
    return (await store.track(Where(task_id=task, project=project, session="s"), [step], origin=ORIGIN)).episode_id


async def test_of_a_private_project_others_send_nothing_again(tmp_path: Path) -> None:
    first, second = remotes(tmp_path)
    async with three(tmp_path) as (one, two, new):
        step = SkillStep(tool="bash")
        closed = Skill(id="k", name="k", description=SECRET, steps=(step,), project="bank")
        await one.append([SkillSaved(skill=closed, change="create")], origin=ORIGIN)
        await work(one, "t", project="bank", said=SECRET)
        await work(one, "u")
        await sync(one, first)
        await sync(two, first)
        await sync(two, second, private=["bank"])  # a remote that was made to be without it
        await sync(new, second)
        assert [found.project for found in await new.episodes()] == ["shop"]
        assert await new.skills() == ()
    assert SECRET.encode() not in b"".join(path.read_bytes() for path in (tmp_path / "new").rglob("*.*"))


async def test_where_raw_steps_travel_they_are_sent_again_whole(tmp_path: Path) -> None:
    first, second = remotes(tmp_path)
    async with three(tmp_path) as (one, two, new):
        episode = await work(one, "t", said="whole")
        await sync(one, first, raw=True)
        await sync(two, first, raw=True)
        await sync(two, second, raw=True)
        await sync(new, second)
        assert await new.steps(episode) == await one.steps(episode)


async def test_a_controller_comes_with_its_files(tmp_path: Path) -> None:
    first, second = remotes(tmp_path)
    async with three(tmp_path) as (one, two, new):
        bank = keep_bank(one.folder, Bank.initial())
        adopted = ControllerAdopted(project="shop", at="2026-11-29T12:00:00.000Z", bank=bank)
        await one.append([adopted], origin=Origin(actor="machine"))
        await sync(one, first)
        await sync(two, first)
        await sync(two, second)
        await sync(new, second)
        assert load_bank(new.folder, bank) == load_bank(one.folder, bank)


async def test_whose_events_they_are_comes_first(tmp_path: Path) -> None:
    """The other one has no raw steps to give, and what is there once is not sent again."""
    first, second = remotes(tmp_path)
    async with three(tmp_path) as (one, two, new):
        episode = await work(one, "t", said="whole")
        await sync(one, first)
        await sync(two, first)
        await sync(two, second, owners_seconds=60.0)
        await sync(one, second, raw=True)
        await sync(new, second)
        assert await new.steps(episode) == await one.steps(episode)


async def test_the_wait_for_whose_they_are_goes_on_over_the_next_connection(tmp_path: Path) -> None:
    first, second = remotes(tmp_path)
    since: LostSince = {}
    async with three(tmp_path) as (one, two, new):
        episode = await work(one, "t")
        await sync(one, first)
        await sync(two, first)
        await sync(two, second, owners_seconds=60.0, lost_since=since)
        since |= {key: at - 60.0 for key, at in since.items()}
        await sync(new, second)
        assert await new.episodes() == ()
        await sync(two, second, owners_seconds=60.0, lost_since=since)
        await sync(new, second)
        assert [each.id for each in await new.episodes()] == [episode]
        assert since
        await sync(two, second, owners_seconds=60.0, lost_since=since)
        assert since == {}
