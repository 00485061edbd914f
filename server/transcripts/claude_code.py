"""Claude Code: JSONL files under ``~/.claude/projects/<folder>/<session>.jsonl``.

Checked against versions 2.0.64 to 2.1.281 (published transcripts) and 2.1.197 (run by a script). A session's subagents
have files of their own: ``<session>/subagents/agent-<id>.jsonl``, beside it in older versions, and before that records
of the session's own file that are marked as a sidechain.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from itertools import islice
from pathlib import Path
from typing import Any

from prowess.server.hooks.records import exit_code_of, without_reset
from prowess.server.shim.places import user_folder
from prowess.server.transcripts.attaching import attach
from prowess.server.transcripts.frames import is_framed
from prowess.server.transcripts.model import Call, Event, Notes, Prompt, Said, Session, Source
from prowess.server.transcripts.reading import as_list, as_map, as_text, files_below, moment, number, records, shown
from prowess.server.transcripts.saved_result import saved_result
from prowess.server.transcripts.typed_answers import typed_in

__all__ = ["CLIENT", "find", "folder", "read", "typed"]

CLIENT = "claude-code"
_HEAD = 50  # records within which a file says when it was begun

_WITHOUT_WORK = frozenset(("progress", "summary", "system"))  # of those that are part of the conversation
_STATE = frozenset(
    (
        "agent-name",
        "ai-title",
        "atis-latch",
        "bridge-session",
        "custom-title",
        "file-history-snapshot",
        "last-prompt",
        "mode",
        "permission-mode",
        "pr-link",
    )
)
_KNOWN_BLOCKS = frozenset(("text", "thinking", "redacted_thinking", "image", "document"))

_ADDED = ("system-reminder", "ide_opened_file", "ide_selection", "user-prompt-submit-hook")
_META = re.compile(
    r"\s*(?:<(?:local-command-|bash-|command-|task-notification|session-start-hook|user-prompt-submit-hook|"
    r"system-reminder|ide_|teammate-message|agent-message|cross-session-message|channel source=)|"
    r"Caveat: The messages below were generated|\[Request interrupted by user|"
    r"This session is being continued from a previous conversation|Operation stopped by hook|Stop hook feedback)"
)
_REMEMBERED = re.compile(r"\s*<user-memory-input>(.{1,4000}?)</user-memory-input>\s*", re.DOTALL)
_SLASHED = re.compile(r"/[\w:-]+(?:\s|$)")
_NOT_HUMAN = frozenset(("auto_continuation", "peer", "scheduled", "system", "task_notification"))
_SHA = re.compile(r"[0-9a-f]{7,64}")
_REMINDER = ("<system-reminder>", "</system-reminder>")
_COMMAND = re.compile(r"<command-name>\s*(/?[^<]{1,200}?)\s*</command-name>")


def folder(environment: Mapping[str, str]) -> Path:
    """Where the client keeps its transcripts. Raises ``PlaceError`` where nobody knows the user's folder."""
    configured = environment.get("CLAUDE_CONFIG_DIR")
    return Path(configured or f"{user_folder()}/.claude") / "projects"


# ---- the files


def find(path: Path) -> list[Source]:
    """The sessions in a folder, or of one file, those that were begun first before the others.

    A session that was forked begins with a copy of the first one's records, which belong to that one.
    """
    files = files_below(path, "*.jsonl") if path.is_dir() else [path, *_beside(path)]
    mains = _mains(files)
    subagents: dict[Path, list[Path]] = {}
    for file in filter(_is_subagent, files):
        subagents.setdefault(_session_of(file, mains), []).append(file)
    wanted = {*mains, *subagents} if path.is_dir() or path not in mains else {path}
    begun = sorted(sorted(wanted), key=lambda session: _begun(session if session in mains else None))
    return [Source(session if session in mains else None, tuple(subagents.get(session, ()))) for session in begun]


def _is_subagent(file: Path) -> bool:
    return file.name.startswith("agent-")


