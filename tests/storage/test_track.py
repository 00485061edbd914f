from __future__ import annotations

from pathlib import Path

import anyio
import anyio.lowlevel
import msgspec
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from storekit import AT, ORIGIN, WHERE, Clock, steps

from prowess.storage.errors import InvalidInput, StepConflict
from prowess.storage.events import MemoryDeleted
from prowess.storage.log import batch
from prowess.storage.log.file import read_only
from prowess.storage.log.tables import KEYS
from prowess.storage.manifest import LOG_NAME
from prowess.storage.models import NewReward, NewStep, NewUse, Origin, Where
from prowess.storage.store import Store

pytestmark = pytest.mark.anyio

# As FORM 1 has always told them: one of each kind of request.
FORM_1 = {
    "5a8287dcb6e2d1ba7a952c8d8ffae1aa",
    "8645e35502ca0204cb4e8670d6c63d04",
    "b1767070d6b9dc9b7219f1e49e6d1e71",
}


async def test_the_first_step_opens_an_episode(folder: Path, clock: Clock) -> None:
    async with Store.open(folder, clock=clock) as store:
        told = await store.track(WHERE, steps("look"), origin=ORIGIN)
        assert (told.opened, told.numbers, told.duplicates, told.receipt) == (True, (1,), (), "committed")
        episode = await store.episode(told.episode_id)
        assert (episode.task_id, episode.project, episode.attempt, episode.steps) == ("refund", "shop", 1, 1)
        assert (episode.task, episode.opened_at) == ("refund the order", "2026-11-29T12:00:00.000Z")


async def test_a_step_comes_back_as_it_was_told(folder: Path, clock: Clock) -> None:
    told = NewStep(
        action="look",
        at="2026-11-29T13:30:00+01:00",
        tool="grep",
        args={"q": ["a", {"b": None}]},
        context="c",
        observation="o" * 100_000,
        error="e",
        outcome="failure",
        duration_ms=1.5,
    )
    async with Store.open(folder, clock=clock) as store:
        answer = await store.track(WHERE, [told], origin=ORIGIN)
        (step,) = await store.steps(answer.episode_id)
    assert (step.number, step.numbered, step.at) == (1, False, "2026-11-29T12:30:00.000Z")
    assert (step.tool, step.args, step.context) == ("grep", {"q": ["a", {"b": None}]}, "c")
    assert (step.observation, step.error, step.outcome, step.duration_ms) == ("o" * 100_000, "e", "failure", 1.5)


async def test_steps_without_a_number_are_counted(folder: Path) -> None:
    async with Store.open(folder) as store:
        await store.track(WHERE, [NewStep(action="a", number=5)], origin=ORIGIN)
        told = await store.track(WHERE, steps("b", "c"), origin=ORIGIN)
        assert told.numbers == (6, 7)


async def test_numbered_steps_may_arrive_in_any_order(folder: Path) -> None:
    async with Store.open(folder) as store:
        for number in (3, 1, 2):
            told = await store.track(WHERE, [NewStep(action=f"a{number}", number=number)], origin=ORIGIN)
        assert [step.action for step in await store.steps(told.episode_id)] == ["a1", "a2", "a3"]


async def test_the_same_step_again_is_a_duplicate(folder: Path) -> None:
    async with Store.open(folder) as store:
        step = NewStep(action="a", number=1, args={"x": 1})
        first = await store.track(WHERE, [step], origin=ORIGIN)
        again = await store.track(WHERE, [step, step], origin=ORIGIN)
        assert (again.numbers, again.duplicates, again.seq) == ((1, 1), (1, 1), first.seq)
        assert len(await store.steps(first.episode_id)) == 1


