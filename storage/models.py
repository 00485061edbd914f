"""The words of the product as immutable values. No I/O; every layer may import this.

Times are ISO 8601 text in UTC with milliseconds and a ``Z`` (``2026-11-29T13:50:01.123Z``), so that they sort as text.
Identifiers are UUIDv7 text unless said otherwise. Unknown is ``None``, never 0.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any, Literal

import msgspec

__all__ = [
    "ActorKind",
    "Adopted",
    "Episode",
    "EpisodeFilter",
    "Evidence",
    "ExposedSkill",
    "Exposure",
    "Forgot",
    "Memory",
    "NewReward",
    "NewStep",
    "NewUse",
    "Origin",
    "Outcome",
    "Parameter",
    "Pattern",
    "PatternKind",
    "Receipt",
    "Reward",
    "Scored",
    "Skill",
    "SkillStatus",
    "SkillStep",
    "SkillUse",
    "SkillVersion",
    "Stats",
    "Step",
    "Tracked",
    "Trajectory",
    "Trial",
    "Trimmed",
    "Trust",
    "Where",
    "format_time",
    "ordered",
    "parse_time",
]

Outcome = Literal["success", "failure", "unknown"]
PatternKind = Literal["sequence", "decision", "recovery", "context", "failure"]
SkillStatus = Literal["draft", "active", "retired", "archived"]
ActorKind = Literal["person", "agent", "machine"]
Trust = Literal["own", "trusted", "untrusted"]
Evidence = Literal["user", "tests", "commit", "exit_code", "agent"]


class _Value(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """Base of the values below: immutable, compared by content.

    Trees of them have no cycles, so they are left out of the search for such: one over 100,000 steps stops the program
    for a tenth of a second.
    """


class Origin(_Value, frozen=True, kw_only=True):
    """Who reported or decided an event.

    ``machine`` is a random id of the installation, ``client`` the MCP client's own name, ``actor`` whether a person, an
    agent or the program itself decided, ``trust`` how far its text may be relied on.
    """

    machine: str = ""
    client: str = ""
    session: str = ""
    actor: ActorKind = "agent"
    trust: Trust = "own"


class Step(_Value, frozen=True, kw_only=True):
    """One action of an agent, as it was told.

    ``number`` counts from 1 within the episode; ``numbered`` says that the client chose it. ``at`` is the client's
    timestamp, or when the step arrived. ``external_id`` is the client's own identity of the tool call.
    """

    episode_id: str
    number: int
    action: str
    at: str
    numbered: bool = False
    tool: str | None = None
    args: dict[str, Any] | None = None
    context: str | None = None
    observation: str | None = None
    error: str | None = None
    outcome: Outcome = "unknown"
    duration_ms: float | None = None
    external_id: str | None = None

    @property
    def verb(self) -> str:
        """What sequences are made of: the tool's name, or the action where no tool is named."""
        return self.tool or self.action


class Episode(_Value, frozen=True, kw_only=True):
    """All steps of one attempt at one task. ``reward`` in [-10, 10] or None; ``closed_at`` set once it is final."""

    id: str
    project: str
    session: str
    task_id: str
    attempt: int
    opened_at: str
    task: str = ""
    agent: str = ""
    closed_at: str | None = None
    steps: int = 0
    reward: float | None = None
    outcome: Outcome = "unknown"
    updated_seq: int = 0


class Reward(_Value, frozen=True, kw_only=True):
    """One score as it was given. ``value`` in [-10, 10], None for an uncertain (neutral) result.

    ``step`` is None for the whole episode. ``source`` is the kind of evidence it rests on, ``evidence`` the details.
    """

    id: str
    episode_id: str
    at: str
    value: float | None
    source: Evidence = "agent"
    step: int | None = None
    label: str | None = None
    reason: str = ""
    evidence: dict[str, Any] = msgspec.field(default_factory=dict)


class Trajectory(_Value, frozen=True, kw_only=True):
    """An episode with its steps, in order: what learning works on.

    ``whole`` says that every step is as it was recorded. Else some are summaries, since retention dropped what was
    recorded or another machine kept it to itself: their ``args`` have names without values, and they return nothing.
    """

    episode: Episode
    steps: tuple[Step, ...]
    whole: bool = True


class Parameter(_Value, frozen=True, kw_only=True):
    """A placeholder of a skill: ``{name}`` in its steps. ``type`` is a JSON Schema type name.

    ``source`` tells where its value came from in the episodes: the task's words, an earlier observation, or unknown.
    """

    name: str
    type: str = "string"
    description: str = ""
    required: bool = True
    source: Literal["task", "observation", "unknown"] = "unknown"
    examples: tuple[Any, ...] = ()


