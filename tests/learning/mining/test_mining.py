from __future__ import annotations

import random
from collections.abc import Callable

import pytest
from made_episodes import episode, failing
from msgspec.structs import replace

from prowess.learning.mining.patterns import mine
from prowess.storage.models import Pattern, Step, Trajectory


def found(patterns: list[Pattern], kind: str, **detail: object) -> list[Pattern]:
    return [p for p in patterns if p.kind == kind and all(p.detail.get(key) == value for key, value in detail.items())]


def noise(seed: int, count: int, reward: Callable[[random.Random, list[str]], float | None]) -> list[Trajectory]:
    """Episodes of eight random tools, with random words, agents and errors."""
    chance = random.Random(seed)
    made = []
    for number in range(count):
        tools = [f"t{min(int(chance.expovariate(0.3)), 11)}" for _ in range(8)]
        calls = [failing(t, f"cannot read file {chance.choice('abc')}") if chance.random() < 0.1 else t for t in tools]
        task = " ".join(chance.sample([f"word{letter}" for letter in "abcdefghijklmnop"], 5))
        made.append(
            episode(f"e{number:05}", calls, task=task, agent=f"agent{number % 2}", reward=reward(chance, tools))
        )
    return made


def test_a_sequence_has_its_support_effect_and_examples() -> None:
    good = [episode(f"g{n}", ["read", "edit", "test"], reward=1.0) for n in range(10)]
    bad = [episode(f"b{n}", ["read", "guess"], reward=-1.0) for n in range(10)]
    [pattern] = found(mine(good + bad), "sequence", sequence=["read", "edit", "test"])
    assert (pattern.support, pattern.against) == (10, 10)
    assert pattern.detail["mean_with"] == 1.0
    assert pattern.detail["mean_without"] == -1.0
    assert pattern.effect is not None
    assert pattern.low is not None
    assert 0 < pattern.low < pattern.effect < 2
    assert pattern.q_value is not None
    assert pattern.q_value < 0.05
    assert pattern.examples == ("g9", "g8", "g7")
    assert "read → edit → test" in pattern.statement


def test_a_statement_says_what_was_compared_and_whether_it_may_be_chance() -> None:
    few = [episode(f"g{n}", ["read", "edit"], reward=1.0) for n in range(2)] + [episode("b", ["guess"], reward=0.0)]
    [pattern] = mine(few, kinds=["sequence"])
    compared = "their mean reward is 1.00 against 0.00 in the other, which may be chance."
    assert pattern.statement == f"In 2 episodes read → edit is done; {compared}"
    many = [episode(f"g{n}", ["read", "edit"], reward=1.0) for n in range(9)]
    many += [episode(f"b{n}", ["guess"], reward=0.0) for n in range(9)]
    [pattern] = mine(many, kinds=["sequence"])
    compared = "their mean reward is 1.00 against 0.00 in the 9 others."
    assert pattern.statement == f"In 9 episodes read → edit is done; {compared}"


@pytest.mark.parametrize(("codex", "told"), [(20, 1), (19, 1), (17, 2)])
def test_of_contexts_of_nearly_the_same_episodes_one_is_told(codex: int, told: int) -> None:
    """All 20 tasks have the word; the agent's share of them is 0.95 for 19 and 0.85 for 17."""
    made = [
        episode(f"a{n:02}", [f"x{n}"], task="parser", agent="codex" if n < codex else f"other{n}", reward=1.0)
        for n in range(20)
    ]
    made += [episode(f"b{n}", [f"y{n}"], agent=f"agent{n}", task_id=f"b{n}", reward=0.0) for n in range(20)]
    assert len(mine(made, kinds=["context"])) == told


def test_failures_come_by_how_often_they_happen_and_not_by_what_they_cost() -> None:
    made = [episode(f"r{n}", [failing("push", "rejected")], reward=-10.0) for n in range(2)]
    made += [episode(f"o{n}", [failing("pull", "offline")], reward=10.0) for n in range(5)]
    made += [episode(f"n{n}", ["look", "save"], reward=10.0) for n in range(3)]
    # Two of ten have p = 2 / 45, which is above either kind's half of the rate.
    patterns = found(mine(made, kinds=["failure", "sequence"]), "failure")
    assert [(p.detail["verb"], p.support) for p in patterns] == [("pull", 5), ("push", 2)]
    assert patterns[1].high is not None
    assert patterns[1].high < 0  # the interval keeps from 0, though it is not proven


def test_only_closed_sequences_are_told() -> None:
    patterns = mine([episode(f"e{n}", ["a", "b", "c"]) for n in range(3)], kinds=["sequence"])
    assert [p.detail["sequence"] for p in patterns] == [["a", "b", "c"]]


