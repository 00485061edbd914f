"""What the journal holds: one struct per event type, with its version.

An event is never changed once written; a new shape gets a new version and an upcaster (``storage/upcast.py``) from the
old one. ``Envelope`` is what every event is wrapped in. Raw step payloads are not in the journal but in the log's
``steps`` table; ``StepTracked`` carries the summary that outlives them.
"""

from __future__ import annotations

from typing import Any

import msgspec

from prowess.storage.models import Exposure, Memory, Origin, Outcome, Pattern, Reward, Skill, SkillStatus, SkillUse

__all__ = [
    "EVENT_TYPES",
    "FOREIGN_TYPE",
    "ControllerAdopted",
    "Envelope",
    "EpisodeClosed",
    "EpisodeDescribed",
    "EpisodeOpened",
    "Event",
    "ExposureMade",
    "ForeignReceived",
    "Forgotten",
    "MemoryDeleted",
    "MemorySaved",
    "ModelAnswered",
    "PatternsReflected",
    "PrivacySet",
    "RewardScored",
    "SkillPinned",
    "SkillSaved",
    "SkillStatusSet",
    "SkillTrialEnded",
    "SkillUsed",
    "StepTracked",
    "StepsTrimmed",
]


class Event(msgspec.Struct, frozen=True, kw_only=True):
    """Base of all events; the type's name and version stand in the envelope."""

    VERSION = 1


class EpisodeOpened(Event, frozen=True, kw_only=True):
    """A new attempt at a task began. ``agent`` is the client's own name."""

    episode_id: str
    project: str
    session: str
    task_id: str
    attempt: int
    at: str
    task: str = ""
    agent: str = ""


class EpisodeDescribed(Event, frozen=True, kw_only=True):
    """What the user asked became known, or was told anew."""

    episode_id: str
    task: str


class StepTracked(Event, frozen=True, kw_only=True):
    """Summary of one step. ``action`` at most 200 characters, ``error`` a template of at most 200."""

    episode_id: str
    number: int
    at: str
    action: str
    numbered: bool = False
    tool: str | None = None
    arg_names: tuple[str, ...] = ()
    outcome: Outcome = "unknown"
    error: str | None = None
    context: str | None = None
    duration_ms: float | None = None
    external_id: str | None = None
    size: int = 0


class RewardScored(Event, frozen=True, kw_only=True):
    reward: Reward


class EpisodeClosed(Event, frozen=True, kw_only=True):
    episode_id: str
    at: str


class SkillSaved(Event, frozen=True, kw_only=True):
    """A version of a skill, whole. ``change`` says what made it."""

    skill: Skill
    change: str
    reason: str = ""


class SkillStatusSet(Event, frozen=True, kw_only=True):
    skill_id: str
    status: SkillStatus
    at: str
    reason: str = ""


class SkillTrialEnded(Event, frozen=True, kw_only=True):
    """A changed skill proved itself beside the version before, and is shown alone from now on."""

    skill_id: str
    at: str
    reason: str = ""


class SkillPinned(Event, frozen=True, kw_only=True):
    skill_id: str
    pinned: bool
    at: str


class SkillUsed(Event, frozen=True, kw_only=True):
    use: SkillUse


class ExposureMade(Event, frozen=True, kw_only=True):
    exposure: Exposure


class PatternsReflected(Event, frozen=True, kw_only=True):
    """The patterns found in ``project`` ("" for all); they replace the earlier ones of the same project."""

    reflection_id: str
    project: str
    at: str
    patterns: tuple[Pattern, ...] = ()


class MemorySaved(Event, frozen=True, kw_only=True):
    memory: Memory


class MemoryDeleted(Event, frozen=True, kw_only=True):
    memory_id: str
    at: str


class ControllerAdopted(Event, frozen=True, kw_only=True):
    """From now on these memory skills, and this controller, decide what is remembered in ``project`` ("" for all).

    ``bank`` and ``weights`` are SHA-256 of what lies in the store's folder; ``weights`` is "" where the rules without
    a controller choose. ``embedding`` names the model whose vectors the controller knows, ``skills`` the bank's names,
    ``reward`` and ``before`` what was reached on held-back episodes, with it and untrained. ``run_id`` is the training
    run, "" where a person edited the bank.
    """

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


class PrivacySet(Event, frozen=True, kw_only=True):
    """From now on these skills and memories are told to no other machine, or are again; this event never is."""

    at: str
    private: bool
    skill_ids: tuple[str, ...] = ()
    memory_ids: tuple[str, ...] = ()


class ModelAnswered(Event, frozen=True, kw_only=True):
    """One call of a language model, for the spend ledger. Costs in US dollars; tokens as billed."""

    call_id: str
    at: str
    purpose: str
    model: str
    input_tokens: int
    output_tokens: int
    cost_usd: float
    ok: bool
    error: str = ""


class Forgotten(Event, frozen=True, kw_only=True):
    """Payloads erased on a person's word: these ids have no content any more, anywhere."""

    at: str
    reason: str = ""
    episode_ids: tuple[str, ...] = ()
    skill_ids: tuple[str, ...] = ()
    memory_ids: tuple[str, ...] = ()
    exposure_ids: tuple[str, ...] = ()
    reflection_ids: tuple[str, ...] = ()

    def alone(self, actor: str) -> frozenset[str]:
        """The memories that somebody (``actor``) wanted to be gone for themselves, and not an episode of theirs."""
        return frozenset() if self.episode_ids or actor == "machine" else frozenset(self.memory_ids)


class StepsTrimmed(Event, frozen=True, kw_only=True):
    """Raw steps dropped by retention; their summaries stay."""

    at: str
    episode_ids: tuple[str, ...] = ()


class ForeignReceived(Event, frozen=True, kw_only=True):
    """An event of another log, as it was pulled: whose, what, and whether ``person`` is trusted here.

    ``clock`` is its own Lamport time, ``here`` the time at which it was received. ``data`` is None once forgotten.
    """

    log: str
    epoch: int
    seq: int
    clock: int
    here: int
    type: str
    version: int
    at: str
    origin: Origin
    person: str = ""
    trusted: bool = True
    data: dict[str, Any] | None = None


class Envelope(msgspec.Struct, frozen=True, kw_only=True):
    """An event in the journal. ``seq`` counts from 1; ``digest`` chains over the one before (BLAKE2b, 16 bytes)."""

    seq: int
    type: str
    version: int
    at: str
    origin: Origin
    data: dict[str, Any] | None
    digest: bytes = b""


FOREIGN_TYPE = "foreign.received"

EVENT_TYPES: dict[str, type[Event]] = {
    "episode.opened": EpisodeOpened,
    "episode.described": EpisodeDescribed,
    "episode.closed": EpisodeClosed,
    "step.tracked": StepTracked,
    "reward.scored": RewardScored,
    "skill.saved": SkillSaved,
    "skill.status_set": SkillStatusSet,
    "skill.trial_ended": SkillTrialEnded,
    "skill.pinned": SkillPinned,
    "skill.used": SkillUsed,
    "exposure.made": ExposureMade,
    "patterns.reflected": PatternsReflected,
    "memory.saved": MemorySaved,
    "memory.deleted": MemoryDeleted,
    "controller.adopted": ControllerAdopted,
    "privacy.set": PrivacySet,
    "model.answered": ModelAnswered,
    "payloads.forgotten": Forgotten,
    "steps.trimmed": StepsTrimmed,
    FOREIGN_TYPE: ForeignReceived,
}