class SkillStep(_Value, frozen=True, kw_only=True, omit_defaults=True):
    """Either a tool call (``tool`` and ``args_template``) or a reference to another skill by id (``skill``)."""

    tool: str | None = None
    args_template: dict[str, Any] | None = None
    skill: str | None = None
    note: str = ""


class Skill(_Value, frozen=True, kw_only=True):
    """A reusable procedure in one version.

    ``success_rate`` is the running mean over ``use_count`` uses; it starts at 1.0 and means nothing before the first.
    ``support`` counts the episodes that it was drawn from (``episodes``); ``project`` is "" for all projects.
    ``trial_of`` is the version that this one is compared with, as long as it has to prove itself beside it.
    """

    id: str
    name: str
    description: str
    steps: tuple[SkillStep, ...]
    version: int = 1
    parameters: tuple[Parameter, ...] = ()
    status: SkillStatus = "draft"
    project: str = ""
    author: ActorKind = "machine"
    trust: Trust = "own"
    pinned: bool = False
    episodes: tuple[str, ...] = ()
    support: int = 0
    keywords: tuple[str, ...] = ()
    use_count: int = 0
    success_rate: float = 1.0
    created_at: str = ""
    updated_at: str = ""
    last_used_at: str | None = None
    updated_seq: int = 0
    trial_of: int | None = None


class SkillUse(_Value, frozen=True, kw_only=True):
    """One reported use of a skill."""

    id: str
    skill_id: str
    version: int
    episode_id: str
    success: bool
    at: str


class SkillVersion(_Value, frozen=True, kw_only=True):
    """A skill as it was in one version, with what made the version and why."""

    skill: Skill
    version: int
    change: str
    at: str
    reason: str = ""


class ExposedSkill(_Value, frozen=True, kw_only=True):
    """A skill that matched a query, at ``rank`` (from 1) with ``score``; ``shown`` is False where it was withheld."""

    skill_id: str
    version: int
    rank: int
    score: float
    shown: bool = True


class Exposure(_Value, frozen=True, kw_only=True):
    """What one query was answered with; ``session`` is the client's, where it told one."""

    id: str
    at: str
    query: str
    project: str = ""
    task_id: str | None = None
    episode_id: str | None = None
    skills: tuple[ExposedSkill, ...] = ()
    session: str = ""


class Trial(_Value, frozen=True, kw_only=True):
    """A match of a skill in an episode whose outcome is known: whether the skill was shown there, and how it ended."""

    skill_id: str
    version: int
    shown: bool
    episode_id: str
    at: str
    success: bool
    reward: float


class Pattern(_Value, frozen=True, kw_only=True):
    """A regularity over episodes.

    ``support`` is the number of episodes that show it, ``against`` of those compared with. ``effect`` is the difference
    in mean reward between the two (reward points, shrunk), ``low`` and ``high`` its 95 % interval, ``q_value`` the
    false-discovery-corrected p. ``detail`` has the kind's own fields (``sequence``, ``error``, ``fix``, …).
    """

    id: str
    kind: PatternKind
    statement: str
    support: int
    against: int = 0
    effect: float | None = None
    low: float | None = None
    high: float | None = None
    q_value: float | None = None
    examples: tuple[str, ...] = ()
    project: str = ""
    detail: dict[str, Any] = msgspec.field(default_factory=dict)


class Memory(_Value, frozen=True, kw_only=True):
    """A short text kept from an episode: a lesson, a fact, a constraint or a warning.

    ``subject`` names what it is about, so that two that say different things of it are found. ``support`` and
    ``against`` count the episodes that bear it out and that speak against it; ``evidence`` has their marks (not their
    ids), each ``+`` or ``-`` and a hash, the newest last. ``superseded_by`` is the memory that took its place: it is
    kept and no longer shown. ``made_by`` are the memory skills that made it; rules and patterns leave it empty.
    """

    id: str
    kind: Literal["lesson", "fact", "constraint", "warning"]
    text: str
    at: str
    project: str = ""
    episode_id: str | None = None
    trust: Trust = "own"
    importance: float = 0.0
    updated_seq: int = 0
    subject: str = ""
    support: int = 1
    against: int = 0
    evidence: tuple[str, ...] = ()
    superseded_by: str | None = None
    made_by: tuple[str, ...] = ()


class Adopted(_Value, frozen=True, kw_only=True):
    """The bank of memory skills and the controller in use in ``project``; see ``ControllerAdopted``."""

    project: str
    at: str
    bank: str
    weights: str = ""
    run_id: str = ""
    embedding: str = ""
    reward: float | None = None
    before: float | None = None
    skills: tuple[str, ...] = ()
    reason: str = ""