def test_sequences_may_have_gaps() -> None:
    made = [episode(f"e{n}", ["open", f"x{n}", "save"]) for n in range(4)]
    [pattern] = mine(made, kinds=["sequence"])
    assert pattern.detail == {"sequence": ["open", "save"], "gapped": True, "tools": ["open", "save"]}
    assert pattern.support == 4
    assert pattern.statement == "In 4 episodes open … save is done; there is nothing to compare them with."


def test_immediate_repeats_are_one_move() -> None:
    made = [episode("a", ["get"] * 3 + ["put"]), episode("b", ["get"] * 5 + ["put"])]
    [pattern] = mine(made, kinds=["sequence"])
    assert pattern.detail["sequence"] == ["get+", "put"]


def test_a_command_line_counts_by_its_program_also_where_only_its_summary_is_known() -> None:
    lines = ["git add -A", "cd /src && git commit -m x", "FOO=1 make test | tail -3"]
    whole = [episode(f"w{n}", [("Bash", {"command": line}) for line in lines]) for n in range(2)]
    short = [Step(episode_id="s", number=n, action=f"Bash: {line}", at="", tool="Bash", args={"command": None})
             for n, line in enumerate(lines, 1)]  # fmt: skip
    [pattern] = mine([*whole, episode("s", short)], kinds=["sequence"])
    assert pattern.detail["sequence"] == ["Bash:git add", "Bash:git commit", "Bash:make test"]
    assert pattern.detail["tools"] == ["Bash", "Bash", "Bash"]
    assert pattern.support == 3


def test_a_gapped_sequence_is_told_beside_the_few_episodes_that_have_it_without_gaps() -> None:
    made = [episode(f"e{n}", ["open", f"x{n}", "save"]) for n in range(5)]
    made += [episode(f"d{n}", ["open", "save"]) for n in range(2)]
    patterns = mine(made, kinds=["sequence"])
    assert {(p.detail["gapped"], p.support) for p in patterns} == {(True, 7), (False, 2)}


def test_sequences_never_cross_from_one_episode_to_the_next() -> None:
    assert mine([episode("a", ["x", "y"]), episode("b", ["y", "x"])], kinds=["sequence"]) == []


def test_a_decision_is_compared_with_the_other_choices_at_the_same_point() -> None:
    right = [episode(f"r{n}", ["start", "look", "ask"], reward=1.0) for n in range(12)]
    wrong = [episode(f"w{n}", ["start", "look", "guess"], reward=0.0) for n in range(12)]
    elsewhere = [episode(f"z{n}", ["other"], reward=0.5) for n in range(30)]
    patterns = found(mine(right + wrong + elsewhere, kinds=["decision"]), "decision", after=["look"])
    assert [(p.support, p.against) for p in patterns] == [(12, 12)]
    assert patterns[0].detail["choice"] in ("ask", "guess")
    assert patterns[0].q_value is not None
    assert patterns[0].q_value < 0.05


def test_an_error_is_paired_with_what_made_it_work() -> None:
    made = [
        episode(f"e{n}", [failing("edit", f"file /src/f{n}.py not found", {"path": "x"}), "search", "edit"])
        for n in range(3)
    ] + [episode("lost", [failing("edit", "file /src/g.py not found"), "stop"], reward=-1.0)]
    [pattern] = mine(made, kinds=["recovery"])
    assert (pattern.support, pattern.against) == (3, 1)
    assert pattern.detail["verb"] == "edit"
    assert pattern.detail["fix"] == ["search"]


def test_what_the_person_stopped_is_neither_a_failure_nor_a_recovery() -> None:
    made = [episode(f"e{n}", [failing("edit", "aborted by user after 5.0s"), "search", "edit"]) for n in range(3)]
    assert mine(made, kinds=["failure", "recovery"]) == []


def test_a_recovery_by_the_same_call_names_the_arguments_that_changed() -> None:
    made = [
        episode(f"e{n}", [failing("run", "timeout", {"seconds": 1, "x": 1}), ("run", {"seconds": 9, "x": 1})])
        for n in range(2)
    ]
    [pattern] = mine(made, kinds=["recovery"])
    assert pattern.detail["fix"] == []
    assert pattern.detail["changed"] == ["seconds"]


def test_a_failure_without_an_error_is_known_by_what_came_back() -> None:
    came_back = replace(failing("make", "x"), error=None, observation="error: pool 3 exhausted")
    made = [episode(f"e{n}", [came_back if n % 2 else failing("make", "error: pool 4 exhausted")]) for n in range(4)]
    [pattern] = mine(made, kinds=["failure"])
    assert pattern.detail["error"] == "error: pool <num> exhausted"