def _mains(files: Collection[Path]) -> set[Path]:
    """Those of sessions. What lies in a session's own folder, such as a workflow's journal, is none."""
    found = {file for file in files if not _is_subagent(file)}
    folders = {folder for file in found for folder in file.parents if folder.name}
    own = {each for each in folders if each.name == "subagents" or each.with_name(f"{each.name}.jsonl") in found}
    return {file for file in found if own.isdisjoint(file.parents)}


def _beside(file: Path) -> list[Path]:
    if _is_subagent(file):
        return []
    inside = file.with_suffix("") / "subagents"
    return sorted((*inside.rglob("agent-*.jsonl"), *file.parent.glob("agent-*.jsonl")))


def _session_of(file: Path, mains: Collection[Path]) -> Path:
    """The file of the session that started this subagent, which may be gone. It may lie in another project's folder."""
    if above := [folder.parent for folder in file.parents if folder.name == "subagents"]:
        session = above[-1].with_name(f"{above[-1].name}.jsonl")
    else:
        told = (as_text(record.get("sessionId")) for _, record in islice(records(file, Notes()), _HEAD))
        session = file.with_name(f"{next(filter(None, told), file.stem)}.jsonl")
    namesakes = [main for main in mains if main.name == session.name]
    return namesakes[0] if session not in mains and len(namesakes) == 1 else session


def _begun(file: Path | None) -> tuple[str, str]:
    """The order of sessions: a fork's first own record is later than its copies, so the latest time of a head tells."""
    if file is None:
        return ("~", "")
    latest = ""
    for _, record in islice(records(file, Notes()), _HEAD):
        latest = max(latest, moment(record.get("timestamp")) or "")
        if "message" in record:
            break
    return (latest, str(file))


# ---- the records


def read(source: Source, notes: Notes, seen: set[int]) -> Session:
    """One session. ``seen`` holds what earlier sessions had: records that a fork copied are left out."""
    reader = _Reader(notes, seen, side=False)
    if source.main is not None:
        reader.read(source.main)
    session = Session(
        CLIENT, reader.session or (source.main or source.subagents[0]).stem, reader.version, reader.events
    )
    for file in source.subagents:
        below = _Reader(notes, seen, side=True)
        below.read(file)
        session.version = session.version or below.version
        if source.main is None and below.session:
            session.id = below.session
        attach(session.events, list(_calls(below.events)), file.stem.removeprefix("agent-"))
    return session


def _calls(events: Sequence[Event]) -> Iterator[Call]:
    return (event for event in events if isinstance(event, Call))


def _origin_is_human(told: Mapping[str, Any]) -> bool:
    """Newer versions say who wrote in the user's name: another agent, a timer, …"""
    kind, turn = as_text(as_map(told.get("origin")).get("kind")), as_text(told.get("turnOrigin"))
    return kind in ("", "human") and turn not in _NOT_HUMAN and told.get("promptSource") != "system"


