"""Rows of the catalog as values of the product."""

from __future__ import annotations

from functools import lru_cache
from hashlib import blake2b
from typing import Any

import msgspec

from prowess.storage.catalog.adapter import Row
from prowess.storage.events import EVENT_TYPES, Event, SkillSaved
from prowess.storage.models import (
    Adopted,
    Episode,
    ExposedSkill,
    Exposure,
    Memory,
    Parameter,
    Pattern,
    Reward,
    Skill,
    SkillStep,
    SkillUse,
    SkillVersion,
    Step,
    Trial,
)

__all__ = [
    "digest",
    "episode",
    "event",
    "exposed",
    "exposure",
    "memory",
    "pattern",
    "reward",
    "skill",
    "skill_text",
    "step",
    "texts",
    "to_json",
    "trial",
    "use",
    "version",
]

_PARAMETERS = msgspec.json.Decoder(tuple[Parameter, ...])
_STEPS = msgspec.json.Decoder(tuple[SkillStep, ...])
_TEXTS = msgspec.json.Decoder(tuple[str, ...])
_OBJECT = msgspec.json.Decoder(dict[str, Any])
_SKILL = msgspec.json.Decoder(Skill)
_ENCODER = msgspec.json.Encoder(order="deterministic")


def to_json(value: Any) -> str:
    """``value`` as JSON with sorted keys, so that equal values are equal text."""
    return _ENCODER.encode(value).decode()


def texts(text: str) -> tuple[str, ...]:
    """A stored list of texts."""
    return _TEXTS.decode(text)


def digest(text: str) -> bytes:
    """16 bytes that tell one text from another."""
    return blake2b(text.encode(), digest_size=16).digest()


def skill_text(name: str, description: str, keywords: tuple[str, ...]) -> str:
    """What of a skill is embedded."""
    return ". ".join(part for part in (name, description, ", ".join(keywords)) if part)


@lru_cache(maxsize=4096)
def _names(text: str) -> tuple[str, ...]:
    return texts(text)


def episode(row: Row) -> Episode:
    (key, project, session, task_id, attempt, opened, task, agent, closed, steps, reward_, outcome, seq) = row
    return Episode(
        id=key,
        project=project,
        session=session,
        task_id=task_id,
        attempt=attempt,
        opened_at=opened,
        task=task,
        agent=agent,
        closed_at=closed,
        steps=steps,
        reward=reward_,
        outcome=outcome,
        updated_seq=seq,
    )


def step(row: Row) -> Step:
    """A step's summary: ``args`` has the names of its arguments, each with None for the value."""
    (episode_id, number, at, action, numbered, tool, names, outcome, error, context, duration, external) = row
    return Step(
        episode_id=episode_id,
        number=number,
        at=at,
        action=action,
        numbered=numbered == 1,
        tool=tool,
        args=None if names is None else dict.fromkeys(_names(names)),
        outcome=outcome,
        error=error,
        context=context,
        duration_ms=duration,
        external_id=external,
    )


def reward(row: Row) -> Reward:
    (key, episode_id, step_, at, value, source, label, reason, evidence) = row
    return Reward(
        id=key,
        episode_id=episode_id,
        step=step_,
        at=at,
        value=value,
        source=source,
        label=label,
        reason=reason,
        evidence=_OBJECT.decode(evidence),
    )


def skill(row: Row) -> Skill:
    (key, name, description, steps, number, parameters, status, project, author, trust, pinned, *rest) = row
    (episodes, support, keywords, uses, rate, created, updated, used, seq, trial_of) = rest
    return Skill(
        id=key,
        name=name,
        description=description,
        steps=_STEPS.decode(steps),
        version=number,
        parameters=_PARAMETERS.decode(parameters),
        status=status,
        project=project,
        author=author,
        trust=trust,
        pinned=pinned == 1,
        episodes=texts(episodes),
        support=support,
        keywords=texts(keywords),
        use_count=uses,
        success_rate=rate,
        created_at=created,
        updated_at=updated,
        last_used_at=used,
        updated_seq=seq,
        trial_of=trial_of,
    )


