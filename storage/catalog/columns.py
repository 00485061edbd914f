"""What was recorded as rows of the catalog: the parameters of the statements in ``queries.py``, in their order."""

from __future__ import annotations

from typing import Any

from prowess.storage import events as ev
from prowess.storage.catalog import rows
from prowess.storage.models import Memory, Pattern, Reward, Skill

__all__ = ["episode", "memory", "model_call", "pattern", "reward", "skill", "step"]


def episode(told: ev.EpisodeOpened, seq: int, strange: bool) -> tuple[Any, ...]:
    return (
        told.episode_id,
        told.project,
        told.session,
        told.task_id,
        told.attempt,
        told.at,
        told.task,
        told.agent,
        rows.digest(told.task),
        seq,
        strange,
    )


def step(told: ev.StepTracked, seq: int) -> tuple[Any, ...]:
    return (
        told.episode_id,
        told.number,
        told.at,
        told.action,
        told.numbered,
        told.tool,
        rows.to_json(told.arg_names) if told.arg_names else None,
        told.outcome,
        told.error,
        told.context,
        told.duration_ms,
        told.external_id,
        told.size,
        seq,
    )


def reward(given: Reward, seq: int) -> tuple[Any, ...]:
    return (
        given.id,
        given.episode_id,
        given.step,
        given.at,
        given.value,
        given.source,
        given.label,
        given.reason,
        rows.to_json(given.evidence),
        seq,
    )


def skill(saved: Skill, seq: int, log: str) -> tuple[Any, ...]:
    return (
        saved.id,
        saved.name,
        saved.description,
        rows.to_json(saved.steps),
        saved.version,
        rows.to_json(saved.parameters),
        saved.status,
        saved.project,
        saved.author,
        saved.trust,
        saved.pinned,
        rows.to_json(saved.episodes),
        saved.support,
        rows.to_json(saved.keywords),
        saved.created_at,
        saved.updated_at,
        rows.digest(rows.skill_text(saved.name, saved.description, saved.keywords)),
        seq,
        saved.trial_of,
        log,
    )


def memory(saved: Memory, seq: int) -> tuple[Any, ...]:
    return (
        saved.id,
        saved.kind,
        saved.text,
        saved.at,
        saved.project,
        saved.episode_id,
        saved.trust,
        saved.importance,
        rows.digest(saved.text),
        seq,
        saved.subject,
        saved.support,
        saved.against,
        rows.to_json(saved.evidence),
        saved.superseded_by,
        rows.to_json(saved.made_by),
    )


def model_call(told: ev.ModelAnswered, seq: int) -> tuple[Any, ...]:
    return (
        told.call_id,
        told.at,
        told.purpose,
        told.model,
        told.input_tokens,
        told.output_tokens,
        told.cost_usd,
        told.ok,
        told.error,
        seq,
    )


def pattern(found: Pattern, rank: int, told: ev.PatternsReflected, seq: int) -> tuple[Any, ...]:
    return (
        told.project,
        rank,
        found.id,
        told.reflection_id,
        found.kind,
        found.statement,
        found.support,
        found.against,
        found.effect,
        found.low,
        found.high,
        found.q_value,
        rows.to_json(found.examples),
        found.project,
        rows.to_json(found.detail),
        told.at,
        seq,
    )