def test_failures_are_grouped_by_template_and_counted_by_episode() -> None:
    made = [episode(f"e{n}", [failing("run", f"no such file: /tmp/{n}/a.txt"), "run"]) for n in range(4)]
    [pattern] = mine(made, kinds=["failure"])
    assert pattern.support == 4
    assert pattern.detail["times"] == 4
    assert pattern.detail["share_of_calls"] == 0.5


def test_summaries_whose_errors_are_templates_are_grouped_like_the_errors() -> None:
    raw = [episode(f"e{n}", [failing("run", f"no such file: /data/{n}/a.txt"), "run"]) for n in range(3)]
    [before] = mine(raw, kinds=["failure"])
    summaries = [episode(f"e{n}", [failing("run", before.detail["error"]), "run"]) for n in range(3)]
    [after] = mine(summaries, kinds=["failure"])
    assert after.id == before.id


def test_contexts_tell_where_rewards_differ() -> None:
    made = [episode(f"a{n}", ["x"], task="fix the parser", agent="codex", reward=1.0) for n in range(12)]
    made += [episode(f"b{n}", ["x"], task="write a poem", agent="cursor", reward=0.0) for n in range(12)]
    patterns = mine(made, kinds=["context"])
    agents = [p for p in patterns if p.detail["feature"] == "agent"]
    assert agents
    assert all(p.q_value is not None and p.q_value < 0.05 for p in agents)


def test_unknown_rewards_are_left_out_of_effects() -> None:
    known = [episode(f"k{n}", ["a", "b"], reward=1.0) for n in range(4)] + [episode("o", ["c"], reward=0.0)]
    unknown = [episode(f"u{n}", ["a", "b"], reward=None) for n in range(20)]
    [pattern] = found(mine(known + unknown), "sequence", sequence=["a", "b"])
    assert pattern.support == 24
    assert (pattern.detail["mean_with"], pattern.detail["mean_without"]) == (1.0, 0.0)


def test_without_any_reward_patterns_have_support_but_no_effect() -> None:
    patterns = mine([episode(f"e{n}", ["a", "b"], reward=None) for n in range(3)])
    assert patterns
    assert all(p.effect is None and p.q_value is None for p in patterns)


def test_nothing_comes_of_nothing() -> None:
    assert mine([]) == []
    assert mine([episode("e", [])]) == []
    assert mine([episode("e", ["a", "b"])], limit=0) == []


def test_ids_depend_on_content_and_project_not_on_order() -> None:
    made = noise(1, 60, lambda chance, _: chance.random())
    one, two = mine(made), mine(list(reversed(made)))
    assert one == two
    assert len({p.id for p in one}) == len(one)
    assert {p.id for p in one}.isdisjoint(p.id for p in mine(made, project="other"))


def test_kinds_and_limit_are_kept() -> None:
    made = noise(2, 200, lambda chance, _: chance.random())
    assert {p.kind for p in mine(made, kinds=["failure", "context"])} == {"failure", "context"}
    assert len(mine(made, limit=7)) == 7


@pytest.mark.parametrize("scheme", ["coin", "rare", "normal", "heavy"])
def test_rewards_without_any_cause_yield_almost_nothing(scheme: str) -> None:
    """At a false discovery rate of 5 % one data set in twenty may yield something; of 25 more than 4 are unlikely."""
    rewards: dict[str, Callable[[random.Random, list[str]], float | None]] = {
        "coin": lambda chance, _: float(chance.random() < 0.6),
        "rare": lambda chance, _: float(chance.random() < 0.96),
        "normal": lambda chance, _: chance.gauss(1, 3),
        "heavy": lambda chance, _: chance.choice([-10.0, 10.0]) if chance.random() < 0.05 else chance.gauss(0, 0.3),
    }
    yielded = 0
    for seed in range(25):
        patterns = mine(noise(seed, 80, rewards[scheme]))  # proven ones come first
        yielded += any(p.q_value is not None and p.q_value < 0.05 for p in patterns)
    assert yielded <= 4


def test_a_planted_cause_is_found() -> None:
    def planted(chance: random.Random, tools: list[str]) -> float:
        return float(chance.random() < (0.95 if "t3" in tools else 0.5))

    patterns = mine(noise(3, 400, planted))
    [tool] = found(patterns, "context", feature="tool", value="t3")
    assert tool.q_value is not None
    assert tool.q_value < 1e-6
    assert tool.effect == pytest.approx(0.45, abs=0.12)
