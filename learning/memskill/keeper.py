"""What the hub does with a finished episode: let the controller choose memory skills and apply them to what is kept.

Memories stay with the caller; ``remember`` is told those of the project and says what changes. Nothing is stored here.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple

from prowess.learning.memskill.affinity import NEUTRAL, view_skills
from prowess.learning.memskill.bank import Bank
from prowess.learning.memskill.controller import Controller
from prowess.learning.memskill.memory import Item, Limits, MemoryBank
from prowess.learning.memskill.play import Always, Play, Policy, play_all
from prowess.learning.memskill.traces import episode_spans
from prowess.learning.memskill.units import KIND_STEMS, Trace, Unit, Vector, Vectors, make_unit
from prowess.storage.errors import InvalidInput
from prowess.storage.models import Trajectory

__all__ = ["Change", "Kept", "Remembered", "remember"]

Kind = Literal["lesson", "fact", "warning"]
PLAIN_RULES = ("update", "insert")  # without a controller
_ERROR, _COMMAND, _PATH = (KIND_STEMS[word] for word in ("error", "command", "path"))


class Kept(NamedTuple):
    """A memory as the caller has it. ``vector`` spares embedding the text again; oldest first where several."""

    key: str
    text: str
    importance: float = NEUTRAL
    vector: Vector | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Change:
    """A memory to be stored: a new one, or with ``key`` another text or importance for one that is kept. ``steps`` are
    the numbers of the episode's steps that it rests on (0 is the task), ``skills`` the memory skills that made it.
    """

    text: str
    kind: Kind
    importance: float
    steps: tuple[int, ...]
    skills: tuple[str, ...]
    vector: Vector
    key: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Remembered:
    """What an episode changed. ``removed`` are keys that a memory skill deleted or retention took; ``chosen`` counts
    how often each skill was chosen; ``trained`` tells whether a controller chose.
    """

    changes: tuple[Change, ...]
    removed: tuple[str, ...]
    chosen: dict[str, int]
    trained: bool


def remember(
    trajectory: Trajectory,
    kept: Sequence[Kept],
    vectors: Vectors,
    *,
    bank: Bank,
    controller: Controller | None = None,
    embedding: str = "",
    limits: Limits | None = None,
) -> Remembered:
    """Apply ``bank`` to a finished episode, given what is ``kept`` (at most ``limits.items``, the oldest first).

    ``embedding`` names the model behind ``vectors``; a controller made for another one is refused with InvalidInput.
    Deterministic. Takes about a millisecond for a span, and embeds the texts that bring no vector.
    """
    if controller is not None and controller.manifest.embedding != embedding:
        raise InvalidInput(
            f"the controller was trained on vectors of {controller.manifest.embedding!r}, not {embedding!r}",
            hint="train again with this embedding model",
        )
    views = view_skills(bank.skills, vectors)
    memory = MemoryBank(limits or Limits())
    keys = {item.id: each.key for each, item in zip(kept, _restored(memory, kept, vectors), strict=True)}
    before = dict(memory.items)
    policy: Policy = controller or Always(*PLAIN_RULES)
    spans = tuple(episode_spans(trajectory, vectors))
    play = Play(Trace(trajectory.episode.id, spans, ()), views, memory.limits, memory=memory)
    play_all(play, policy)
    changed = [item for key, item in memory.items.items() if before.get(key) is not item]
    chosen = [views[index].name for used in play.used for index in used]
    return Remembered(
        changes=tuple(_change(item, trajectory.episode.id, keys.get(item.id)) for item in changed),
        removed=tuple(key for item_id, key in keys.items() if item_id not in memory.items),
        chosen={name: chosen.count(name) for name in dict.fromkeys(chosen)},
        trained=controller is not None,
    )


def _restored(memory: MemoryBank, kept: Sequence[Kept], vectors: Vectors) -> list[Item]:
    missing = list(dict.fromkeys(each.text for each in kept if each.vector is None))
    rows = dict(zip(missing, vectors(missing), strict=True)) if missing else {}
    return [
        memory.restore(
            make_unit(each.text, (f"kept:{each.key}",), rows[each.text] if each.vector is None else each.vector),
            each.importance,
        )
        for each in kept
    ]


def _change(item: Item, episode: str, key: str | None) -> Change:
    return Change(
        text=item.text,
        kind=_kind(item.units[-1]),
        importance=item.importance,
        steps=tuple(sorted(_number(source) for source in item.sources if source.startswith(f"{episode}#"))),
        skills=tuple(dict.fromkeys(past.skill for past in item.history)),
        vector=item.vector,
        key=key,
    )


def _kind(unit: Unit) -> Kind:
    if _ERROR in unit.terms:
        return "warning"
    return "lesson" if {_COMMAND, _PATH} & unit.terms or " -> " in unit.text else "fact"


def _number(source: str) -> int:
    return int(source.rpartition("#")[2])
