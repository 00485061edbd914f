"""Episodes of chance with regularities of known effect in them, and what an episode shows, told naively.

One of each kind is planted per set: a word of the task, a sequence with gaps, a decision, an error with its recovery,
and an error that recurs. An effect is a share of the reward's range of 20 points: 0.3 is 6 points of mean reward, or
30 points of success probability where rewards are -10 or 10.
"""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import groupby
from typing import Any

from msgspec.structs import replace

from prowess.storage.models import Episode, Pattern, Step, Trajectory

__all__ = ["KINDS", "RANGE", "Planted", "World", "shows"]

KINDS = ("sequence", "decision", "recovery", "context", "failure")
RANGE = 20.0
EPISODES = 3_000
TOOLS = [f"tool_{letter}" for letter in "abcdefghijklmnopqrst"]
WEIGHTS = [1 / (rank + 3) for rank in range(len(TOOLS))]
WORDS = [f"word{letter}{other}" for letter in "abcdefgh" for other in "klmnop"]
ERRORS = ("file {} not found", "timed out after {} seconds", "port {} is in use", "{} tests failed", "no rule for {}")
NOISE = 0.2  # standard deviation of graded rewards, as a share of the range


@dataclass(frozen=True)
class Planted:
    """A regularity: its kind, the pattern's fields that tell it, and by how much it moves the reward."""

    kind: str
    detail: dict[str, Any]
    effect: float

    def is_told_by(self, pattern: Pattern) -> bool:
        """Whether ``pattern`` is this one; a sequence may be told with the move before or after it."""
        if pattern.kind != self.kind:
            return False
        if self.kind == "sequence":
            return _within(self.detail["sequence"], [verb.rstrip("+") for verb in pattern.detail["sequence"]])
        return all(pattern.detail.get(name) == value for name, value in self.detail.items())


def _within(part: Sequence[str], whole: Sequence[str]) -> bool:
    rest = iter(whole)
    return all(verb in rest for verb in part)


@dataclass
class World:
    """3,000 episodes of about ten steps. Each planted regularity is put into ``support`` of them, chosen apart."""

    seed: int
    effect: float
    support: int
    coin: bool
    planted: list[Planted] = field(default_factory=list)
    expected: dict[str, float] = field(default_factory=dict)  # reward without noise, by episode
    trajectories: list[Trajectory] = field(default_factory=list)

    def __post_init__(self) -> None:
        self._chance = random.Random(self.seed)
        self._calls = [self._random_calls() for _ in range(EPISODES)]
        self._tasks = [self._chance.sample(WORDS, 5) for _ in range(EPISODES)]
        effects = {kind: self.effect * (-1 if kind == "failure" else 1) for kind in KINDS}
        for kind in KINDS:
            detail = getattr(self, f"_plant_{kind}")()
            self.planted.append(Planted(kind, detail, effects[kind]))
        self.trajectories = [self._trajectory(number) for number in range(EPISODES)]

    # ---- chance

    def _random_calls(self) -> list[tuple[str, str | None]]:
        tools = self._chance.choices(TOOLS, WEIGHTS, k=self._chance.randint(7, 13))
        return [(tool, self._error() if self._chance.random() < 0.08 else None) for tool in tools]

    def _error(self) -> str:
        return self._chance.choice(ERRORS).format(self._chance.randrange(10_000))

    def _some(self, count: int) -> list[int]:
        return self._chance.sample(range(EPISODES), count)

    # ---- regularities

    def _plant_context(self) -> dict[str, Any]:
        for number in self._some(self.support):
            self._tasks[number].append("harbour")
        return {"feature": "word", "value": "harbour"}

    def _plant_sequence(self) -> dict[str, Any]:
        verbs = self._chance.sample(TOOLS[8:], 3)
        for number in self._some(self.support):
            calls = self._calls[number]
            at = self._chance.randint(0, len(calls))
            gaps = [self._chance.randint(0, 2) for _ in verbs]
            new = [
                part for verb, gap in zip(verbs, gaps, strict=True) for part in [(verb, None), *self._other(verb, gap)]
            ]
            calls[at:at] = new
        return {"sequence": verbs}

    def _other(self, verb: str, count: int) -> list[tuple[str, str | None]]:
        return [(tool, None) for tool in self._chance.sample([tool for tool in TOOLS if tool != verb], count)]

    def _plant_decision(self) -> dict[str, Any]:
        """After "arrive", half of the episodes take the better of three turns."""
        for place, number in enumerate(self._some(2 * self.support)):
            turn = "left" if place % 2 else self._chance.choice(["right", "ahead"])
            calls = self._calls[number]
            at = self._chance.randint(0, len(calls))
            calls[at:at] = [("arrive", None), (turn, None)]
        return {"after": ["arrive"], "choice": "left"}

    def _plant_recovery(self) -> dict[str, Any]:
        """ "deploy" fails; half of the episodes then unlock and deploy again, the others only deploy again."""
        for place, number in enumerate(self._some(2 * self.support)):
            failed = ("deploy", f"lock /srv/{self._chance.randrange(10_000)}.lck is held")
            fix = [("unlock", None)] if place % 2 else [("wait", None)]
            self._calls[number] += [failed, *fix, ("deploy", None)]
        return {"verb": "deploy", "error": "lock <path> is held", "fix": ["unlock"]}

    def _plant_failure(self) -> dict[str, Any]:
        for number in self._some(self.support):
            self._calls[number].append(("upload", f"quota of {self._chance.randrange(10_000)} MB exceeded"))
        for number in self._some(self.support):
            self._calls[number].append(("upload", None))
        return {"verb": "upload", "error": "quota of <num> MB exceeded"}

    # ---- rewards

    def _trajectory(self, number: int) -> Trajectory:
        key = f"e{number:05}"
        steps = tuple(
            Step(episode_id=key, number=at, action=tool, at="", tool=tool, error=error,
                 outcome="failure" if error else "success")
            for at, (tool, error) in enumerate(self._calls[number], 1)
        )  # fmt: skip
        told = Episode(id=key, project="", session="", task_id=key, attempt=1, opened_at="",
                       task=" ".join(self._tasks[number]), agent=f"agent{number % 3}")  # fmt: skip
        bare = Trajectory(episode=told, steps=steps)
        share = sum(planted.effect for planted in self.planted if shows(planted.kind, planted.detail, bare))
        self.expected[key] = RANGE * share
        return replace(bare, episode=replace(told, reward=self._reward(share)))

    def _reward(self, share: float) -> float:
        if self.coin:
            return RANGE / 2 if self._chance.random() < 0.5 + share else -RANGE / 2
        return min(max(RANGE * (share + self._chance.gauss(0, NOISE)), -RANGE / 2), RANGE / 2)