class _Reader:
    """Reads one file; ``side`` for a subagent's, whose prompts are no user's."""

    def __init__(self, notes: Notes, seen: set[int], *, side: bool) -> None:
        self.events: list[Event] = []
        self.session = self.version = ""
        self._notes = notes
        self._seen = seen
        self._side = side
        self._open: dict[str, Call] = {}
        self._words = ""
        self._file = Path()
        self._others: Counter[str] = Counter()
        self._steered: dict[str, Any] = {}  # texts, by the type of the record that told them first

    def read(self, file: Path) -> None:
        self._file = file
        for line, record in records(file, self._notes):
            self._record(line, record)
        if not self.session:
            self._notes.unknown.update(self._others)

    def _record(self, line: int, record: Mapping[str, Any]) -> None:
        kind = as_text(record.get("type"))
        if kind == "attachment":
            self._queued(line, record)
        elif kind == "queue-operation":
            self._absorbed(line, record)
        elif kind in ("user", "assistant"):
            self._message(kind, line, record)
        elif kind not in _WITHOUT_WORK and kind not in _STATE:
            self._unknown(kind[:80] or "(none)", "uuid" in record or "message" in record)

    def _unknown(self, kind: str, of_the_conversation: bool) -> None:
        """What is no part of the conversation is the client's own state, of which each version adds some.

        A file without any conversation may be something else altogether.
        """
        unknown = self._notes.unknown if of_the_conversation else self._others
        unknown[kind] += 1

    def _message(self, kind: str, line: int, record: Mapping[str, Any]) -> None:
        self.session = as_text(record.get("sessionId")) or self.session  # the last: copied records may name another
        self.version = as_text(record.get("version")) or self.version
        if self._had_before(record):
            return
        side = self._side or record.get("isSidechain") is True
        content = as_map(record.get("message")).get("content")
        blocks = [as_map(block) for block in as_list(content)] or [{"type": "text", "text": as_text(content)}]
        if kind == "assistant":
            if not record.get("isApiErrorMessage"):  # the client's words, not the agent's
                self._assistant(record, blocks, side)
        else:
            self._user(line, record, blocks, side)

    def _had_before(self, record: Mapping[str, Any]) -> bool:
        uuid = record.get("uuid")
        if not isinstance(uuid, str) or not uuid:
            return False
        key = hash(uuid)
        known = key in self._seen
        self._seen.add(key)
        return known

    def _assistant(self, record: Mapping[str, Any], blocks: Sequence[Mapping[str, Any]], side: bool) -> None:
        at = moment(record.get("timestamp"))
        for block in blocks:
            kind = as_text(block.get("type"))
            if kind == "text":
                self._words = as_text(block.get("text")).strip()
                if self._words and not side:
                    self.events.append(Said(self._words, at))
            elif kind == "tool_use":
                self._call(record, block, at)
            elif kind not in _KNOWN_BLOCKS:
                self._notes.unknown[f"assistant/{kind[:80]}"] += 1

    def _call(self, record: Mapping[str, Any], block: Mapping[str, Any], at: str | None) -> None:
        identity, tool, given = as_text(block.get("id")), as_text(block.get("name")), block.get("input")
        if not identity or not tool or identity in self._open:
            return
        args = dict(given) if isinstance(given, dict) else {} if given is None else {"input": given}
        call = Call(identity, tool, args, at, cwd=as_text(record.get("cwd")), context=self._words)
        self._words = ""
        self._open[identity] = call
        self.events.append(call)

    def _user(self, line: int, record: Mapping[str, Any], blocks: Sequence[Mapping[str, Any]], side: bool) -> None:
        results = [block for block in blocks if block.get("type") == "tool_result"]
        for block in results:
            self._result(record, block)
            if not side and (typed := typed_in(shown(block.get("content")), as_map(record.get("toolUseResult")))):
                self._add_amid(typed, line, record)
        if side:
            return
        text = "\n".join(as_text(block.get("text")) for block in blocks if block.get("type") == "text")
        if not text.strip() and not results and any(block.get("type") == "image" for block in blocks):
            text = "[image]"
        prompt = _prompt(record, text)
        if prompt is not None:
            # Hooks are told the same id; versions that had none of it left but the record's own.
            prompt.id = as_text(record.get("promptId")) or as_text(record.get("uuid")) or f"line-{line}"
            prompt.amid = prompt.amid or bool(results)
            self.events.append(prompt)
            self._words = ""

    def _queued(self, line: int, record: Mapping[str, Any]) -> None:
        """What was typed while the agent worked stands nowhere else."""
        told = as_map(record.get("attachment"))
        is_prompt = told.get("type") == "queued_command" and told.get("commandMode") == "prompt"
        if not is_prompt or told.get("isMeta") or not _origin_is_human(told):
            return
        given = told.get("prompt")
        parts = [as_map(part) for part in as_list(given)] or [{"text": given}]
        self._steering("\n".join(filter(None, (as_text(part.get("text")) for part in parts))), line, record)

    def _absorbed(self, line: int, record: Mapping[str, Any]) -> None:
        """The same, as versions and interfaces tell it that write no attachment; others write both."""
        text = as_text(record.get("content"))
        if record.get("operation") == "remove" and not _SLASHED.match(text):
            self._steering(text, line, record)

    def _steering(self, text: str, line: int, record: Mapping[str, Any]) -> None:
        told_before = self._steered.setdefault(text.strip(), record.get("type")) != record.get("type")
        if self._side or record.get("isSidechain") is True or told_before or self._had_before(record):
            return
        if prompt := _prompt(record, text):
            self._add_amid(prompt.text, line, record)

    def _add_amid(self, text: str, line: int, record: Mapping[str, Any]) -> None:
        at, identity = moment(record.get("timestamp")), as_text(record.get("uuid")) or f"line-{line}"
        self.events.append(Prompt(identity, text, at, as_text(record.get("cwd")), amid=True))

    def _result(self, record: Mapping[str, Any], block: Mapping[str, Any]) -> None:
        call = self._open.get(as_text(block.get("tool_use_id")))
        if call is None or call.observation is not None:
            return
        details = as_map(record.get("toolUseResult"))
        call.observation = saved_result(_without_reminders(shown(block.get("content"))), self._file)
        call.is_error = block.get("is_error") is True
        if not call.is_error and call.tool == "Bash" and "stdout" in details:
            call.exit_code = exit_code_of(details)
        call.ended = moment(record.get("timestamp"))
        call.duration_ms = _duration(details)
        sha = as_text(as_map(as_map(details.get("gitOperation")).get("commit")).get("sha"))
        call.commit = sha if _SHA.fullmatch(sha) else ""
        if agent := as_text(details.get("agentId")):
            call.children = (agent,)


