"""Anti-unification: one template out of the same move made in several episodes (Plotkin 1970, least general form).

A *column* is one argument's values over the supporting episodes. A column that agrees stays a constant; one that
varies becomes a placeholder, and columns that vary together are the same placeholder.
"""

from __future__ import annotations

import re
from collections.abc import Container, Sequence
from functools import cached_property
from itertools import count
from typing import Any, Literal

import msgspec

from prowess.learning.synthesis.calls import Call, calls_of
from prowess.learning.synthesis.commands import COMMAND_ARGUMENTS, places, project_program
from prowess.learning.synthesis.pieces import piece_name, statement_name
from prowess.learning.synthesis.templates import canonical, escape
from prowess.learning.synthesis.usage import MASK
from prowess.learning.synthesis.variety import Variety
from prowess.storage.models import Parameter, Trajectory

__all__ = ["MAX_EXAMPLES", "MAX_EXAMPLE_CHARS", "Support", "Unifier", "free_name", "identifier", "json_type"]

MAX_EXAMPLES = 3
MAX_EXAMPLE_CHARS = 200
MAX_CONSTANT = 2_000  # bytes; a whole file that was written twice is no part of how to do it
LOOKED_AT = 50_000  # characters of a task or an observation in which a value is looked for
LONGEST_STATEMENT = 500  # characters of SQL; a longer one is told as a whole
FEW_TASKS = 3  # tasks of one customer or file come in pairs; an identifier shared by three is part of the procedure

_MISSING: Any = msgspec.UNSET
_IDENTIFIER = re.compile(r"\d{3}|[@#/]|\d[A-Za-z]|[A-Za-z_-]\d")
_OWN_WORD = re.compile(r"(?![-'\"\d]*>)(?!-)[^'\"|;&()<>]*(?:/\w|\d{3}|@)[^'\"|;&()<>]*")
_WORDS = re.compile(r"\"[^\"]*\"|'[^']*'|\s+|[^\s\"']+")
_SQL = re.compile(r"[\w.]+|\s+|[^\w\s]")
_SHELL = re.compile(r"\\.|\"(?:\\.|[^\"\\])*\"|'[^']*'|\s*(?:\|\|?|&&|;)\s*|\s+|[^\s\"'|&;\\]+|.", re.DOTALL)
_MAIN = re.compile(r"(?:origin|upstream)/(?:HEAD|develop|main|master|trunk)")
_SAYING = re.compile(r"\s+(?:-|\S*\w{2})")
_JOINT = re.compile(r"\s*(?:\|\|?|&&|;)\s*")
_TYPES = {
    str: "string", bool: "boolean", int: "integer", float: "number", list: "array", tuple: "array", dict: "object",
}  # fmt: skip

Source = Literal["task", "observation", "unknown"]


class Support(msgspec.Struct, frozen=True):
    """One episode behind a skill: the trajectory and the call made at each step of the skill."""

    trajectory: Trajectory
    calls: tuple[Call, ...]


