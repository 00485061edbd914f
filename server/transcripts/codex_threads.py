"""Codex' rollout files: which threads they hold, and which of those are subagents'."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

from prowess.server.transcripts.model import Notes, Source
from prowess.server.transcripts.reading import as_map, as_text, files_below, records

__all__ = ["Head", "find", "head_of"]

_FIRST = 5  # records among which the one that describes the thread is the first


@dataclass(frozen=True, slots=True)
class Head:
    """What a file's first record says of its thread."""

    id: str
    parent: str
    session: str
    cwd: str
    version: str
    copied_from: str = ""


def find(path: Path) -> list[Source]:
    """The sessions in a folder, or of one file, in the order of their files' names, which is that of time."""
    files = _rollouts(files_below(path, "rollout-*")) if path.is_dir() else [path, *_beside(path)]
    heads = {file: head_of(file) for file in files}
    by_id = {head.id: file for file, head in heads.items()}
    below: dict[Path, list[Path]] = {}
    for file, head in heads.items():
        root = _root(head, heads, by_id)
        below.setdefault(root or file, []).extend([file] if root else [])
    wanted = below if path.is_dir() else {path: below.get(path, [])}
    return [
        Source(None, (file, *others)) if heads[file].parent else Source(file, tuple(others))
        for file, others in wanted.items()
    ]


def _rollouts(files: Iterable[Path]) -> list[Path]:
    """Codex packs those of old sessions (openai/codex, ``rollout/src/compression.rs``); where it has just done so, or
    unpacked one to go on with it, the plain one counts.
    """
    found = [file for file in files if file.name.endswith((".jsonl", ".jsonl.zst"))]
    plain = {file for file in found if file.suffix == ".jsonl"}
    return [file for file in found if file in plain or file.with_suffix("") not in plain]


def _beside(file: Path) -> list[Path]:
    others = _rollouts(sorted(file.parent.glob("rollout-*")))
    return [other for other in others if other.name.removesuffix(".zst") != file.name.removesuffix(".zst")]


def _name_of(file: Path) -> str:
    return file.name.removesuffix(".zst").removesuffix(".jsonl")


def _root(head: Head, heads: Mapping[Path, Head], by_id: Mapping[str, Path]) -> Path | None:
    """The file of the thread that all its parents lead to; None for one that has none, or whose file is gone."""
    root = None
    for _ in range(len(heads)):
        parent = by_id.get(head.parent) if head.parent else None
        if parent is None:
            break
        root, head = parent, heads[parent]
    return root


def head_of(file: Path) -> Head:
    for _, record in islice(records(file, Notes()), _FIRST):
        payload = as_map(record.get("payload")) or record
        if record.get("type") == "session_meta" or ("type" not in record and "id" in record):
            spawn = as_map(as_map(as_map(payload.get("source")).get("subagent")).get("thread_spawn"))
            identity = as_text(payload.get("id")) or _name_of(file)
            parent = as_text(payload.get("parent_thread_id")) or as_text(spawn.get("parent_thread_id"))
            return Head(
                identity,
                parent,
                as_text(payload.get("session_id")) or identity,
                as_text(payload.get("cwd")),
                as_text(payload.get("cli_version")),
                as_text(payload.get("forked_from_id")),
            )
    return Head(_name_of(file), "", _name_of(file), "", "")
