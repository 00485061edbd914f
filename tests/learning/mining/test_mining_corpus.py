"""Counting what is new must give what counting everything gives."""

from __future__ import annotations

import random
from collections.abc import Sequence
from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from made_episodes import episode, failing
from msgspec.structs import replace

from prowess.learning.mining import sequences as mining_sequences
from prowess.learning.mining.corpus import Corpus
from prowess.learning.mining.patterns import find, mine
from prowess.storage.models import Trajectory

TOOLS = ("read", "edit", "test", "run", "ask")


def made(number: int, seed: int) -> Trajectory:
    """One version of an episode: the same number with another seed has other steps, words and rewards."""
    chance = random.Random(seed * 1_000 + number)
    calls = []
    for _ in range(chance.randrange(9)):
        tool = chance.choice(TOOLS)
        error = f"{chance.choice(['no file', 'timed out'])} /tmp/{chance.random()}"
        calls.append(failing(tool, error, {"at": 1}) if chance.random() < 0.25 else (tool, {"at": 2}))
    return episode(
        f"e{number:03}",
        calls,
        task=" ".join(chance.sample(("parser", "poem", "invoice", "login"), 2)),
        agent=chance.choice(("", "codex")),
        project=chance.choice(("shop", "bank")),
        reward=chance.choice((None, -10.0, -1 / 3, 0.1, 0.2, 9.999)),
    )


def batches(made_up: Sequence[Trajectory], cuts: Sequence[int]) -> list[Sequence[Trajectory]]:
    return [made_up[one:other] for one, other in pairwise([0, *sorted(cuts), len(made_up)])]


@settings(deadline=None, max_examples=40)
@given(st.permutations(range(30)), st.lists(st.integers(0, 30), max_size=5), st.integers(0, 99))
def test_however_episodes_come_in_the_patterns_are_the_same(order: list[int], cuts: list[int], seed: int) -> None:
    whole = mine([made(number, seed) for number in range(30)], limit=400)
    corpus = Corpus()
    for batch in batches([made(number, seed) for number in order], cuts):
        corpus.update(batch)
        find(corpus, limit=400)
    assert find(corpus, limit=400) == whole
    assert len(whole) > 50


@settings(deadline=None, max_examples=40)
@given(st.lists(st.tuples(st.sampled_from(["put", "forget"]), st.integers(0, 19), st.integers(0, 9)), max_size=40))
def test_changed_and_forgotten_episodes_leave_nothing_behind(told: list[tuple[str, int, int]]) -> None:
    corpus, held = Corpus(), {number: made(number, 0) for number in range(20)}
    corpus.update(list(held.values()))
    for at, (what, number, seed) in enumerate(told):
        if what == "put":
            held[number] = made(number, seed)
            corpus.update([held[number]])
        else:
            gone = held.pop(number, None)
            corpus.update([], [f"e{number:03}"] if gone else ["never there"])
        if at % 7 == 0:
            find(corpus)
    assert len(corpus) == len(held)
    assert corpus.steps == sum(len(trajectory.steps) for trajectory in held.values())
    assert find(corpus, limit=400) == mine(list(held.values()), limit=400)


@pytest.mark.parametrize(("rows", "sequences"), [(60, 500), (100_000, 7), (40, 5)])
def test_budgets_keep_the_same_sequences_whatever_was_kept_before(
    rows: int, sequences: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(mining_sequences, "ROW_BUDGET", rows)
    monkeypatch.setattr(mining_sequences, "LEVEL_BUDGET", sequences)
    corpus = Corpus()
    for seed in range(8):
        corpus.update([made(number, seed) for number in range(seed * 3, seed * 3 + 8)])
        held = {n: made(n, s) for s in range(seed + 1) for n in range(s * 3, s * 3 + 8)}
        assert find(corpus, kinds=["sequence"], limit=400) == mine(list(held.values()), kinds=["sequence"], limit=400)


def test_rewards_may_change_alone() -> None:
    episodes = [made(number, 3) for number in range(30)]
    corpus = Corpus()
    corpus.update([made(number, 3) for number in range(30)])
    find(corpus)
    rewards = {trajectory.episode.id: (None, 3.0, -7.5)[place % 3] for place, trajectory in enumerate(episodes)}
    corpus.score({**rewards, "never there": 1.0})
    changed = [replace(t, episode=replace(t.episode, reward=rewards[t.episode.id])) for t in episodes]
    assert find(corpus, limit=400) == mine(changed, limit=400)


def test_one_corpus_answers_different_questions() -> None:
    episodes = [made(number, 3) for number in range(40)]
    corpus = Corpus()
    for last, least in ((10, 6), (20, 2), (30, 12), (40, 1)):
        corpus.update(episodes[last - 10 : last])
        assert find(corpus, min_support=least) == mine(episodes[:last], min_support=least)


def test_a_corpus_that_lost_everything_is_like_new() -> None:
    corpus = Corpus()
    corpus.update([made(number, 1) for number in range(5)])
    corpus.update([], [f"e{number:03}" for number in range(5)])
    assert find(corpus) == []
    corpus.update([made(number, 2) for number in range(12)])
    assert find(corpus) == mine([made(number, 2) for number in range(12)])


def test_a_corpus_says_when_a_new_one_is_better() -> None:
    corpus = Corpus()
    corpus.update([episode("stays", ["a"])])
    for seed in range(23):
        assert not corpus.worn
        corpus.update([episode(f"e{number}", ["a"], reward=float(seed % 3)) for number in range(50)])
    assert corpus.worn