class Unifier:
    """Turns the calls of ``supports`` into argument templates; ``parameters`` are known once all steps are done."""

    def __init__(self, supports: Sequence[Support], variety: Variety) -> None:
        self._supports = supports
        self._variety = variety
        self._tasks = len({support.trajectory.episode.task_id for support in supports})
        self._names: dict[tuple[bytes, ...], str] = {}
        self._found: dict[str, tuple[list[Any], int]] = {}

    def step(self, index: int) -> dict[str, Any]:
        """The argument template of step ``index`` of the skill."""
        rows = [support.calls[index].args for support in self._supports]
        keys = list(dict.fromkeys(key for row in rows for key in row))
        return {key: self._column(key, [row.get(key, _MISSING) for row in rows], index) for key in keys}

    def parameters(self) -> tuple[Parameter, ...]:
        """Every placeholder that was made, in order of first appearance."""
        return tuple(self._parameter(name, column, index) for name, (column, index) in self._found.items())

    def _column(self, name: str, column: list[Any], index: int) -> Any:
        if any(value is _MISSING for value in column):
            return self._placeholder(name, column, index)
        if len({canonical(value) for value in column}) == 1:
            return self._agreed(name, column, index)
        if all(isinstance(value, dict) for value in column) and len({tuple(sorted(value)) for value in column}) == 1:
            return {key: self._column(key, [value[key] for value in column], index) for key in column[0]}
        if all(isinstance(value, str) for value in column):
            return self._text(name, column, index)
        return self._placeholder(name, column, index)

    def _agreed(self, name: str, column: list[Any], index: int) -> Any:
        """A value that all share: kept, unless it merely is the data of the few tasks they are about."""
        value = column[0]
        if isinstance(value, dict) and value:
            return {key: self._column(key, [row[key] for row in column], index) for key in value}
        if isinstance(value, str) and _hides(value):
            return self._masked(name, column, index)
        own = name not in COMMAND_ARGUMENTS and (self._personal(name, value, index) or self._own(name, value, index))
        if own or len(canonical(value)) > MAX_CONSTANT:
            return self._placeholder(name, column, index)
        if name in COMMAND_ARGUMENTS and isinstance(value, str) and self._tasks < self._least_tasks(index):
            return self._command(name, column, index)
        return escape(value)

    def _masked(self, name: str, column: list[Any], index: int) -> str:
        """A value that a secret was taken out of: nobody can call with what is left."""
        words = _WORDS.findall(column[0])
        if len(words) < 3:
            return self._placeholder(name, column, index)
        return self._by_word(name, [(word,) * len(column) for word in words], [_hides(word) for word in words], index)

    def _least_tasks(self, index: int) -> int:
        """How many tasks must share a command line for its paths and numbers to be no task's own: a project's tools
        are told of its branches and pull requests, which several tasks are about."""
        programs = self._supports[0].calls[index].key.partition(":")[2].split("|")
        return FEW_TASKS if all(map(project_program, programs)) else 2

    def _personal(self, name: str, value: Any, index: int) -> bool:
        """Whether it tells one customer or file from others, or all the few tasks say it and not most others do so."""
        if self._is_identifier(value):
            return True
        said = any(self._is_said(part) for part in (value if isinstance(value, list | tuple) else [value]))
        return said and not self._variety.usual(self._supports[0].calls[index].key, name, value)

    def _is_identifier(self, value: Any) -> bool:
        if isinstance(value, list | tuple):
            return any(map(self._is_identifier, value))
        return not _says_nothing(value) and self._tasks < FEW_TASKS and _IDENTIFIER.search(str(value)) is not None

    def _is_said(self, value: Any) -> bool:
        if isinstance(value, list | tuple):
            return any(map(self._is_said, value))
        if _says_nothing(value) or self._tasks >= FEW_TASKS:
            return False
        return all(_mentions(support.trajectory.episode.task, value) for support in self._supports)

    def _own(self, name: str, value: Any, index: int) -> bool:
        """Whether others have what may be any value here, and so few tasks agree that it may be by chance."""
        return not _says_nothing(value) and self._variety.own(self._supports[0].calls[index].key, name, self._tasks)

    def _text(self, name: str, column: list[str], index: int) -> str:
        """Word by word where the texts have the same shape and share at least half their words, else as a whole; of
        command lines at least the programs are kept."""
        whole = self._pipeline if name in COMMAND_ARGUMENTS else self._placeholder
        rows = [_WORDS.findall(value[:2_000]) for value in column]
        if max(map(len, column)) > 2_000 or len({len(row) for row in rows}) != 1 or len(rows[0]) < 3:
            return whole(name, column, index)
        words = list(zip(*rows, strict=True))
        solid = [len(set(word)) == 1 for word in words if not word[0].isspace()]
        spaces = all(len(set(word)) == 1 for word in words if any(part.isspace() for part in word))
        if not spaces or sum(solid) * 2 < len(solid):
            return whole(name, column, index)
        vary = [len(set(word)) > 1 or _hides(word[0]) for word in words]
        if name in COMMAND_ARGUMENTS and self._tasks < self._least_tasks(index):
            vary = [one or own for one, own in zip(vary, self._tasks_own([word[0] for word in words]), strict=True)]
        return self._by_word(name, words, vary, index)

    def _pipeline(self, name: str, column: list[str], index: int) -> str:
        """Command lines with the same joints: what each part begins with alike, and the rest of it as a placeholder."""
        lines = [_parts(value[:2_000]) for value in column]
        starts = [self._start(part) for part in zip(*(parts for parts, _ in lines), strict=False)]
        if len({joints for _, joints in lines}) != 1 or not all(starts) or max(map(len, column)) > 2_000:
            return self._placeholder(name, column, index)
        template = ""
        for at, (start, joint) in enumerate(zip(starts, (*lines[0][1], ""), strict=True)):
            rests = [parts[at][len(start) :] for parts, _ in lines]
            end = self._end(rests)
            middles = [rest[: len(rest) - len(end)] for rest in rests]
            label = piece_name(start, middles) or self._known_as(name, middles)
            template += escape(start) + (self._placeholder(label, middles, index) if any(rests) else "")
            template += escape(end) + joint
        return template

    def _known_as(self, name: str, column: Sequence[Any]) -> str:
        """What other calls of the episodes name the values of a piece of ``name``; else that it is a piece."""
        names = [known.get(canonical(value), ()) for known, value in zip(self._given, column, strict=True)]
        return next((one for one in names[0] if one != name and all(one in others for others in names)), f"{name}_part")

    @cached_property
    def _given(self) -> list[dict[bytes, list[str]]]:
        """For each support the names of the arguments that had a value, of all its calls, in order."""
        found = []
        for support in self._supports:
            named: dict[bytes, list[str]] = {}
            for call in calls_of(support.trajectory):
                for name, value in call.args.items():
                    if name not in COMMAND_ARGUMENTS and isinstance(value, str) and len(value) > 1:
                        named.setdefault(canonical(value), []).append(name)
            found.append(named)
        return found

    def _start(self, parts: Sequence[str]) -> str:
        """The words that the parts begin with alike; "" where that is none or leaves nothing of only some of them."""
        start = ""
        for words in zip(*(_SHELL.findall(part) for part in parts), strict=False):
            if len(set(words)) > 1 or (self._tasks < 2 and _OWN_WORD.fullmatch(words[0])):
                break
            start += words[0]
        ended = [part == start for part in parts]
        return start if all(ended) or not any(ended) else ""

    def _end(self, rests: Sequence[str]) -> str:
        """The words that the rests end with alike, from the first one on that says something; at least the bracket
        that none of them opens. Before them each has others."""
        end = ""
        for words in zip(*(_SHELL.findall(rest)[:0:-1] for rest in rests), strict=False):
            if len(set(words)) > 1 or (self._tasks < FEW_TASKS and _OWN_WORD.fullmatch(words[0])):
                break
            end = words[0] + end
        closes = all(len(rest) > 1 and rest.endswith(")") and rest.count(")") > rest.count("(") for rest in rests)
        found = _SAYING.search(end)
        return end[found.start() :] if found else ")" if closes else ""

    def _command(self, name: str, column: list[str], index: int) -> str:
        """A command line that few tasks had: its paths and numbers are theirs, its programs are not, nor, where two
        tasks agree, what makes its surroundings and the folders it is about.
        """
        words = list(zip(*(_WORDS.findall(value) for value in column), strict=True))
        return self._by_word(name, words, self._tasks_own([word[0] for word in words]), index)

    def _tasks_own(self, words: Sequence[str]) -> list[bool]:
        """Which words of a command line that few tasks had are theirs."""
        own = [at > 0 and _OWN_WORD.fullmatch(word) is not None for at, word in enumerate(words)]
        if self._tasks > 1:
            own = [mine and not _is_shared(*of) for mine, of in zip(own, _given(words), strict=True)]
        return own

    def _by_word(self, name: str, words: list[tuple[str, ...]], vary: list[bool], index: int) -> str:
        return "".join(
            self._word(name, words, at, index) if vary[at] else str(escape(word[0])) for at, word in enumerate(words)
        )

    def _word(self, name: str, words: list[tuple[str, ...]], at: int, index: int) -> str:
        column = words[at]
        label = self._label(name, words, at)
        quote = column[0][0] if column[0][0] in "'\"" else ""
        if quote and all(len(part) > 2 and part[0] == part[-1] == quote for part in column):
            inner = [part[1:-1] for part in column]
            told = self._statement(inner, index) if label == "query" else ""
            return quote + (told or self._placeholder(label, inner, index)) + quote
        return self._within_marks(label, column, index)

    def _within_marks(self, label: str, column: Sequence[str], index: int) -> str:
        """A word without the marks that all end with: in *PAY-17: done* the issue is PAY-17."""
        bare = [word.rstrip(":,;!?") for word in column]
        ends = {word[len(rest) :] for word, rest in zip(column, bare, strict=True)}
        if len(ends) > 1 or not all(bare) or ends == {""}:
            return self._placeholder(label, list(column), index)
        known = self._known_as(label.removesuffix("_part"), bare) if label.endswith("_part") else label
        return self._placeholder(known, bare, index) + ends.pop()

    def _statement(self, column: Sequence[str], index: int) -> str:
        """Statements in SQL word by word; "" where they have not the same shape and most of their words."""
        rows = [_SQL.findall(text) for text in column]
        if max(map(len, column)) > LONGEST_STATEMENT or len({len(row) for row in rows}) != 1:
            return ""
        words = list(zip(*rows, strict=True))
        solid = [len(set(word)) == 1 for word in words]
        if sum(solid) * 2 < len(solid) or not solid[0] or any(_hides(text) for text in column):
            return ""
        return "".join(
            str(escape(word[0]))
            if same
            else self._placeholder(statement_name([rest[0] for rest in words[:at]]), list(word), index)
            for at, (word, same) in enumerate(zip(words, solid, strict=True))
        )

    def _label(self, name: str, words: list[tuple[str, ...]], at: int) -> str:
        column = words[at]
        if name in COMMAND_ARGUMENTS:
            return piece_name("".join(word[0] for word in words[:at]), column) or self._known_as(name, column)
        before = words[at - 2][0] if at >= 2 else ""
        hint = before.lstrip("-") if before.startswith("-") and len(set(words[at - 2])) == 1 else ""
        if all("/" in part for part in column):
            return "url" if all("://" in part for part in column) else "path"
        return hint if len(hint) > 2 else self._known_as(name, column)

    def _placeholder(self, name: str, column: list[Any], index: int) -> str:
        base = identifier(name)
        identity = tuple(b"" if value is _MISSING else canonical(value) for value in column)
        if not all(len(value) > 4 and not _hides(value.decode()) for value in identity):
            # Short values agree by chance, and all masks are alike: these share a placeholder only by name.
            identity = (*identity, base.encode())
        known = self._names.get(identity)
        if known is None:
            known = self._names[identity] = free_name(base, self._found)
            self._found[known] = (column, index)
        return "{" + known + "}"

    def _parameter(self, name: str, column: list[Any], index: int) -> Parameter:
        present = [value for value in column if value is not _MISSING]
        return Parameter(
            name=name,
            type=json_type(present),
            required=len(present) == len(column),
            source=self._source(column, index),
            examples=_examples(present),
        )

    def _source(self, column: list[Any], index: int) -> Source:
        pairs = [(s, v) for s, v in zip(self._supports, column, strict=True) if v is not _MISSING]
        if sum(_mentions(s.trajectory.episode.task, value) for s, value in pairs) * 2 >= len(pairs):
            return "task"
        if sum(_observed(s, value, index) for s, value in pairs) * 2 >= len(pairs):
            return "observation"
        return "unknown"


