"""Rules of a person that are kept as soon as they are known, and not when the server next learns."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

import anyio
import anyio.to_thread

from prowess.learning.memories.joining import merged
from prowess.learning.memories.lessons import SAID, rule_of
from prowess.learning.memories.standing_rules import only_lifts
from prowess.learning.redaction.masking import mask
from prowess.storage.events import MemorySaved
from prowess.tools.remembering import is_believed, remembered
from prowess.tools.text import quote

if TYPE_CHECKING:
    from prowess.storage.models import Memory
    from prowess.tools.context import Context

__all__ = ["LONGEST_RULE", "Kept", "keep", "keep_quoted"]

LONGEST_RULE = 280  # characters: a session's start tells no more of one
_UNHEARD = (
    "the user typed no such words here, as far as hooks heard; quote a sentence as it stands, or let them run "
    "`prowess memories add`"
)


class Kept(NamedTuple):
    """``rules`` are those that hold now, ``new`` of them for the first time, ``notes`` say why others are not kept."""

    rules: Sequence[Memory] = ()
    new: int = 0
    receipt: str | None = None
    notes: Sequence[str] = ()


async def keep(said: Sequence[Memory], project: str, ctx: Context) -> Kept:
    """Save rules, the earlier first, and that others give way to them. Raises the store's errors."""
    async with ctx.turn:
        gone = await ctx.store.forgotten_memories({memory.id for memory in said})
        known = await remembered(project, ctx)
        held = {one.id: one for one in known if one.project == project and is_believed(one)}
        fresh = [memory for memory in said if memory.id not in gone]
        after = await anyio.to_thread.run_sync(merged, held.values(), fresh)
        changed = [memory for key, memory in after.items() if held.get(key) != memory]
        receipt = None
        if changed:
            with anyio.CancelScope(shield=True):
                stored = await ctx.store.append([MemorySaved(memory=memory) for memory in changed], origin=ctx.origin)
            receipt = stored.receipt
            await ctx.index.refresh(wait=False)
    live = [after[one.id] for one in fresh if one.id in after and after[one.id].superseded_by is None]
    notes = [_refusal(one.text, "it was forgotten for good") for one in said if one.id in gone]
    notes += [_refusal(one.text, _why(one, after.get(one.id))) for one in fresh if after.get(one.id) not in live]
    return Kept(live, sum(one.id not in held for one in live), receipt, notes)


def _why(said: Memory, there: Memory | None) -> str:
    """Why a rule does not stand by itself."""
    if there is not None:
        return "the user said otherwise later"
    if only_lifts(said.text.removeprefix(SAID)):
        return "it takes back no rule of this project"
    return "it is kept already in nearly these words"


async def keep_quoted(quotes: Sequence[str], project: str, ctx: Context) -> Kept:
    """Keep as rules what the person typed of the ``quotes`` of an agent. Raises the store's errors."""
    if not ctx.memory_cap:
        return Kept(notes=["no rule was kept: the setting memory_cap is 0"])
    said: list[Memory] = []
    notes: list[str] = []
    for words in quotes:
        heard = await ctx.listener.heard(words, project) if ctx.listener else None
        told = mask(heard.words) if heard else ""
        if heard is None:
            notes.append(_refusal(words, _UNHEARD))
        elif len(told) > LONGEST_RULE:
            notes.append(_refusal(words, f"its sentence has {len(told)} characters, more than {LONGEST_RULE}"))
        else:
            trust = ctx.origin.trust
            said.append(rule_of(told, project=project, at=heard.at, trust=trust, episode_id=heard.episode_id))
    kept = await keep(sorted(said, key=lambda rule: rule.at), project, ctx) if said else Kept()
    return kept._replace(notes=[*notes, *kept.notes])


def _refusal(words: str, why: str) -> str:
    return f"{quote(words.removeprefix(SAID))} was not kept: {why}"
