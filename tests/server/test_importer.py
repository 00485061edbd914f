"""Import: once, whole, and never losing a good line to a bad one."""

from __future__ import annotations

import io
import json
from collections.abc import AsyncIterator, Sequence
from pathlib import Path
from typing import Any, cast

import anyio
import pytest

from prowess.learning.redaction.masking import mask_many
from prowess.server import importer
from prowess.server.cli.exits import Exit, exit_of
from prowess.server.importer import Imported, import_jsonl
from prowess.storage.errors import StoreClosed, StoreUnavailable
from prowess.storage.models import EpisodeFilter, NewReward, Origin, Scored, Where
from prowess.storage.store import Store
from prowess.tools.context import Compute, Context, Index

pytestmark = pytest.mark.anyio

EPISODE: dict[str, Any] = {
    "task_id": "shop/1",
    "task": "Return the kettle",
    "project": "shop",
    "agent": "gpt",
    "steps": [
        {
            "tool": "get_order",
            "args": {"id": "#W1"},
            "observation": "{}",
            "timestamp": "2026-01-01T00:00:00+01:00",
        },
        {"action": "return it", "tool": "return_items", "error": "no such item", "duration_ms": 5},
    ],
    "reward": 8,
    "reason": "well done",
}


@pytest.fixture
async def ctx(tmp_path: Path) -> AsyncIterator[Context]:
    async with Store.open(tmp_path / "store", mask_many=mask_many) as store:
        origin = Origin(client="prowess", session="cli", actor="person")
        # An import neither computes nor embeds.
        yield Context(
            store=store, compute=cast(Compute, None), index=cast(Index, None), origin=origin, project="default"
        )


def lines(*values: object) -> io.BytesIO:
    text = "\n".join(value if isinstance(value, str) else json.dumps(value) for value in values)
    return io.BytesIO(text.encode())


async def taken(ctx: Context, *values: object) -> Imported:
    return await import_jsonl(lines(*values), ctx)


async def test_an_episode_is_stored_as_it_was_told(ctx: Context) -> None:
    result = await taken(ctx, EPISODE)
    assert (result.lines, result.episodes, result.steps, result.known, result.broken_lines) == (1, 1, 2, 0, 0)
    (episode,) = await ctx.store.episodes()
    assert (episode.task_id, episode.project, episode.task, episode.agent) == (
        "shop/1",
        "shop",
        "Return the kettle",
        "gpt",
    )
    assert (episode.reward, episode.outcome) == (8.0, "success")
    assert episode.closed_at is not None
    first, second = await ctx.store.steps(episode.id)
    assert (first.action, first.tool, first.args, first.at) == (
        *("get_order", "get_order"),
        {"id": "#W1"},
        "2025-12-31T23:00:00.000Z",
    )
    assert (second.action, second.outcome, second.duration_ms) == ("return it", "failure", 5)
    (reward,) = await ctx.store.rewards(episode.id)
    assert (reward.value, reward.reason) == (8.0, "well done")


async def test_importing_twice_stores_once(ctx: Context) -> None:
    await taken(ctx, EPISODE)
    before = await ctx.store.dump()
    again = await taken(ctx, json.dumps(EPISODE, indent=None, sort_keys=True, separators=(" , ", " : ")))
    assert (again.episodes, again.known, again.steps) == (0, 1, 0)
    assert await ctx.store.dump() == before


async def test_what_was_forgotten_stays_so_and_keeps_no_other_line_out(ctx: Context) -> None:
    await taken(ctx, EPISODE)
    await ctx.store.forget(task_id="shop/1", origin=ctx.origin)
    again = await taken(ctx, EPISODE, {**EPISODE, "task_id": "shop/2"})
    assert (again.episodes, again.known, again.broken_lines) == (1, 1, 0)
    assert [episode.task_id for episode in await ctx.store.episodes()] == ["shop/2"]