def without_examples(parameters: str) -> str:
    """The JSON of parameters without the values that they were seen with."""
    bare = [msgspec.structs.replace(parameter, examples=()) for parameter in _PARAMETERS.decode(parameters)]
    return to_json(bare)


def version_without_examples(text: str, episode_id: str) -> str:
    """The JSON of a version's skill, without examples where it was drawn from that episode."""
    found = _SKILL.decode(text)
    if episode_id not in found.episodes:
        return text
    return to_json(found.without_examples())


def event(name: str, text: str) -> Event:
    """An event of type ``name`` as the history has it."""
    return msgspec.json.decode(text, type=EVENT_TYPES[name])


def event_without_examples(text: str, episode_id: str) -> str:
    """The JSON of an event in a skill's history, without examples where the skill was drawn from that episode."""
    if "skill" not in _OBJECT.decode(text):
        return text
    told = msgspec.json.decode(text, type=SkillSaved)
    if episode_id not in told.skill.episodes:
        return text
    return to_json(msgspec.structs.replace(told, skill=told.skill.without_examples()))


def version(row: Row) -> SkillVersion:
    (text, number, change, reason, at, seq) = row
    skill = _SKILL.decode(text)
    return SkillVersion(skill=skill, version=number, change=change, reason=reason, at=at, updated_seq=seq)


def use(row: Row) -> SkillUse:
    (key, skill_id, number, episode_id, success, at) = row
    return SkillUse(id=key, skill_id=skill_id, version=number, episode_id=episode_id, success=success == 1, at=at)


def exposed(row: Row) -> ExposedSkill:
    (skill_id, number, rank, score, shown) = row
    return ExposedSkill(skill_id=skill_id, version=number, rank=rank, score=score, shown=shown == 1)


def exposure(row: Row, skills: tuple[ExposedSkill, ...]) -> Exposure:
    (key, at, query, project, task_id, episode_id, session) = row
    return Exposure(
        id=key,
        at=at,
        query=query,
        project=project,
        task_id=task_id,
        episode_id=episode_id,
        skills=skills,
        session=session,
    )


def trial(row: Row) -> Trial:
    (skill_id, number, shown, episode_id, at, success, reward_) = row
    return Trial(
        skill_id=skill_id,
        version=number,
        shown=shown == 1,
        episode_id=episode_id,
        at=at,
        success=success == 1,
        reward=reward_,
    )


def pattern(row: Row) -> Pattern:
    (key, kind, statement, support, against, effect, low, high, q_value, examples, project, detail) = row
    return Pattern(
        id=key,
        kind=kind,
        statement=statement,
        support=support,
        against=against,
        effect=effect,
        low=low,
        high=high,
        q_value=q_value,
        examples=texts(examples),
        project=project,
        detail=_OBJECT.decode(detail),
    )


def memory(row: Row) -> Memory:
    (key, kind, text, at, project, episode_id, trust, importance, seq, *rest) = row
    (subject, support, against, evidence, superseded_by, made_by) = rest
    return Memory(
        id=key,
        kind=kind,
        text=text,
        at=at,
        project=project,
        episode_id=episode_id,
        trust=trust,
        importance=importance,
        updated_seq=seq,
        subject=subject,
        support=support,
        against=against,
        evidence=texts(evidence),
        superseded_by=superseded_by,
        made_by=texts(made_by),
    )


def adopted(row: Row) -> Adopted:
    (project, at, bank, weights, run_id, embedding, reward, before, skills, reason) = row
    return Adopted(
        project=project,
        at=at,
        bank=bank,
        weights=weights,
        run_id=run_id,
        embedding=embedding,
        reward=reward,
        before=before,
        skills=texts(skills),
        reason=reason,
    )