async def test_the_same_number_with_other_content_is_refused_and_nothing_is_stored(folder: Path) -> None:
    async with Store.open(folder) as store:
        told = await store.track(WHERE, [NewStep(action="a", number=1)], origin=ORIGIN)
        with pytest.raises(StepConflict, match="step 1 of task 'refund'") as raised:
            await store.track(WHERE, [NewStep(action="b"), NewStep(action="b", number=1)], origin=ORIGIN)
        assert raised.value.hint
        with pytest.raises(StepConflict):
            await store.track(WHERE, [NewStep(action="x", number=9), NewStep(action="y", number=9)], origin=ORIGIN)
        assert len(await store.steps(told.episode_id)) == 1


async def test_a_key_gets_the_first_answer_again(folder: Path) -> None:
    async with Store.open(folder) as store:
        first = await store.track(WHERE, steps("a"), origin=ORIGIN, key="k")
        await store.track(WHERE, steps("b"), origin=ORIGIN)
        assert await store.track(WHERE, steps("a"), origin=ORIGIN, key="k") == first
    async with Store.open(folder) as store:
        assert await store.track(WHERE, steps("a"), origin=ORIGIN, key="k") == first
        assert len(await store.steps(first.episode_id)) == 2


async def test_a_key_gets_the_first_answer_in_another_session_as_well(folder: Path) -> None:
    elsewhere = msgspec.structs.replace(WHERE, session="the agent's next server", agent="x")
    async with Store.open(folder) as store:
        first = await store.track(WHERE, steps("a"), origin=ORIGIN, key="k")
        assert await store.track(elsewhere, steps("a"), origin=ORIGIN, key="k") == first
        scored = await store.score(WHERE, [NewReward(value=1.0)], origin=ORIGIN, key="k")
        assert await store.score(elsewhere, [NewReward(value=1.0)], origin=ORIGIN, key="k") == scored
        assert len(await store.episodes()) == 1


async def test_a_key_gets_the_first_answer_in_another_session_whose_calls_have_ids(folder: Path) -> None:
    elsewhere = msgspec.structs.replace(WHERE, session="the agent's next server")
    origin = msgspec.structs.replace(ORIGIN, session="the agent's next server")
    step = NewStep(action="a", external_id="toolu_1")
    async with Store.open(folder) as store:
        first = await store.track(WHERE, [step], origin=ORIGIN, key="k")
        assert await store.track(elsewhere, [step], origin=origin, key="k") == first
        other = msgspec.structs.replace(step, external_id="toolu_2")
        with pytest.raises(InvalidInput, match="'k' was used for another request"):
            await store.track(elsewhere, [other], origin=origin, key="k")
        assert [one.external_id for one in await store.steps(first.episode_id)] == ["toolu_1"]


