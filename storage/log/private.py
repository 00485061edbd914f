"""What stays on this machine.

It is kept beside the journal, so that whoever reads that for other machines knows it in the same moment.
"""

from __future__ import annotations

import msgspec

from prowess.storage.events import PrivacySet
from prowess.storage.log.batch import View
from prowess.storage.log.file import read_meta, write_meta

__all__ = ["Private", "private_in", "set_privacy"]

_META = "private"


class Private(msgspec.Struct, frozen=True, kw_only=True):
    """The ids of skills and memories that no other machine is told of."""

    skill_ids: frozenset[str] = frozenset()
    memory_ids: frozenset[str] = frozenset()


def private_in(view: View) -> Private:
    """What was marked in this log."""
    return msgspec.convert(read_meta(view, _META) or {}, Private)


def set_privacy(view: View, told: PrivacySet) -> None:
    """Mark what ``told`` names, or take the mark away. A mark outlives what it is on: that may be found anew."""
    known = private_in(view)
    kept = {
        name: sorted(getattr(known, name).union(getattr(told, name)))
        if told.private
        else sorted(getattr(known, name).difference(getattr(told, name)))
        for name in known.__struct_fields__
    }
    write_meta(view, _META, kept)