def shows(kind: str, detail: dict[str, Any], trajectory: Trajectory) -> bool:
    """Whether an episode shows a pattern, step by step and without the product's own counting."""
    steps = trajectory.steps
    moves = [verb for verb, _ in groupby(step.verb for step in steps)]
    match kind:
        case "context" if detail["feature"] == "word":
            return detail["value"] in trajectory.episode.task.split()
        case "context":
            return detail["value"] in (trajectory.episode.agent, *moves)
        case "sequence":
            reach = 3 if detail.get("gapped", True) else 1
            return any(
                _follows(moves, at, [v.rstrip("+") for v in detail["sequence"]], reach) for at in range(len(moves))
            )
        case "decision":
            return bool(_chose(moves, detail["after"]) == detail["choice"])
        case "failure":
            return any(step.verb == detail["verb"] and _alike(step.error, detail["error"]) for step in steps)
    return any(fix == detail["fix"] for fix in _fixes(steps, detail["verb"], detail["error"]))


def _follows(moves: Sequence[str], at: int, verbs: Sequence[str], reach: int) -> bool:
    if moves[at] != verbs[0]:
        return False
    nexts = range(at + 1, min(at + 1 + reach, len(moves)))
    return len(verbs) == 1 or any(_follows(moves, after, verbs[1:], reach) for after in nexts)


def _chose(moves: Sequence[str], after: Sequence[str]) -> str | None:
    framed = ["(start)", *moves, "(stop)"]
    for at in range(len(framed) - len(after)):
        if framed[at : at + len(after)] == list(after):
            return framed[at + len(after)]
    return None


def _alike(error: str | None, template: str) -> bool:
    if error is None:
        return False
    parts = [part for part in template.replace("<path>", "\0").replace("<num>", "\0").split("\0") if part.strip()]
    return all(part.strip() in error for part in parts)


def _fixes(steps: Sequence[Step], verb: str, error: str) -> Iterator[list[str]]:
    """What was done after each such error before the same tool worked."""
    for at, step in enumerate(steps):
        if step.verb != verb or not _alike(step.error, error):
            continue
        between: list[str] = []
        for later in steps[at + 1 : at + 21]:
            if later.verb == verb:
                if not later.error:
                    yield between[-3:]
                break
            if not later.error and later.verb not in between[-1:]:
                between.append(later.verb)