class Where(_Value, frozen=True, kw_only=True):
    """Which episode is meant: one attempt at ``task_id`` by ``session`` in ``project``.

    ``task`` is what the user asked and ``agent`` the client's own name; both describe the episode and do not
    identify it.
    """

    task_id: str
    project: str = ""
    session: str = ""
    task: str = ""
    agent: str = ""


class EpisodeFilter(_Value, frozen=True, kw_only=True):
    """Which episodes are wanted; None leaves a field free.

    ``since`` is a time, ``after`` the number of an event that they must have changed later than; ``scored`` asks for a
    known reward, ``trusted`` for those from which may be learned: they are not of strangers that share the remote.
    ``ids`` are at most a few hundred.
    """

    project: str | None = None
    task_id: str | None = None
    since: str | None = None
    outcome: Outcome | None = None
    scored: bool | None = None
    closed: bool | None = None
    after: int | None = None
    trusted: bool | None = None
    ids: tuple[str, ...] | None = None


class Stats(_Value, frozen=True, kw_only=True):
    """How much the store holds. ``skills`` counts by status, ``outcomes`` the episodes by outcome.

    ``cost_usd`` is what language models have cost in all, in US dollars.
    """

    episodes: int = 0
    steps: int = 0
    rewards: int = 0
    scored: int = 0
    patterns: int = 0
    memories: int = 0
    uses: int = 0
    exposures: int = 0
    forgotten: int = 0
    model_calls: int = 0
    cost_usd: float = 0.0
    skills: dict[str, int] = msgspec.field(default_factory=dict)
    outcomes: dict[str, int] = msgspec.field(default_factory=dict)
    projects: tuple[str, ...] = ()
    last_at: str | None = None


class NewStep(_Value, frozen=True, kw_only=True):
    """A step to be stored. Without ``number`` it gets the next free one, without ``at`` the time of arrival."""

    action: str
    number: int | None = None
    at: str | None = None
    tool: str | None = None
    args: dict[str, Any] | None = None
    context: str | None = None
    observation: str | None = None
    error: str | None = None
    outcome: Outcome = "unknown"
    duration_ms: float | None = None
    external_id: str | None = None


class NewUse(_Value, frozen=True, kw_only=True):
    """A skill's use to be counted with a reward."""

    skill_id: str
    version: int
    success: bool


class NewReward(_Value, frozen=True, kw_only=True):
    """One score to be stored; see ``Reward``."""

    value: float | None
    source: Evidence = "agent"
    step: int | None = None
    label: str | None = None
    reason: str = ""
    evidence: dict[str, Any] = msgspec.field(default_factory=dict)


class Receipt(_Value, frozen=True, kw_only=True):
    """The write is on disk; ``seq`` is the journal's head after it."""

    seq: int
    receipt: Literal["committed"] = "committed"


class Tracked(Receipt, frozen=True, kw_only=True):
    """What became of tracked steps: ``numbers`` in the order given, ``duplicates`` those that were stored before."""

    episode_id: str
    numbers: tuple[int, ...]
    duplicates: tuple[int, ...] = ()
    opened: bool = False


class Scored(Receipt, frozen=True, kw_only=True):
    """The episode's combined reward after a score; ``rewards`` all that it was combined from."""

    episode_id: str
    reward: float | None
    outcome: Outcome
    rewards: tuple[Reward, ...] = ()
    closed: bool = False


class Forgot(Receipt, frozen=True, kw_only=True):
    """How much was erased; ``unreachable`` names backups that could not be, and damaged catalogs set aside."""

    episodes: int = 0
    skills: int = 0
    memories: int = 0
    exposures: int = 0
    reflections: int = 0
    backups: int = 0
    unreachable: tuple[str, ...] = ()


class Trimmed(Receipt, frozen=True, kw_only=True):
    """What retention dropped: raw steps and their bytes, of so many episodes."""

    episodes: int = 0
    steps: int = 0
    bytes: int = 0


def format_time(moment: datetime) -> str:
    """``moment`` (aware) in the store's notation."""
    return moment.astimezone(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def parse_time(text: str) -> datetime:
    """The aware moment that ``text`` tells; ISO 8601 with a zone, else ValueError."""
    moment = datetime.fromisoformat(text)
    if moment.tzinfo is None:
        raise ValueError(f"time {text!r} has no zone: add Z or an offset such as +01:00")
    return moment.astimezone(UTC)


def ordered(steps: Mapping[int, Step] | list[Step] | tuple[Step, ...]) -> tuple[Step, ...]:
    """Steps as they happened: by number if the client numbered any of them, else by time and then arrival."""
    values = list(steps.values()) if isinstance(steps, Mapping) else list(steps)
    if any(step.numbered for step in values):
        return tuple(sorted(values, key=lambda step: step.number))
    return tuple(sorted(values, key=lambda step: (step.at, step.number)))
