"""Short ways to make events and catalogs for the tests beside this file."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import msgspec

from prowess.storage.catalog import Catalog, Cursor
from prowess.storage.events import (
    EVENT_TYPES,
    Envelope,
    EpisodeOpened,
    Event,
    MemorySaved,
    RewardScored,
    SkillSaved,
    SkillUsed,
    StepTracked,
)
from prowess.storage.models import Memory, Origin, Reward, Skill, SkillStep, SkillUse

AT = "2026-11-29T13:50:01.123Z"
NAMES = {kind: name for name, kind in EVENT_TYPES.items()}


def at(second: int) -> str:
    return f"2026-11-29T13:{second // 60:02}:{second % 60:02}.000Z"


def envelope(seq: int, event: Event) -> Envelope:
    data = msgspec.to_builtins(event)
    return Envelope(
        seq=seq, type=NAMES[type(event)], version=1, at=AT, origin=Origin(), data=data, digest=bytes([seq % 256])
    )


def envelopes(events: Iterable[Event], first: int = 1) -> list[Envelope]:
    return [envelope(seq, event) for seq, event in enumerate(events, start=first)]


def cursor(seq: int, log_id: str = "log", epoch: int = 1) -> Cursor:
    return Cursor(log_id=log_id, epoch=epoch, seq=seq, digest=bytes([seq % 256]))


def feed(catalog: Catalog, *events: Event) -> None:
    """Apply events after those that the catalog has."""
    present = catalog.cursor()
    batch = envelopes(events, first=(present.seq if present else 0) + 1)
    catalog.apply(batch, cursor(batch[-1].seq))


def project(path: Path, batches: Sequence[Sequence[Envelope]]) -> dict[str, list[dict[str, Any]]]:
    """The dump of a new catalog at ``path`` after ``batches``."""
    catalog = Catalog(path)
    try:
        for batch in batches:
            catalog.apply(batch, cursor(batch[-1].seq))
        return catalog.dump()
    finally:
        catalog.close()


def opened(key: str = "e1", **changes: Any) -> EpisodeOpened:
    fields = {"project": "shop", "session": "s1", "task_id": "t1", "attempt": 1, "at": AT, "task": "", "agent": "codex"}
    return EpisodeOpened(episode_id=key, **{**fields, **changes})


def step(number: int = 1, key: str = "e1", action: str = "look", **changes: Any) -> StepTracked:
    return StepTracked(episode_id=key, number=number, action=action, **{"at": AT, **changes})


def scored(key: str, value: float | None, episode: str = "e1", **changes: Any) -> RewardScored:
    return RewardScored(reward=Reward(id=key, episode_id=episode, value=value, **{"at": AT, **changes}))


def skill(key: str = "k1", **changes: Any) -> Skill:
    fields: dict[str, Any] = {
        "name": "Cancel an order",
        "description": "Find the user, then cancel",
        "steps": (SkillStep(tool="cancel_order", args_template={"order_id": "{order_id}"}),),
        "status": "active",
        "created_at": AT,
        "updated_at": AT,
    }
    return Skill(id=key, **{**fields, **changes})


def saved(key: str = "k1", change: str = "created", **changes: Any) -> SkillSaved:
    return SkillSaved(skill=skill(key, **changes), change=change)


def used(key: str, success: bool, skill_id: str = "k1", episode: str = "e1", when: str = AT) -> SkillUsed:
    use = SkillUse(id=key, skill_id=skill_id, version=1, episode_id=episode, success=success, at=when)
    return SkillUsed(use=use)


def remembered(key: str = "m1", text: str = "Ask before refunding", **changes: Any) -> MemorySaved:
    return MemorySaved(memory=Memory(id=key, kind="lesson", text=text, **{"at": AT, **changes}))
