"""What an installation or its removal would change, file by file, before anything is written."""

from __future__ import annotations

import codecs
import difflib
import os
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from prowess.server.install import codex_trust, json_file
from prowess.server.install.clients import Target
from prowess.server.install.errors import Refused, Unreadable
from prowess.server.install.records import Record, Records, digest
from prowess.server.install.wants import Document
from prowess.storage.ordinary import NotOrdinaryError, read_ordinary

__all__ = ["Change", "installing", "read", "removing", "text_of"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Change:
    """One file: its bytes now and then (None: there is no file), and what to remember of it.

    ``record`` is None where we have nothing there afterwards; ``original`` is what uninstalling would restore.
    ``restores``: nobody changed the file since we did, so that it becomes what it was before.
    """

    target: Target
    before: bytes | None
    after: bytes | None
    record: Record | None
    original: bytes | None = None
    restores: bool = False

    @property
    def state(self) -> str:
        if self.before == self.after:
            return "unchanged"
        if self.before is None:
            return "created"
        if self.after is None:
            return "deleted"
        return "restored" if self.restores else "changed"

    def diff(self) -> str:
        """A unified diff; empty where nothing changes."""
        old, new = (_lines(content) for content in (self.before, self.after))
        old_name, new_name = (
            "(no file)" if content is None else str(self.target.path) for content in (self.before, self.after)
        )
        return "".join(difflib.unified_diff(old, new, old_name, new_name))


def _lines(content: bytes | None) -> list[str]:
    lines = (content or b"").decode("utf-8", "replace").replace("\r\n", "\n").split("\n")
    return [f"{line}\n" for line in lines[: None if lines[-1] else -1]]


def installing(targets: Sequence[Target], records: Records, *, trust: bool = False) -> list[Change]:
    """The changes that put everything in place. Raises ``Refused`` where one file cannot be edited."""
    changes: list[Change] = []
    for target in targets:
        if trust and target.client == "codex" and target.path.name == "config.toml":
            hooks = next(change for change in changes if change.target.format is json_file)
            text = text_of(hooks.target, hooks.after)[1]
            words = codex_trust.entries(hooks.target.path, text, hooks.target.wants)
            target = replace(target, wants=(*target.wants, *words))
        changes.append(_installing(target, records))
    return changes


def _installing(target: Target, records: Records) -> Change:
    _check_place(target)
    before = read(target.path)
    record = records.files.get(str(target.path))
    mark, text = text_of(target, before)
    document = Document(text, {tuple(path) for path in record.made} if record else set())
    made_before = set(document.made)
    try:
        target.format.install(document, target.wants)
    except Unreadable as error:
        raise error.at(target.path) from error
    after = before if document.text == text else mark + document.text.encode()
    if after == before:
        return Change(target=target, before=before, after=after, record=record)
    assert after is not None
    return Change(
        target=target,
        before=before,
        after=after,
        record=Record(
            client=target.client,
            scope=target.scope,
            before=None,
            after=digest(after),
            made=sorted(list(path) for path in document.made),
            folders=record.folders if record else [],
        ),
        original=_original(target, before, record, records, made_before),
    )


def _original(
    target: Target, before: bytes | None, record: Record | None, records: Records, made: set[tuple[str, ...]]
) -> bytes | None:
    """How the file would be without us."""
    if record and _is_ours(before, record):
        return records.backup(record)
    return _stripped(target, before, record, records, made)


def _is_ours(before: bytes | None, record: Record | None) -> bool:
    """Whether the file is as we left it."""
    return record is not None and before is not None and digest(before) == record.after


def removing(targets: Sequence[Target], records: Records) -> list[Change]:
    """The changes that take everything out. Raises ``Refused`` where one file cannot be edited."""
    changes = []
    for target in targets:
        _check_place(target)
        before = read(target.path)
        record = records.files.get(str(target.path))
        made = {tuple(path) for path in record.made} if record else set()
        after = _original(target, before, record, records, made)
        restores = _is_ours(before, record)
        changes.append(Change(target=target, before=before, after=after, record=None, restores=restores))
    return changes


def _check_place(target: Target) -> None:
    """A project may come from anybody, and a link in it is not to be written through into the person's own files."""
    leads = Path(os.path.realpath(target.path))
    if target.within and not leads.is_relative_to(os.path.realpath(target.within)):
        raise Refused(
            f"{target.path} leads out of the project, to {leads}", hint="put a file in its place, or use --scope user"
        )


def _stripped(
    target: Target, before: bytes | None, record: Record | None, records: Records, made: set[tuple[str, ...]]
) -> bytes | None:
    if before is None:
        return None
    mark, text = text_of(target, before)
    document = Document(text, made)
    try:
        target.format.strip(document, target.wants)
    except Unreadable as error:
        raise error.at(target.path) from error
    if record and document.text != text and target.format.is_empty(document.text, target.wants):
        known = records.backup(record)
        if known is None or not known.strip():
            return known
    return before if document.text == text else mark + document.text.encode()


def read(path: Path) -> bytes | None:
    """The file's bytes; None where there is none. Raises ``Refused`` for what is no ordinary file."""
    if not path.exists():
        # A link in a circle is resolved to itself.
        leads = Path(os.path.realpath(path))
        if path.is_symlink() and (leads.is_symlink() or not leads.parent.is_dir()):
            raise Refused(f"{path} is a link to nowhere", hint="remove the link, or make the folder that it leads to")
        return None
    try:
        return read_ordinary(path)
    except NotOrdinaryError as error:
        raise Refused(f"{path}: {error.strerror}", hint="move it away") from error


def text_of(target: Target, content: bytes | None) -> tuple[bytes, str]:
    """The byte order mark and the text after it."""
    content = content or b""
    mark = codecs.BOM_UTF8 if content.startswith(codecs.BOM_UTF8) else b""
    try:
        return mark, content[len(mark) :].decode()
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, len(mark) + error.start) + 1
        raise Unreadable("this is not UTF-8", line).at(target.path) from error
