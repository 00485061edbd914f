"""``score_reward``: what a step or an attempt was worth, and which skills helped."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from contextlib import suppress
from typing import Annotated, Any, Self, get_args

import anyio
from msgspec.structs import replace
from pydantic import BaseModel, BeforeValidator, Field, WithJsonSchema, field_validator, model_validator

from prowess.learning.counting import counted
from prowess.learning.lifecycle import MAX_NAME
from prowess.learning.reward import from_evidence
from prowess.learning.synthesis.answers import JOINT
from prowess.storage.errors import UnknownSkill
from prowess.storage.models import Evidence, NewReward, NewUse, Scored, Skill, Where
from prowess.storage.scoring import WEIGHTS
from prowess.tools.base import Annotations, Input, JsonObject, Output, Text, Tool, check_count, from_json, meant
from prowess.tools.confined import own_skill
from prowess.tools.context import Context
from prowess.tools.errors import ToolError
from prowess.tools.skills import one_line
from prowess.tools.text import cut, cut_note, quote, to_json

__all__ = ["TOOL", "ScoreInput", "ScoreOutput", "SkillReport", "handle", "rewards_of"]

DEFAULT_MAGNITUDE = 5.0
_HIGHEST = 10.0
_SIGNS = {"positive": 1, "negative": -1, "neutral": 0}
_LABELLED = re.compile(r"(?i)\s*(positive|negative|neutral)\s*[:(]?\s*([0-9]{1,9}(?:\.[0-9]{1,99})?)?\s*\)?\s*")
_SOURCES = frozenset(get_args(Evidence)) - {"agent"}
_MAX_REASON = 4_000
_MAX_EVIDENCE = 20_000
_MAX_SKILLS = 50
_MAX_NOTES = 5
_LOOKED_THROUGH = 50  # newest exposures of a skill on trial
_TEXT = "note"  # the name of evidence that came as text
_UNNAMED = 'evidence as text is kept and does not count: name its kind, as in {"tests": "9 passed, 1 failed"}'
_EXPECTED = "send a number from -10 to 10, or 'positive', 'negative' or 'neutral' with a magnitude"


def _reward(value: Any) -> float | str:
    """A number in range or a label, perhaps with its magnitude as ``positive(8)``."""
    value = from_json(value)
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        raise ValueError(f"{quote(value)} is not a reward; {_EXPECTED}")  # noqa: TRY004 - pydantic wants ValueError
    if isinstance(value, str) and (match := _LABELLED.fullmatch(value)):
        return match[1].lower() if match[2] is None else _signed(match[1].lower(), float(match[2]))
    return _in_range(value)


def _in_range(value: float | str) -> float:
    try:
        number = float(value)
    except (ValueError, OverflowError):
        raise ValueError(f"{quote(value)} is not a reward; {_EXPECTED}") from None
    if not -_HIGHEST <= number <= _HIGHEST:
        raise ValueError(f"{quote(value)} is out of range; {_EXPECTED}")
    return number


def _signed(label: str, magnitude: float) -> float | str:
    if label == "neutral":
        return label
    if not 0 < magnitude <= _HIGHEST:
        raise ValueError(f"magnitude {magnitude:g} is out of range; send more than 0 and at most 10")
    return _SIGNS[label] * magnitude


def _evidence(value: Any) -> Any:
    value = from_json(value)
    return {_TEXT: value} if isinstance(value, str) else value


class UsedSkill(Input):
    """One skill that was followed, and whether it worked (default: as the reward says)."""

    skill: Text = Field(max_length=200)
    success: bool | None = None


def _used(value: Any) -> Any:
    value = from_json(value)
    items = [value] if isinstance(value, str | dict) else value
    if not isinstance(items, list):
        return items
    check_count(items, _MAX_SKILLS)
    return [{"skill": item} if isinstance(item, str) else item for item in items]


class ScoreInput(Input):
    """``score_reward``'s input."""

    task_id: Text = Field(max_length=200)
    reward: Annotated[float | str | None, BeforeValidator(_reward), WithJsonSchema({"type": ["number", "string"]})] = (
        Field(default=None, description="-10..10, or positive / negative / neutral (uncertain)")
    )
    magnitude: float | None = Field(default=None, gt=0, le=10, description="of a label; default 5")
    step: int | None = Field(default=None, ge=1, description="score one step, not the attempt")
    reason: Text | None = None
    evidence: Annotated[JsonObject | None, BeforeValidator(_evidence)] = Field(
        default=None,
        description='such as {"tests":{"passed":9,"failed":0},"exit_code":0,"user":"thanks","commit":"abc1234"}',
    )
    skills_used: Annotated[
        list[UsedSkill] | None,
        BeforeValidator(_used),
        WithJsonSchema({"type": "array", "items": {"type": "object"}}),
    ] = Field(default=None, description='[{"skill":name or id,"success":true}]')
    final: bool = Field(default=False, description="the attempt is over")
    project: Text | None = Field(default=None, max_length=200)

    @model_validator(mode="after")
    def _says_something(self) -> Self:
        supported = self.evidence and not _SOURCES.isdisjoint(self.evidence)
        if self.reward is None and not (supported or self.skills_used or self.final):
            raise ValueError(f"reward is missing; {_EXPECTED}, or evidence of user, tests, commit or exit_code")
        return self

    @field_validator("step")
    @classmethod
    def _fits(cls, step: int | None) -> int | None:
        if step is not None and step >= 2**31:
            raise ValueError(f"there is no step {step}")
        return step

    def value(self) -> float | None:
        """The reward as a number; None where it is neutral or not given."""
        if not isinstance(self.reward, str):
            return self.reward
        return _SIGNS[self.reward] * (self.magnitude or DEFAULT_MAGNITUDE) if self.reward != "neutral" else None


