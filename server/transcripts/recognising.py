"""A tool call of which the agent itself told before its hook or transcript did is the step that the agent told."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import timedelta
from typing import TYPE_CHECKING

from msgspec.structs import replace

from prowess.server.transcripts.evidence import command_of
from prowess.server.transcripts.model import Call
from prowess.storage.models import NewStep, Origin, Step, parse_time

if TYPE_CHECKING:
    from prowess.storage.store import Store

__all__ = ["AHEAD", "recognise", "same_arguments", "without_identity"]

# By how much the agent's word may come before its call: told side by side, a call waits for the user's permission.
AHEAD = timedelta(minutes=5)


async def recognise(
    episode_id: str, steps: Sequence[NewStep], stored: Sequence[Step], store: Store, origin: Origin
) -> None:
    """Give the agent's steps among ``stored`` the identity of those of ``steps`` that they tell of.

    Each is one of them at most, the oldest first. Tracked after this, what was recognised is a duplicate.
    """
    told = {step.external_id for step in stored}
    left, found = without_identity(stored), list[NewStep]()
    for step in (step for step in steps if step.external_id not in told):
        known = next((each for each in left if _tells_of(each, step)), None)
        if known is not None:
            left.remove(known)
            found.append(replace(step, number=known.number))
    if found:
        await store.identify(episode_id, found, origin=origin)


def without_identity(stored: Sequence[Step]) -> list[Step]:
    """Steps that may tell of a call: words without arguments never do, since they would stand for what a hook knows."""
    return [step for step in stored if step.external_id is None and step.args]


def _tells_of(known: Step, step: NewStep) -> bool:
    if known.tool and step.tool and known.tool.lower() != step.tool.lower():
        return False
    if not same_arguments(known, step):
        return False
    return step.at is None or parse_time(step.at) <= parse_time(known.at) + AHEAD


def same_arguments(told: NewStep | Step, known: NewStep | Step) -> bool:
    """Whether the arguments that an agent told are those of a call: the same command, else none that it has not."""
    mine, command = (command_of(Call("", "", step.args or {}, None)).strip() for step in (told, known))
    if mine or command:
        return mine == command
    return bool(told.tool) and (told.args or {}).items() <= (known.args or {}).items()