def _given(words: Sequence[str]) -> list[tuple[str, str]]:
    """Each word with the first one of the command that it stands in; of that one "" for itself."""
    found, program = list[tuple[str, str]](), ""
    for word in words:
        found.append((program, word))
        if _JOINT.fullmatch(word):
            program = ""
        elif not program and not word.isspace() and "=" not in word:
            program = word
    return found


def _is_shared(program: str, word: str) -> bool:
    """Whether a path belongs to the project and not to a task: a program, what is sourced, a folder without a number;
    of git and its like a branch may look the same, but for the main one of where it comes from."""
    if not program or places(program) or _MAIN.fullmatch(word):
        return True
    folder = not word.startswith(("/", "~")) and not re.search(r"\d|\.\w+$|[@#=]", word)
    return folder and program.rpartition("/")[2] not in ("git", "gh", "glab")


def _parts(line: str) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The commands of a command line, and what joins them."""
    parts, joints = [""], []
    for token in _SHELL.findall(line):
        if _JOINT.fullmatch(token):
            joints.append(token)
            parts.append("")
        else:
            parts[-1] += token
    return tuple(parts), tuple(joints)


def _hides(text: str) -> bool:
    return "[masked:" in text and MASK.search(text) is not None


def _says_nothing(value: Any) -> bool:
    return isinstance(value, bool) or value is None or value == ""


def _observed(support: Support, value: Any, index: int) -> bool:
    """Whether an earlier step answered it: who had named it to that step knew it already."""
    for step in support.trajectory.steps[: support.calls[index].position]:
        if _mentions(str(canonical(step.args or {}), "utf-8"), value):
            return False
        if step.observation and _mentions(step.observation, value):
            return True
    return False


def _mentions(text: str, value: Any) -> bool:
    if isinstance(value, list | tuple):
        return bool(value) and all(_mentions(text, part) for part in value)
    if isinstance(value, dict | bool) or value is None:
        return False
    needle = str(value).casefold()
    if len(needle) < 2 or len(needle) > 500:
        return False
    folded = text[:LOOKED_AT].casefold()
    # Most texts do not have it at all, which is told many times faster.
    return needle in folded and re.search(rf"(?<!\w){re.escape(needle)}(?!\w)", folded) is not None


def json_type(values: Sequence[Any]) -> str:
    """The JSON Schema type of all values; string where they differ."""
    kinds = {_TYPES.get(type(value), "string") for value in values}
    if kinds == {"integer", "number"}:
        return "number"
    return kinds.pop() if len(kinds) == 1 else "string"


def _examples(values: list[Any]) -> tuple[Any, ...]:
    distinct = {canonical(value): value for value in values}
    short = [value for text, value in sorted(distinct.items()) if len(text) <= MAX_EXAMPLE_CHARS]
    short = [value for value in short if not _hides(canonical(value).decode())]
    telling = [value for value in short if value not in ("", [], {})] or short
    return tuple(telling[:MAX_EXAMPLES])


def free_name(base: str, taken: Container[str]) -> str:
    """``base``, or with the first number from 2 on that is not ``taken``."""
    return base if base not in taken else next(name for at in count(2) if (name := f"{base}_{at}") not in taken)


def identifier(name: str) -> str:
    """``name`` as a placeholder's name."""
    cleaned = re.sub(r"\W+", "_", name, flags=re.ASCII).strip("_")
    return cleaned if cleaned and not cleaned[0].isdigit() else f"value_{cleaned}".rstrip("_")
