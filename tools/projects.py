"""What is said of a project that a call names and nothing stored belongs to."""

from __future__ import annotations

from difflib import get_close_matches
from typing import TYPE_CHECKING

from prowess.learning.counting import counted
from prowess.storage.models import EpisodeFilter
from prowess.tools.text import quote

if TYPE_CHECKING:
    from prowess.storage.reads import StoreReads
    from prowess.tools.context import Context

__all__ = ["unknown_project", "unknown_to"]

NAMED = 5  # projects; of more, those whose names are most alike


async def unknown_project(named: str | None, ctx: Context) -> list[str]:
    """That no project has the name, and which there are; nothing where one has it, or none was named.

    Who is let into one project alone is told of no other.
    """
    return [] if ctx.confined else await unknown_to(ctx.store, named)


async def unknown_to(store: StoreReads, named: str | None) -> list[str]:
    """As ``unknown_project``, for who is let into all of them."""
    if not named:
        return []
    if await store.episodes(EpisodeFilter(project=named), limit=1):
        return []  # to count all that is stored, for all names, takes milliseconds
    known = [name for name in (await store.stats()).projects if name]
    if named in known:
        return []
    near = get_close_matches(named, known, n=NAMED) or known[:NAMED]
    if not near:
        return [f"no project is named {quote(named)}: what is stored belongs to none"]
    others = len(known) - len(near)
    more = f" and {counted(others, 'other')}" if others else ""
    return [f"no project is named {quote(named)}; there {'is' if len(known) == 1 else 'are'} {', '.join(near)}{more}"]