async def test_the_same_line_twice_in_a_file_is_one_episode(ctx: Context) -> None:
    result = await taken(ctx, EPISODE, EPISODE, EPISODE)
    assert (result.episodes, result.known) == (1, 2)
    assert len(await ctx.store.episodes()) == 1
    assert len(await ctx.store.rewards((await ctx.store.episodes())[0].id)) == 1


async def test_two_attempts_at_a_task_are_two_episodes(ctx: Context) -> None:
    await taken(ctx, EPISODE, {**EPISODE, "agent": "other", "reward": -8})
    found = await ctx.store.episodes(EpisodeFilter(task_id="shop/1"))
    assert sorted((episode.agent, episode.reward) for episode in found) == [("gpt", 8.0), ("other", -8.0)]


async def test_an_import_that_was_cut_off_between_steps_and_score_is_completed(
    ctx: Context, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def die(*_: object, **__: object) -> None:
        raise StoreUnavailable("the disk is full")

    with monkeypatch.context() as patched:
        patched.setattr(Store, "score", die)
        with pytest.raises(ExceptionGroup) as caught:
            await taken(ctx, EPISODE)
    assert caught.group_contains(StoreUnavailable, match="the disk is full")
    (episode,) = await ctx.store.episodes()
    assert (episode.steps, episode.reward) == (2, None)
    result = await taken(ctx, EPISODE)
    assert (result.episodes, result.known, result.broken_lines) == (0, 1, 0)
    assert (await ctx.store.episode(episode.id)).reward == 8.0


@pytest.mark.parametrize("final", [True, False])
async def test_an_import_that_was_cut_off_between_the_scores_is_completed(
    ctx: Context, monkeypatch: pytest.MonkeyPatch, final: bool
) -> None:
    told = {"task_id": "t", "steps": [{"action": "a", "reward": 1}], "reward": 4, "final": final}
    score = Store.score

    async def die(store: Store, where: Where, rewards: Sequence[NewReward], **more: Any) -> Scored:
        if rewards[0].step is None:
            raise StoreUnavailable("the disk is full")
        return await score(store, where, rewards, **more)

    with monkeypatch.context() as patched:
        patched.setattr(Store, "score", die)
        with pytest.raises(ExceptionGroup):
            await taken(ctx, told)
    for _ in range(2):
        await taken(ctx, told)
        (episode,) = await ctx.store.episodes()
        rewards = await ctx.store.rewards(episode.id)
        assert sorted((reward.step or 0, reward.value) for reward in rewards) == [(0, 4.0), (1, 1.0)]


async def test_a_store_that_leaves_during_an_import_is_told_as_what_it_is(
    ctx: Context, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def die(*_: object, **__: object) -> None:
        raise StoreClosed("the hub left in the middle of a call") from EOFError()

    monkeypatch.setattr(Store, "track", die)
    with pytest.raises(ExceptionGroup) as caught:
        await taken(ctx, EPISODE)
    (error,) = caught.value.exceptions
    assert isinstance(error.__cause__, EOFError)
    assert exit_of(error) is Exit.FAILED


BROKEN = {
    "no json": ("{", "no JSON"),
    "no object": ("[1]", "a JSON object is expected, got [1]"),
    "deep": ("[" * 100_000, "no JSON that can be read: it is nested too deeply"),
    "no steps": ({"task_id": "a"}, "steps: a list of at least one step is expected, got None"),
    "empty steps": ({"task_id": "a", "steps": []}, "steps: a list of at least one step"),
    "step is text": ({"task_id": "a", "steps": ["ls"]}, "steps[0]: a JSON object is expected"),
    "no task": ({"steps": [{"action": "a"}]}, "task_id is missing"),
    "no action": ({"task_id": "a", "steps": [{"observation": "x"}]}, "steps[0].action is missing"),
    "misspelt": ({**EPISODE, "rewards": 1}, "rewards: there is no such field"),
    "misspelt step": ({"task_id": "a", "steps": [{"action": "a", "obs": 1}]}, "steps[0].obs: there is no such field"),
    "reward": ({**EPISODE, "reward": "very good"}, "reward"),
    "reward out of range": ({**EPISODE, "reward": 1e308}, "out of range"),
    "reward NaN": ('{"task_id": "a", "steps": [{"action": "a"}], "reward": NaN}', "reward"),
    "outcome": ({**EPISODE, "outcome": "great"}, "outcome: success, failure or unknown is expected"),
    "contradiction": ({**EPISODE, "outcome": "failure"}, "outcome failure contradicts the reward 8"),
    "time": ({"task_id": "a", "steps": [{"action": "a", "timestamp": "2026-01-01T00:00:00"}]}, "zone"),
}


@pytest.mark.parametrize("name", BROKEN)
async def test_a_broken_line_is_told_and_the_others_are_stored(ctx: Context, name: str) -> None:
    line, reason = BROKEN[name]
    result = await taken(ctx, EPISODE, "", line, {**EPISODE, "task_id": "shop/2"})
    assert (result.lines, result.episodes, result.broken_lines) == (3, 2, 1)
    assert result.broken[0].line == 3
    assert reason in result.broken[0].reason
    assert {episode.task_id for episode in await ctx.store.episodes()} == {"shop/1", "shop/2"}


async def test_bytes_that_are_no_text_are_a_broken_line(ctx: Context) -> None:
    result = await import_jsonl(io.BytesIO(b'\xff\xfe{"a": 1}\n' + lines(EPISODE).read()), ctx)
    assert (result.episodes, result.broken_lines) == (1, 1)


async def test_a_line_that_is_too_long_is_skipped_over(ctx: Context, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(importer, "MAX_LINE", 1000)
    long = {**EPISODE, "task": "x" * 5000}
    result = await taken(ctx, long, EPISODE, long)
    assert [broken.line for broken in result.broken] == [1, 3]
    assert result.episodes == 1


async def test_only_the_first_broken_lines_are_told_and_all_are_counted(ctx: Context) -> None:
    result = await taken(ctx, *["{"] * 250)
    assert (result.broken_lines, len(result.broken)) == (250, 100)


async def test_outcome_stands_for_a_label_and_nothing_for_unknown(ctx: Context) -> None:
    base = {name: value for name, value in EPISODE.items() if name != "reward"}
    told = [
        {**base, "task_id": str(outcome), "outcome": outcome} for outcome in ("success", "failure", "unknown", None)
    ]
    await taken(ctx, *told)
    found = {episode.task_id: (episode.outcome, episode.reward) for episode in await ctx.store.episodes()}
    assert found == {
        "success": ("success", 5.0),
        "failure": ("failure", -5.0),
        "unknown": ("unknown", None),
        "None": ("unknown", None),
    }


async def test_scores_of_all_steps_are_one_write(ctx: Context, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each write looks at all scores that were given before."""
    written: list[int] = []
    score = Store.score

    async def counted(store: Store, where: Where, rewards: Sequence[NewReward], **more: Any) -> Scored:
        written.append(len(rewards))
        return await score(store, where, rewards, **more)

    monkeypatch.setattr(Store, "score", counted)
    await taken(ctx, {"task_id": "t", "steps": [{"action": f"a{n}", "reward": n} for n in range(9)], "reward": 4})
    assert written == [9, 1]


async def test_rewards_of_steps_are_kept_beside_the_whole(ctx: Context) -> None:
    steps = [{"action": "a", "reward": -10}, {"action": "b", "reward": 10}]
    await taken(ctx, {"task_id": "t", "steps": steps, "reward": 4})
    (episode,) = await ctx.store.episodes()
    rewards = await ctx.store.rewards(episode.id)
    assert sorted((reward.step or 0, reward.value) for reward in rewards) == [(0, 4.0), (1, -10.0), (2, 10.0)]
    assert episode.reward == 4.0


async def test_an_episode_that_is_not_final_stays_open(ctx: Context) -> None:
    await taken(ctx, {"task_id": "t", "steps": [{"action": "a"}], "final": False})
    (episode,) = await ctx.store.episodes()
    assert (episode.closed_at, episode.project) == (None, "default")


async def test_order_holds_where_only_some_steps_have_a_time(ctx: Context) -> None:
    steps = [{"action": "a"}, {"action": "b", "timestamp": "2020-01-01T00:00:00Z"}, {"action": "c"}]
    await taken(ctx, {"task_id": "t", "steps": steps})
    (episode,) = await ctx.store.episodes()
    assert [step.action for step in await ctx.store.steps(episode.id)] == ["a", "b", "c"]


async def test_more_steps_than_one_call_takes_are_one_episode(ctx: Context, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(importer, "MAX_BATCH", 2)
    result = await taken(ctx, {"task_id": "t", "steps": [{"action": str(n)} for n in range(5)]})
    (episode,) = await ctx.store.episodes()
    assert (result.steps, episode.steps) == (5, 5)


async def test_secrets_do_not_reach_the_store(ctx: Context) -> None:
    secret = "ghp_" + "A1b2C3d4E5f6G7h8I9j0K1l2M3n4O5p6Q7r8"[:36]
    step = {"action": f"curl -H {secret}", "args": {"token": secret}, "observation": secret}
    await taken(ctx, {**EPISODE, "task": secret, "steps": [step], "reason": secret})
    (episode,) = await ctx.store.episodes()
    stored = f"{episode} {await ctx.store.steps(episode.id)} {await ctx.store.rewards(episode.id)}"
    assert secret not in stored


async def test_progress_tells_bytes(ctx: Context) -> None:
    seen: list[int] = []
    file = lines(*[{**EPISODE, "task_id": str(n)} for n in range(40)])
    size = len(file.getvalue())
    with anyio.fail_after(60):
        await import_jsonl(file, ctx, report=seen.append)
    assert seen == sorted(seen)
    assert seen[-1] == size
    assert len(seen) > 1


async def test_lines_are_held_by_their_bytes_not_only_their_number(
    ctx: Context, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(importer, "_TOGETHER_BYTES", 1000)
    file, ends = lines(*({**EPISODE, "task_id": f"t{number}", "task": "x" * 400} for number in range(3))), list[int]()
    assert (await import_jsonl(file, ctx, report=ends.append)).episodes == 3
    assert len(ends) == 3


@pytest.mark.parametrize("odd", [["success"], {"a": 1}, 7, True])
@pytest.mark.parametrize(
    "name", ["outcome", "reward", "final", "evidence", "agent", "session", "task", "reason", "project"]
)
async def test_a_field_of_any_type_spoils_no_other_line(ctx: Context, name: str, odd: object) -> None:
    result = await taken(ctx, {**EPISODE, "task_id": "odd", name: odd}, EPISODE)
    assert result.lines == 2
    assert result.episodes == 2 - result.broken_lines
    assert [line.line for line in result.broken] == [1] * result.broken_lines


@pytest.mark.parametrize("nothing", [{}, {"project": None}])
async def test_a_line_without_a_project_is_of_the_imports_own_whatever_is_stored(
    ctx: Context, nothing: dict[str, Any]
) -> None:
    named = {**EPISODE, "session": "s", "final": False}
    common = {"task_id": EPISODE["task_id"], "session": "s", "agent": "gpt"}
    left_out = {**common, **nothing, "steps": [{"action": "pay", "reward": 2}]}
    result = await taken(ctx, named, left_out)
    assert (result.episodes, result.broken_lines) == (2, 0)
    (episode,) = await ctx.store.episodes(EpisodeFilter(project=ctx.project))
    assert [(reward.step, reward.value) for reward in await ctx.store.rewards(episode.id)] == [(1, 2.0)]