class SkillReport(BaseModel):
    """A skill's record after its use was counted."""

    id: str
    name: str
    use_count: int
    success_rate: float


class ScoreOutput(Output):
    """The attempt's combined reward and outcome after this score; ``reward`` is absent while unknown."""

    episode_id: str
    reward: float | None = None
    outcome: str
    sources: dict[str, float | None] = Field(default_factory=dict)
    skills: list[SkillReport] = Field(default_factory=list)
    closed: bool = False
    receipt: str

    def words(self) -> str:
        reward = "unknown" if self.reward is None else f"{self.reward:.3g}"
        skills = "".join(
            f"; {s.name}: {counted(s.use_count, 'use')}, {s.success_rate:.0%} success" for s in self.skills
        )
        closed = ", attempt closed" if self.closed else ""
        return f"{self.receipt}: reward {reward}, outcome {self.outcome}{closed}{skills} (episode {self.episode_id})"


async def handle(told: ScoreInput, ctx: Context) -> ScoreOutput:
    """Store every source of the score and the skill uses in one commit. Raises ``ToolError`` and the store's errors."""
    project = ctx.project if told.project is None else told.project
    assumed = ctx.assumes(told.project)
    where = Where(task_id=told.task_id, project=project, session=ctx.session, assumed=assumed)
    rewards = rewards_of(told)
    followed: dict[str, tuple[Skill, UsedSkill]] = {}  # each once, however often it was named: it is one attempt
    projects = [project, ""] if project and assumed else [project]  # the task may be one of another project
    for used in told.skills_used or ():
        followed |= {skill.id: (skill, used) for skill in await _named(used.skill, projects, ctx)}
    uses = [await _use(skill, used, told, rewards, ctx) for skill, used in followed.values()]
    with anyio.CancelScope(shield=True):
        scored = await ctx.store.score(where, rewards, uses=uses, final=told.final, origin=ctx.origin, key=ctx.key)
    changed = await ctx.store.skills_by_id(list(followed))
    answer = _answer(scored, list(changed.values()))
    answer.notes += _taken_otherwise(told, rewards)
    return answer


def _taken_otherwise(told: ScoreInput, rewards: Sequence[NewReward]) -> list[str]:
    """What was sent and does not count as sent, in words."""
    notes = []
    if told.magnitude is not None and told.reward not in ("positive", "negative"):
        notes.append("ignored magnitude: it belongs to the labels positive and negative")
    if not rewards:
        unkept = "reason and evidence were not kept: they belong to a reward"
        return [*notes, unkept] if told.reason or told.evidence else notes
    evidence = told.evidence or {}
    notes += cut_note("reason", told.reason or "", _MAX_REASON)
    texts = ((name, value) for name, value in evidence.items() if isinstance(value, str))
    notes += [note for name, value in texts for note in cut_note(f"evidence.{name}", value, _MAX_REASON)]
    if evidence.keys() == {_TEXT}:
        notes.append(_UNNAMED)
    uncounted = ((name, meant(name.lower(), sorted(_SOURCES))) for name in evidence if name not in _SOURCES)
    notes += [f"evidence {quote(name)} is kept and does not count{near}" for name, near in uncounted if near]
    return notes[:_MAX_NOTES]