async def test_a_key_gets_the_first_answer_of_a_program_that_told_requests_otherwise(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with Store.open(folder) as store:
        with monkeypatch.context() as earlier:
            earlier.setattr(batch, "FORM", batch.FORM - 1)
            first = await store.track(WHERE, steps("a"), origin=ORIGIN, key="k")
        # Other content stands for the same content that is hashed in another way now.
        assert await store.track(WHERE, steps("b"), origin=ORIGIN, key="k") == first
        assert [one.action for one in await store.steps(first.episode_id)] == ["a"]


async def test_requests_are_told_as_bytes_in_the_form_that_has_this_number(folder: Path) -> None:
    """Where this fails ``FORM`` goes up by one: else calls that come again after an upgrade are refused."""
    step = NewStep(action="a", tool="t", args={"x": 1}, observation="o", outcome="success", external_id="e", number=3)
    async with Store.open(folder) as store:
        await store.track(WHERE, [step], origin=ORIGIN, key="k")
        await store.score(WHERE, [NewReward(value=1.0, source="user", reason="r")], origin=ORIGIN, key="k")
        await store.append([MemoryDeleted(memory_id="m", at=AT)], origin=ORIGIN, key="k")
    with read_only(folder / LOG_NAME) as view:
        told = {batch.remembered(raw).request.hex() for _, raw in view.table(KEYS)}
    assert (batch.FORM, told) == (1, FORM_1)


async def test_a_key_gets_the_first_answer_though_the_skill_has_changed_meanwhile(folder: Path) -> None:
    async with Store.open(folder) as store:
        await store.track(WHERE, steps("a"), origin=ORIGIN)
        told = [NewUse(skill_id="s", version=version, success=True) for version in (1, 2)]
        first = await store.score(WHERE, [NewReward(value=1.0)], uses=told[:1], origin=ORIGIN, key="k")
        assert await store.score(WHERE, [NewReward(value=1.0)], uses=told[1:], origin=ORIGIN, key="k") == first


async def test_a_key_for_another_request_is_refused(folder: Path) -> None:
    async with Store.open(folder) as store:
        await store.track(WHERE, steps("a"), origin=ORIGIN, key="k")
        with pytest.raises(InvalidInput, match="'k' was used for another request"):
            await store.track(WHERE, steps("b"), origin=ORIGIN, key="k")


async def test_a_key_is_forgotten_after_a_day(folder: Path, clock: Clock) -> None:
    async with Store.open(folder, clock=clock) as store:
        first = await store.track(WHERE, steps("a"), origin=ORIGIN, key="k")
        clock.forward(hours=25)
        await store.track(WHERE, steps("other"), origin=ORIGIN)
        again = await store.track(WHERE, steps("a"), origin=ORIGIN, key="k")
        assert (first.numbers, again.numbers) == ((1,), (3,))


async def test_an_external_id_is_never_stored_twice(folder: Path, clock: Clock) -> None:
    step = NewStep(action="a", external_id="toolu_1")
    async with Store.open(folder, clock=clock) as store:
        first = await store.track(WHERE, [step, step], origin=ORIGIN)
        assert (first.numbers, first.duplicates) == ((1, 1), (1,))
        clock.forward(days=400)
        await store.score(WHERE, [], final=True, origin=ORIGIN)
        again = await store.track(WHERE, [step], origin=ORIGIN)
        assert (again.episode_id, again.duplicates, again.opened) == (first.episode_id, (1,), False)
        other = await store.track(WHERE, [step], origin=Origin(client="other", session="s1"))
        assert (other.duplicates, other.opened) == ((), True)


async def test_after_the_end_a_step_opens_the_next_attempt(folder: Path) -> None:
    async with Store.open(folder) as store:
        first = await store.track(WHERE, steps("a"), origin=ORIGIN)
        await store.score(WHERE, [], final=True, origin=ORIGIN)
        second = await store.track(WHERE, steps("a"), origin=ORIGIN)
        assert (second.opened, second.numbers) == (True, (1,))
        assert second.episode_id != first.episode_id
        assert (await store.episode(second.episode_id)).attempt == 2
        found = await store.find_episode(WHERE)
        assert found is not None
        assert found.id == second.episode_id


async def test_sessions_and_projects_have_episodes_of_their_own(folder: Path) -> None:
    wheres = [
        WHERE,
        Where(task_id="refund", project="shop", session="s2"),
        Where(task_id="refund", project="bank", session="s1"),
    ]
    async with Store.open(folder) as store:
        told = [await store.track(where, steps("a"), origin=ORIGIN) for where in wheres]
        assert len({answer.episode_id for answer in told}) == 3


async def test_what_the_user_asked_may_become_known_later(folder: Path) -> None:
    async with Store.open(folder) as store:
        told = await store.track(Where(task_id="t"), steps("a"), origin=ORIGIN)
        await store.track(Where(task_id="t", task="fix the bug"), steps("b"), origin=ORIGIN)
        assert (await store.episode(told.episode_id)).task == "fix the bug"


@pytest.mark.parametrize(
    ("step", "message"),
    [
        (NewStep(action=" "), "action is empty"),
        (NewStep(action="a", number=0), "step number 0"),
        (NewStep(action="a", number=2**31), "out of range"),
        (NewStep(action="a", at="yesterday"), "timestamp"),
        (NewStep(action="a", at="2026-11-29T12:00:00"), "no zone"),
        (NewStep(action="a", at="0001-01-01T00:00:00+14:00"), "timestamp"),
        (NewStep(action="a", observation="x" * ((16 << 20) + 1)), r"step\.observation"),
        (NewStep(action="a", external_id="x" * 2000), r"step\.external_id"),
    ],
)
async def test_a_step_that_cannot_be_is_refused(folder: Path, step: NewStep, message: str) -> None:
    async with Store.open(folder) as store:
        with pytest.raises(InvalidInput, match=message) as raised:
            await store.track(WHERE, [NewStep(action="fine"), step], origin=ORIGIN)
        assert raised.value.hint
        assert await store.find_episode(WHERE) is None


async def test_a_call_without_task_or_steps_is_refused(folder: Path) -> None:
    async with Store.open(folder) as store:
        with pytest.raises(InvalidInput, match="task_id is empty"):
            await store.track(Where(task_id=" "), steps("a"), origin=ORIGIN)
        with pytest.raises(InvalidInput, match="0 steps"):
            await store.track(WHERE, [], origin=ORIGIN)


async def test_ten_thousand_steps_in_one_call_are_stored(folder: Path) -> None:
    async with Store.open(folder) as store:
        told = await store.track(WHERE, steps(*(f"a{n}" for n in range(10_000))), origin=ORIGIN)
        assert told.numbers == tuple(range(1, 10_001))
        assert (await store.episode(told.episode_id)).steps == 10_000


async def test_hostile_text_is_stored_and_found(folder: Path) -> None:
    step = NewStep(action="a\0b\ud800", observation="o\0" * 1000, args={"\udfff": "\0", "big": 2**70})
    async with Store.open(folder) as store:
        told = await store.track(Where(task_id="t\0\ud800"), [step], origin=ORIGIN)
        (read,) = await store.steps(told.episode_id)
        assert (read.action, read.args) == ("a\N{SYMBOL FOR NULL}b\ufffd", {"\ufffd": "\u2400", "big": str(2**70)})
        assert await store.find_episode(Where(task_id="t\0\ud800")) is not None


async def test_summaries_are_short_and_errors_are_templates(folder: Path) -> None:
    step = NewStep(action="x" * 500, error="line 1\nline 2", args={"path": "/etc"}, context="c" * 500)
    async with Store.open(folder, summarise=lambda text: "T:" + text[:6]) as store:
        told = await store.track(WHERE, [step], origin=ORIGIN)
        (summary,) = await store.summaries(told.episode_id)
    assert (len(summary.action), len(summary.context or ""), summary.error) == (200, 200, "T:line 1")
    assert list(summary.args or ()) == ["path"]


@pytest.mark.parametrize(
    ("step", "action"),
    [
        (NewStep(action="run the tests", tool="Bash", args={"command": "pytest -q\ncat log"}), "Bash: pytest -q"),
        (NewStep(action="run it", tool="shell", args={"cmd": ["bash", "-lc", "pytest -q"]}), "shell: pytest -q"),
        (NewStep(action="press", tool="keys", args={"command": {"key": "q"}}), "press"),
        (NewStep(action="run the tests", args={"command": "pytest -q"}), "run the tests"),
        (NewStep(action="run it", tool="Bash", args={"command": f"echo {'x' * 300}"}), f"Bash: echo {'x' * 189}"),
    ],
)
async def test_a_summary_has_the_command_line_since_it_has_no_arguments_values(
    folder: Path, step: NewStep, action: str
) -> None:
    async with Store.open(folder) as store:
        told = await store.track(WHERE, [step], origin=ORIGIN)
        (summary,) = await store.summaries(told.episode_id)
        (raw,) = await store.trajectories([told.episode_id])
    assert (summary.action, raw.steps[0].action) == (action, step.action)


async def test_the_summary_of_a_failure_without_an_error_is_of_what_came_back(folder: Path) -> None:
    told = [
        NewStep(action="a", observation="error: pool exhausted\nmore", outcome="failure"),
        NewStep(action="a", observation="error: pool exhausted", error="given", outcome="failure"),
        NewStep(action="a", observation="no error: all well", outcome="success"),
        NewStep(action="a", observation="who knows", outcome="unknown"),
        NewStep(action="a", outcome="failure"),
    ]
    async with Store.open(folder) as store:
        tracked = await store.track(WHERE, told, origin=ORIGIN)
        found = [summary.error for summary in await store.summaries(tracked.episode_id)]
    assert found == ["error: pool exhausted", "given", None, None, None]


async def test_many_writers_at_once_get_numbers_without_gaps(folder: Path) -> None:
    numbers: list[int] = []

    async def write(store: Store, name: int) -> None:
        for turn in range(20):
            told = await store.track(WHERE, steps(f"{name}-{turn}", "and"), origin=ORIGIN, key=f"{name}-{turn}")
            numbers.extend(told.numbers)

    async with Store.open(folder) as store:
        async with anyio.create_task_group() as tasks:
            for name in range(16):
                tasks.start_soon(write, store, name)
        found = await store.find_episode(WHERE)
        assert found is not None
        assert found.steps == 640
    assert sorted(numbers) == list(range(1, 641))


async def test_a_bad_call_does_not_spoil_those_committed_with_it(folder: Path) -> None:
    outcomes: list[str] = []

    async def write(store: Store, name: int) -> None:
        try:
            await store.track(WHERE, [NewStep(action=f"a{name % 2}", number=1)], origin=ORIGIN)
            outcomes.append("stored")
        except StepConflict:
            outcomes.append("refused")

    async with Store.open(folder) as store, anyio.create_task_group() as tasks:
        for name in range(20):
            tasks.start_soon(write, store, name)
    assert (outcomes.count("stored"), outcomes.count("refused")) == (10, 10)


async def test_a_cancelled_caller_does_not_lose_what_was_queued(folder: Path) -> None:
    async with Store.open(folder) as store:

        async def write() -> None:
            await store.track(WHERE, steps("a"), origin=ORIGIN)

        async with anyio.create_task_group() as tasks:
            tasks.start_soon(write)
            await anyio.lowlevel.checkpoint()
            tasks.cancel_scope.cancel()
    async with Store.open(folder) as store:
        found = await store.find_episode(WHERE)
        assert found is not None
        assert found.steps == 1


COMMANDS = st.lists(
    st.tuples(st.sampled_from(["s1", "s2"]), st.none() | st.integers(1, 4), st.sampled_from("ab"), st.booleans()),
    max_size=12,
)


@settings(max_examples=25, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])
@given(COMMANDS)
async def test_tracking_agrees_with_a_model(
    tmp_path_factory: pytest.TempPathFactory, commands: list[tuple[str, int | None, str, bool]]
) -> None:
    model: dict[str, list[dict[int, str]]] = {}
    async with Store.open(tmp_path_factory.mktemp("model")) as store:
        for session, number, action, final in commands:
            where = Where(task_id="t", session=session)
            attempts = model.setdefault(session, [{}])
            now = attempts[-1]
            expected = number or max(now, default=0) + 1
            if now.get(expected, action) != action:
                with pytest.raises(StepConflict):
                    await store.track(where, [NewStep(action=action, number=number)], origin=ORIGIN)
                continue
            told = await store.track(where, [NewStep(action=action, number=number)], origin=ORIGIN)
            assert (told.numbers, bool(told.duplicates)) == ((expected,), expected in now)
            now[expected] = action
            if final:
                await store.score(where, [], final=True, origin=ORIGIN)
                attempts.append({})
        for episode in await store.episodes():
            read = {step.number: step.action for step in await store.steps(episode.id)}
            assert read == model[episode.session][episode.attempt - 1]
        assert len(await store.episodes()) == sum(bool(a) for attempts in model.values() for a in attempts)
