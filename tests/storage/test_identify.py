from __future__ import annotations

from pathlib import Path

import msgspec
import pytest
from storekit import AT, ORIGIN, WHERE, open_log

from prowess.storage.errors import InvalidInput, StepConflict
from prowess.storage.events import EpisodeOpened, StepTracked
from prowess.storage.ids import new_id
from prowess.storage.log.codec import encode_step, sameness
from prowess.storage.log.foreign import Foreign
from prowess.storage.log.tables import STEPS
from prowess.storage.models import NewStep, Origin
from prowess.storage.store import Store

pytestmark = pytest.mark.anyio

TOLD = NewStep(action="a", number=1, tool="Bash", args={"command": "make"})
CALL = NewStep(
    action="Bash: make",
    tool="Bash",
    args={"command": "make", "timeout": 1},
    observation="no till",
    error="no till",
    outcome="failure",
    external_id="x",
)
RAW = encode_step(TOLD, AT, sameness(TOLD))


def at(number: int, call: NewStep = CALL) -> NewStep:
    return msgspec.structs.replace(call, number=number)


async def test_a_call_is_a_duplicate_of_the_step_that_it_was_said_to_be(folder: Path) -> None:
    async with Store.open(folder) as store:
        first = await store.track(WHERE, [TOLD], origin=ORIGIN)
        await store.identify(first.episode_id, [at(1)], origin=ORIGIN)
        again = await store.track(WHERE, [CALL], origin=ORIGIN, late=True)
        assert (again.numbers, again.duplicates) == ((1,), (1,))
    async with Store.open(folder) as store:
        assert (await store.track(WHERE, [CALL], origin=ORIGIN)).duplicates == (1,)
        assert len(await store.steps(first.episode_id)) == 1
        assert await store.verify() == 2  # the episode was opened, and one step told


async def test_a_step_keeps_what_was_told_and_gains_what_was_left_out(folder: Path) -> None:
    async with Store.open(folder) as store:
        first = await store.track(WHERE, [TOLD], origin=ORIGIN)
        await store.identify(first.episode_id, [at(1)], origin=ORIGIN)
        (step,) = await store.steps(first.episode_id)
        assert (step.action, step.args, step.numbered, step.external_id) == ("a", {"command": "make"}, True, "x")
        assert (step.outcome, step.observation, step.error) == ("failure", "no till", "no till")


async def test_an_outcome_that_was_told_is_not_contradicted(folder: Path) -> None:
    async with Store.open(folder) as store:
        told = msgspec.structs.replace(TOLD, outcome="success", observation="ok")
        first = await store.track(WHERE, [told], origin=ORIGIN)
        await store.identify(first.episode_id, [at(1)], origin=ORIGIN)
        (step,) = await store.steps(first.episode_id)
        assert (step.outcome, step.observation, step.error, step.external_id) == ("success", "ok", None, "x")


async def test_the_step_itself_is_still_known_by_its_number_and_content(folder: Path) -> None:
    async with Store.open(folder) as store:
        first = await store.track(WHERE, [TOLD], origin=ORIGIN)
        await store.identify(first.episode_id, [at(1)], origin=ORIGIN)
        assert (await store.track(WHERE, [TOLD], origin=ORIGIN)).duplicates == (1,)
        with pytest.raises(StepConflict):
            await store.track(WHERE, [msgspec.structs.replace(TOLD, action="b")], origin=ORIGIN)


async def test_a_step_is_one_call_and_a_call_one_step(folder: Path) -> None:
    async with Store.open(folder) as store:
        first = await store.track(WHERE, [TOLD, msgspec.structs.replace(TOLD, number=2)], origin=ORIGIN)
        other = msgspec.structs.replace(CALL, external_id="y")
        await store.identify(first.episode_id, [at(1), at(1, other), at(2)], origin=ORIGIN)
        assert [step.external_id for step in await store.steps(first.episode_id)] == ["x", None]
        assert (await store.track(WHERE, [other], origin=ORIGIN)).numbers == (3,)


async def test_a_call_of_another_session_is_another_one(folder: Path) -> None:
    async with Store.open(folder) as store:
        first = await store.track(WHERE, [TOLD], origin=ORIGIN)
        await store.identify(first.episode_id, [at(1)], origin=Origin(client="c", session="elsewhere"))
        assert (await store.track(WHERE, [CALL], origin=ORIGIN)).numbers == (2,)


async def test_what_a_step_gains_counts_as_its_size(folder: Path) -> None:
    async with Store.open(folder) as store:
        first = await store.track(WHERE, [TOLD], origin=ORIGIN)
        await store.identify(first.episode_id, [at(1)], origin=ORIGIN)
    with open_log(folder / "log.redb") as log, log.read() as view:
        size = sum(len(raw) for _, raw in view.table(STEPS))
    async with Store.open(folder) as store:
        assert (await store.trim(days=None, max_bytes=0, origin=ORIGIN)).bytes == size


async def test_another_machines_episode_is_not_written_to(folder: Path) -> None:
    opened = EpisodeOpened(episode_id=new_id(), project="shop", session="s", task_id="t", attempt=1, at=AT)
    tracked = StepTracked(episode_id=opened.episode_id, number=1, at=AT, action="a")
    whose = {"log": "0198c0de-0000-7000-8000-000000000001", "epoch": 1, "version": 1, "at": AT, "origin": ORIGIN}
    events = [
        Foreign(**whose, seq=1, clock=1, type="episode.opened", data=msgspec.to_builtins(opened)),
        Foreign(**whose, seq=2, clock=2, type="step.tracked", data=msgspec.to_builtins(tracked), raw=RAW),
    ]
    async with Store.open(folder) as store:
        await store.receive(events)
        assert (await store.identify(opened.episode_id, [at(1)], origin=ORIGIN)).numbers == ()
        assert [step.external_id for step in await store.steps(opened.episode_id)] == [None]


async def test_what_was_forgotten_or_never_was_gets_no_identity(folder: Path) -> None:
    async with Store.open(folder) as store:
        first = await store.track(WHERE, [TOLD], origin=ORIGIN)
        await store.identify(first.episode_id, [at(7)], origin=ORIGIN)
        await store.forget(episode_ids=[first.episode_id], origin=ORIGIN)
        await store.identify(first.episode_id, [at(1)], origin=ORIGIN)
        assert (await store.track(WHERE, [CALL], origin=ORIGIN)).duplicates == ()


@pytest.mark.parametrize("step", [CALL, TOLD])
async def test_a_call_without_its_step_or_a_step_without_its_call_is_refused(folder: Path, step: NewStep) -> None:
    async with Store.open(folder) as store:
        first = await store.track(WHERE, [TOLD], origin=ORIGIN)
        with pytest.raises(InvalidInput, match="without number or external_id"):
            await store.identify(first.episode_id, [step], origin=ORIGIN)
        with pytest.raises(InvalidInput, match="no episode can have id"):
            await store.identify("nonsense", [at(1)], origin=ORIGIN)
