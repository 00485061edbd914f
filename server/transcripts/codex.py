"""Codex: ``~/.codex/sessions/YYYY/MM/DD/rollout-<time>-<thread>.jsonl`` or ``.jsonl.zst``, and ``archived_sessions``.

Checked against version 0.171.0 (run by a script, subagents included). Older versions told commands and prompts in
events of other names, and the first ones had no envelope around a record; those are read as far as they are known.
A subagent's thread has a file of its own, whose first record names its parent.
"""

from __future__ import annotations

import json
import os
import re
import stat
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from typing import Any

from prowess.server.shim.places import user_folder
from prowess.server.transcripts.attaching import attach
from prowess.server.transcripts.codex_result import Result, joined, result_in, take_details
from prowess.server.transcripts.codex_script import call_of, only_runs_commands
from prowess.server.transcripts.codex_threads import Head, find, head_of
from prowess.server.transcripts.evidence import command_of
from prowess.server.transcripts.frames import is_framed
from prowess.server.transcripts.model import Call, Event, Notes, Prompt, Said, Session, Source
from prowess.server.transcripts.reading import as_list, as_map, as_text, moment, records
from prowess.server.transcripts.typed_answers import notes_in

__all__ = ["CLIENT", "call_in", "find", "folder", "read", "typed"]

CLIENT = "codex"
_TAIL = 1_000_000  # bytes of a file's end in which a call that has just ended stands
_LATELY = 20  # scripts of which one may have told of a command that goes on
_TOLD = 500  # characters at the end of what one printed

_WITHOUT_WORK = frozenset(
    ("compacted", "inter_agent_communication", "token_usage_record", "turn_context", "world_state")
)
_ITEMS_WITHOUT_WORK = frozenset(("reasoning", "ghost_snapshot", "compaction", "web_search_call"))
_CALLS = frozenset(("function_call", "custom_tool_call", "local_shell_call"))
_OUTPUTS = frozenset(("function_call_output", "custom_tool_call_output"))
_ADDED = re.compile(
    r"\s*(?:<(?:environment_context|user_instructions|turn_aborted|skill|INSTRUCTIONS|subagent_notification|"
    r"user_shell_command|permissions)\b|# AGENTS\.md instructions)"
)
# What an editor knows stands before what was typed.
_REQUEST = re.compile(r"^## My request for Codex:[ \t]*\n?", re.MULTILINE)


def folder(environment: Mapping[str, str]) -> Path:
    """Where the client keeps its transcripts. Raises ``PlaceError`` where nobody knows the user's folder."""
    configured = environment.get("CODEX_HOME")
    return Path(configured or f"{user_folder()}/.codex")


# ---- the records


def call_in(file: Path, identity: str) -> Call | None:
    """The call with this id, as far as the end of a file that is still being written tells of it."""
    wanted = identity.encode()
    reader = _Reader(Notes(), "")
    for text in _tail(file).split(b"\n"):
        if wanted and wanted in text:
            with suppress(ValueError, RecursionError):
                reader.take(json.loads(text))
    return reader.open.get(identity)


def _tail(file: Path) -> bytes:
    try:
        descriptor = os.open(file, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0))
    except (OSError, ValueError):
        return b""
    with os.fdopen(descriptor, "rb") as opened:
        try:
            found = os.fstat(descriptor)
            if not stat.S_ISREG(found.st_mode):
                return b""
            opened.seek(max(0, found.st_size - _TAIL))
            return opened.read(_TAIL)
        except OSError:
            return b""


def typed(text: str) -> str:
    """What a hook is told as a prompt; "" where nothing of it is the user's."""
    request = _REQUEST.search(text)
    text = text[request.end() :] if request else text
    return "" if _ADDED.match(text) or is_framed(text) else text.strip()


def read(source: Source, notes: Notes, seen: set[int]) -> Session:
    """One session. ``seen`` holds the calls of earlier ones: forks of some versions begin with a copy of the first."""
    first = source.files[0]
    head = head_of(first)
    session = Session(CLIENT, head.session, head.version)
    if source.main is not None:
        session.events = _own(_Reader(notes, head.cwd).read(source.main), head, seen)
    for file in source.subagents:
        below = head_of(file)
        calls = [event for event in _Reader(notes, below.cwd).read(file) if isinstance(event, Call)]
        attach(session.events, calls, below.id)
    return session


def _own(events: list[Event], head: Head, seen: set[int]) -> list[Event]:
    """The events that are not a copy. Ids of calls are unique in a thread only, since some models count them."""
    calls = [(place, event) for place, event in enumerate(events) if isinstance(event, Call)]
    known = [place for place, call in calls if head.copied_from and hash((head.copied_from, call.id)) in seen]
    seen.update(hash((head.id, call.id)) for _, call in calls)
    return events[known[-1] + 1 :] if known else events


