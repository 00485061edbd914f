"""Each set in two parts: one to build on, one to report on. The same item is always in the same part."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from typing import TypeVar

__all__ = ["in_build", "parts"]

SEED = "prowess-quality-1"
BUILD_SHARE = 1 / 3  # the larger part reports, so that its intervals are the narrower ones

T = TypeVar("T")


def in_build(key: str) -> bool:
    """Whether the item called ``key`` belongs to the part to build on.

    Decided by a hash of the key alone: an item that is added or taken away moves no other.
    """
    digest = hashlib.blake2b(f"{SEED}\x1f{key}".encode(), digest_size=8).digest()
    return int.from_bytes(digest) / 2**64 < BUILD_SHARE


def parts(items: Sequence[T], key: Callable[[T], str]) -> tuple[list[T], list[T]]:
    """(build, report), each in the order of ``items``; ``key`` names what must not be in both, such as a task."""
    build = [item for item in items if in_build(key(item))]
    report = [item for item in items if not in_build(key(item))]
    return build, report
