"""What the user typed where clients have it in a tool's result: why a call was rejected, an answer of their own."""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Iterator, Mapping
from typing import Any

from prowess.server.transcripts.reading import as_list, as_map, as_text

__all__ = ["notes_in", "typed_in"]

_REJECTED = re.compile(
    r"\s{0,9}(?:Error: )?The user doesn't want to (?:proceed with this tool use|take this action right now)\."
    r"[^\n]{0,400}?\bthe user said:\s{0,9}"
)
_NOTE = "user_note: "
_ADVICE = "\n\nNote: The user's next message may contain"  # the client's to the agent, behind the user's words


def typed_in(text: str, details: Mapping[str, Any]) -> str:
    """The user's own words in a result of Claude Code; "" where there are none. ``details`` is its ``toolUseResult``.

    An answer that was chosen from those offered is the agent's wording.
    """
    if rejected := _REJECTED.match(text):
        return text[rejected.end() :].partition(_ADVICE)[0].strip()
    return "\n".join(_own_answers(details))


def notes_in(text: str) -> str:
    """The same of what Codex' ``request_user_input`` came back with."""
    try:
        told = as_map(as_map(json.loads(text)).get("answers"))
    except (ValueError, RecursionError):
        return ""
    given = (as_text(each) for answer in told.values() for each in as_list(as_map(answer).get("answers")))
    return "\n".join(each.removeprefix(_NOTE).strip() for each in given if each.startswith(_NOTE)).strip()


def _own_answers(details: Mapping[str, Any]) -> Iterator[str]:
    answers, notes = as_map(details.get("answers")), as_map(details.get("annotations"))
    for question in map(as_map, as_list(details.get("questions"))):
        offered = {as_text(as_map(option).get("label")) for option in as_list(question.get("options"))}
        asked = as_text(question.get("question"))
        if answer := _beside(offered, as_text(answers.get(asked)).strip()):
            yield answer
        if note := as_text(as_map(notes.get(asked)).get("notes")).strip():
            yield note


def _beside(offered: Collection[str], answer: str) -> str:
    """What an answer says beside the labels that were offered; of several chosen ones commas stand between."""
    if answer in offered:
        return ""
    longest_first = sorted(filter(None, offered), key=lambda label: (-len(label), label))
    labels = "|".join(map(re.escape, longest_first))
    return re.sub(rf"(?:\A|, )(?:{labels})(?=, |\Z)", "", answer).removeprefix(", ") if labels else answer