def _prompt(record: Mapping[str, Any], text: str) -> Prompt | None:
    """What the user typed, if it is that: clients write much else in the user's name."""
    if any(record.get(name) for name in ("isMeta", "isCompactSummary", "isVisibleInTranscriptOnly", "sourceToolUseID")):
        return None
    if not _origin_is_human(record):
        return None
    at, cwd = moment(record.get("timestamp")), as_text(record.get("cwd"))
    if command := _COMMAND.search(text[:2000]):
        given = text.partition("<command-args>")[2].partition("</command-args>")[0].strip()
        return Prompt("", f"/{command[1].lstrip('/')} {given}".strip(), at, cwd, command=True)
    if remembered := _REMEMBERED.fullmatch(text):
        return Prompt("", remembered[1].strip(), at, cwd, amid=True)
    text = typed(text)
    return Prompt("", text, at, cwd) if text else None


def typed(text: str) -> str:
    """What a hook is told as a prompt, without what the client puts there; "" where nothing of it is the user's."""
    text = _without_additions(text).strip()
    return "" if _META.match(text) or is_framed(text) else text


def _without_additions(text: str) -> str:
    """What clients put into a prompt, left out. By hand: a pattern takes hours over tags that nobody closes."""
    for tag in _ADDED:
        first, *others = text.split(f"<{tag}>")
        ends = (piece.partition(f"</{tag}>") for piece in others)
        text = first + "".join(rest if found else f"<{tag}>{inside}" for inside, found, rest in ends)
    return text


def _without_reminders(result: str) -> str:
    """What a tool answered, without what the client says to the agent behind it."""
    first, last = _REMINDER
    text = result.rstrip()
    while text.endswith(last) and (start := text.rfind(first)) > 0:
        text = text[:start].rstrip()
    text = without_reset(text)
    return text if len(text) < len(result.rstrip()) else result


def _duration(details: Mapping[str, Any]) -> float | None:
    """As the tool itself measured it, in milliseconds."""
    seconds = number(details.get("durationSeconds"))
    told = (number(details.get("durationMs")), number(details.get("totalDurationMs")), seconds and seconds * 1000)
    return next((value for value in told if value is not None), None)