@dataclass(slots=True)
class _Reader:
    """Reads one file."""

    notes: Notes
    cwd: str
    events: list[Event] = field(default_factory=list)
    open: dict[str, Call] = field(default_factory=dict)
    typed: list[Prompt] = field(default_factory=list)
    running: dict[str, Call] = field(default_factory=dict)
    no_steps: set[str] = field(default_factory=set)
    scripts: dict[str, str] = field(default_factory=dict)
    words: str = ""

    def read(self, file: Path) -> list[Event]:
        """The file's events. Prompts are those that an event confirms; of a file without such, what looks like one."""
        for line, record in records(file, self.notes):
            self._record(line, record)
        self.events = [event for event in self.events if self._counts(event)]
        return self.events

    def _counts(self, event: Event) -> bool:
        if isinstance(event, Prompt):
            return not self.typed or event.amid or event in self.typed
        return isinstance(event, Said) or event.id not in self.no_steps

    def take(self, record: Any) -> None:
        """One record by itself."""
        if isinstance(record, dict):
            self._record(0, record)

    def _record(self, line: int, record: Mapping[str, Any]) -> None:
        kind, at = as_text(record.get("type")), moment(record.get("timestamp"))
        payload = as_map(record.get("payload"))
        if kind == "event_msg":
            self._event(payload, at, line)
        elif kind == "response_item":
            self._item(payload, at, line)
        elif kind == "turn_context":
            self.cwd = as_text(payload.get("cwd")) or self.cwd
        elif not payload and "payload" not in record and kind:
            self._item(record, at, line)  # a record without an envelope, as the first versions wrote it
        elif kind != "session_meta" and kind not in _WITHOUT_WORK and not self._is_old_head(record):
            self.notes.unknown[kind[:80] or "(none)"] += 1

    @staticmethod
    def _is_old_head(record: Mapping[str, Any]) -> bool:
        return "type" not in record and ("id" in record or "record_type" in record)

    # ---- what the model was sent and sent back

    def _item(self, item: Mapping[str, Any], at: str | None, line: int) -> None:
        kind = as_text(item.get("type"))
        if kind == "message":
            self._message(item, at, line)
        elif kind in _CALLS:
            self._call(item, at)
        elif kind in _OUTPUTS:
            self._output(item, at)
        elif kind not in _ITEMS_WITHOUT_WORK:
            self.notes.unknown[f"response_item/{kind[:80] or '(none)'}"] += 1

    def _message(self, item: Mapping[str, Any], at: str | None, line: int) -> None:
        text = joined(item.get("content"))
        role = item.get("role")
        if role == "assistant" and text:
            self.words = text
            self.events.append(Said(text, at))
        elif role == "user" and (text := typed(text)):
            self.events.append(Prompt(f"line-{line}", text, at, self.cwd))
            self.words = ""

    def _call(self, item: Mapping[str, Any], at: str | None) -> None:
        identity = as_text(item.get("call_id")) or as_text(item.get("id"))
        if not identity or identity in self.open:
            return
        tool, args = _tool(item), _args(item)
        if tool == "exec":
            self.scripts[identity] = as_text(args.get("input"))
            tool, args = call_of(self.scripts[identity]) or (tool, args)
        call = Call(identity, tool, args, at, cwd=self.cwd, context=self.words)
        self.words = ""
        self.open[identity] = call
        self.events.append(call)

    def _output(self, item: Mapping[str, Any], at: str | None) -> None:
        call = self.open.get(as_text(item.get("call_id")))
        if call is None or call.observation is not None:
            return
        result = result_in(item.get("output"))
        if call.exit_code is None:
            call.exit_code = result.exit_code
        if call.duration_ms is None and not result.runs_as:
            call.duration_ms = result.duration_ms
        call.observation, call.ended = result.text, at
        take_details(call, result.details)
        if result.refused:
            call.is_error = True
        if call.tool == "request_user_input" and (note := notes_in(result.text)):
            self.events.append(Prompt(f"answer-{call.id}", note, at, self.cwd, amid=True))
        self._go_on(call, result)

    def _go_on(self, call: Call, result: Result) -> None:
        """What outlasts its call is told by later ones that only wait for it, which are no steps of their own."""
        name = _addressed(call)
        first = self.running.pop(name, None) or self._told_of(name)
        if first is not None and not call.args.get("chars"):
            if first.goes_on or first.id in self.scripts:
                first.observation = "\n".join(filter(None, (first.observation, result.text)))
            first.ended, first.exit_code = call.ended, call.exit_code if first.exit_code is None else first.exit_code
            first.is_error = first.is_error or call.is_error
            self.no_steps.add(call.id)
        going = first or call
        going.goes_on = bool(result.runs_as)
        if going.goes_on:
            self.running[result.runs_as] = going

    def _told_of(self, name: str) -> Call | None:
        """The script that told of a session in words of its own, which is how the model can know of it."""
        kind, _, number = name.partition(" ")
        if kind != "session" or not number.isdecimal():
            return None
        told = re.compile(rf"(?<!\d){number}(?!\d)")
        return next((call for call in self._late_scripts() if told.search((call.observation or "")[-_TOLD:])), None)

    def _late_scripts(self) -> list[Call]:
        """The newest first."""
        return [self.open[identity] for identity in islice(reversed(self.scripts), _LATELY)]

    # ---- what the client told its own interface

    def _event(self, event: Mapping[str, Any], at: str | None, line: int) -> None:
        kind = as_text(event.get("type"))
        if kind == "item_completed":
            self._completed(as_map(event.get("item")), at, line, as_text(event.get("turn_id")))
        elif kind == "user_message" and as_text(event.get("kind")) in ("", "plain"):
            self._typed(as_text(event.get("message")), "", at, line)
        elif kind.endswith("_end"):
            self._ended(as_text(event.get("call_id")), event)

    def _completed(self, item: Mapping[str, Any], at: str | None, line: int, turn: str) -> None:
        if item.get("type") == "UserMessage":
            # Hooks are told the turn; a second prompt in it has only an id of its own.
            known = any(prompt.id == turn for prompt in self.typed)
            identity = as_text(item.get("id")) if known or not turn else turn
            self._typed(joined(item.get("content")), identity, at, line)
        elif not self._ran_in_script(item, at):
            self._ended(as_text(item.get("id")), item)

    def _ran_in_script(self, item: Mapping[str, Any], at: str | None) -> bool:
        """Newer versions tell of each command that a script ran; then these are the steps, and not the script."""
        identity, scripts = as_text(item.get("id")), self._late_scripts()
        if item.get("type") != "CommandExecution" or not identity.startswith("exec-") or not scripts:
            return False
        told = Call(identity, "exec_command", {"command": item.get("command")}, None)
        command = command_of(told)
        script = next((script for script in scripts if script.args.get("cmd") == command), scripts[0])
        call = Call(identity, told.tool, {"cmd": command}, script.at, cwd=self.cwd, context=script.context)
        call.observation, call.ended = as_text(item.get("aggregated_output")), at
        take_details(call, item)
        self.open[identity] = call
        self.events.append(call)
        if only_runs_commands(self.scripts[script.id]):
            self.no_steps.add(script.id)
        return True

    def _typed(self, text: str, identity: str, at: str | None, line: int) -> None:
        """The prompt that came just before with the same words is a user's; where there is none, it is one itself."""
        text = typed(text)
        said = [event for event in self.events[-3:] if isinstance(event, Prompt) and event.text == text]
        prompt = said[-1] if said else Prompt(f"line-{line}", text, at, self.cwd)
        if not prompt.text or prompt in self.typed:
            return
        prompt.id = identity or prompt.id
        self.typed.append(prompt)
        if not said:
            self.events.append(prompt)

    def _ended(self, identity: str, told: Mapping[str, Any]) -> None:
        call = self.open.get(identity)
        if call is None:
            return
        take_details(call, told)
        if call.goes_on and (output := as_text(told.get("aggregated_output"))):
            call.observation, call.goes_on = output, False
        threads = as_list(told.get("receiver_thread_ids"))
        if threads:
            call.children = tuple(thread for thread in threads if isinstance(thread, str))


def _tool(item: Mapping[str, Any]) -> str:
    name, space = as_text(item.get("name")), as_text(item.get("namespace"))
    if item.get("type") == "local_shell_call":
        return "local_shell"
    return f"{space}__{name}" if space.startswith("mcp__") else name or "(unnamed)"


def _addressed(call: Call) -> str:
    """What a call turns to that goes on, as ``Result.runs_as`` names it."""
    session, cell = call.args.get("session_id"), call.args.get("cell_id")
    return f"session {session}" if session is not None else f"cell {cell}" if cell is not None else ""


def _args(item: Mapping[str, Any]) -> dict[str, Any]:
    if item.get("type") == "local_shell_call":
        return dict(as_map(item.get("action")))
    told = item.get("arguments", item.get("input"))
    if isinstance(told, str):
        try:
            value = json.loads(told)
        except (ValueError, RecursionError):
            value = told
        told = value if isinstance(value, dict) else told
    return told if isinstance(told, dict) else {} if told is None else {"input": told}