async def _named(name: str, projects: Sequence[str], ctx: Context) -> list[Skill]:
    """The skill of this id or name, or those that an answer joined. Raises UnknownSkill."""
    parts = name.split(JOINT)
    try:
        return [await _in_first(name, projects, ctx)]
    except UnknownSkill:
        if len(parts) == 1:
            raise
    return [await _in_first(part, projects, ctx) for part in parts]


async def _in_first(name: str, projects: Sequence[str], ctx: Context) -> Skill:
    """The skill of the first of ``projects`` ("": any) that has one of this name."""
    for project in projects[:-1]:
        with suppress(UnknownSkill):
            return await own_skill(name, project, ctx)
    return await own_skill(name, projects[-1], ctx)


def rewards_of(told: ScoreInput) -> list[NewReward]:
    """The agent's own claim and one reward per kind of evidence."""
    reason = cut(told.reason or "", _MAX_REASON)
    evidence = _bounded_evidence(told.evidence or {})
    known = {source: value for source, value in evidence.items() if source in _SOURCES}
    rewards = [replace(found, step=told.step, reason=reason) for found in from_evidence(known)]
    details = {name: value for name, value in evidence.items() if name not in known}
    if told.reward is not None:
        label = told.reward if isinstance(told.reward, str) else None
        rewards.append(NewReward(value=told.value(), step=told.step, label=label, reason=reason, evidence=details))
    elif rewards:
        rewards[0] = replace(rewards[0], evidence={**details, **rewards[0].evidence})
    return rewards


def _bounded_evidence(evidence: dict[str, Any]) -> dict[str, Any]:
    kept = {name: cut(value, _MAX_REASON) if isinstance(value, str) else value for name, value in evidence.items()}
    if len(to_json(kept)) > _MAX_EVIDENCE:
        raise ToolError(
            f"evidence is longer than {_MAX_EVIDENCE} characters",
            hint='Send a summary, e.g. {"tests": {"passed": 9, "failed": 1}}.',
        )
    return kept


async def _use(skill: Skill, used: UsedSkill, told: ScoreInput, rewards: Sequence[NewReward], ctx: Context) -> NewUse:
    success = used.success
    if success is None:
        success = _worked(rewards, skill)
    return NewUse(skill_id=skill.id, version=await _version_shown(skill, told, ctx), success=success)


async def _version_shown(skill: Skill, told: ScoreInput, ctx: Context) -> int:
    """Of a skill on trial the version that this task, or else this session, was shown last."""
    if skill.trial_of is None:
        return skill.version
    found = await ctx.store.exposures(skill_id=skill.id, limit=_LOOKED_THROUGH)
    ours = [one for one in found if one.task_id == told.task_id] or [one for one in found if one.session == ctx.session]
    versions = [shown.version for one in ours for shown in one.skills if shown.skill_id == skill.id and shown.shown]
    return versions[0] if versions else skill.version


def _worked(rewards: Sequence[NewReward], skill: Skill) -> bool:
    # Weighed as the attempt's reward is: an agent's praise does not outvote its user.
    worth = math.fsum(WEIGHTS[reward.source] * (reward.value or 0.0) for reward in rewards)
    if not worth:
        raise ToolError(
            f"whether skill {skill.name!r} worked is not known",
            hint=f'Send skills_used: [{{"skill": "{skill.name}", "success": true}}] or a reward. Nothing was stored.',
        )
    return worth > 0


def _record(skill: Skill) -> SkillReport:
    name = one_line(skill.name, MAX_NAME)
    return SkillReport(id=skill.id, name=name, use_count=skill.use_count, success_rate=skill.success_rate)


def _answer(scored: Scored, skills: Sequence[Skill]) -> ScoreOutput:
    sources: dict[str, float | None] = {reward.source: reward.value for reward in scored.rewards if reward.step is None}
    return ScoreOutput(
        episode_id=scored.episode_id,
        reward=scored.reward,
        outcome=scored.outcome,
        sources=sources,
        skills=[_record(skill) for skill in skills],
        closed=scored.closed,
        receipt=scored.receipt,
    )


TOOL = Tool(
    name="score_reward",
    description="Say how an attempt (or one step) turned out, with evidence, and which skills you followed. "
    "final closes the attempt.",
    annotations=Annotations(read_only=False, destructive=False, idempotent=False, open_world=False),
    input=ScoreInput,
    output=ScoreOutput,
    handle=handle,
)
