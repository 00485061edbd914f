"""What was called when it worked: ``after `npm ci` with `make ci` instead of `make all```.

What was called is told by the step's action, which tools' calls begin with the tool's name; a summary has it as well.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from msgspec.structs import replace

from prowess.learning.outcomes import reads
from prowess.learning.remembered import remembered
from prowess.learning.synthesis.calls import is_lookup, key_of
from prowess.learning.synthesis.clients import CHANGING
from prowess.learning.synthesis.commands import (
    COMMAND_ARGUMENTS,
    LONGEST_LINE,
    carried_out,
    in_one_line,
    places,
    programs_in,
    project_program,
    quotes_in,
    runs_task,
    unquoted,
)
from prowess.learning.templates import says_little
from prowess.learning.text import cut_at_word
from prowess.storage.models import Step

__all__ = [
    "changes_files",
    "done_before",
    "done_within",
    "goes_back",
    "instead",
    "is_absence",
    "is_again",
    "is_forced",
    "is_of_moment",
    "looks",
    "merely_edited",
    "named",
    "only_files",
    "other_test_run",
    "says_too_little",
]

LONGEST = 90  # characters of a call
LONGEST_BEFORE = 110  # of one that was made before it worked
SHARED = 24  # characters of a beginning that both calls have, from which it is left out
KEPT = 16  # of which so many are shown

_JOINTS = re.compile(r"\s*(?:&&|\|\||;|\n)\s*")
_TRIMS = re.compile(r"(?:\s+2>&1)?(?:\s*\|\s*(?:tail(?![^|]{0,40}\+\d)|head)\b[^|]{0,40})?\s*\Z")
_BACK = re.compile(r"cd(?:\s+(?:-|\.\.(?:/\.\.)*/?))?")
_INTO = re.compile(r"cd (?![-/~.\"'$])[^\s;&|]+")
_ABSENT = re.compile(
    r"\b(?:not found|no module|no such|(?:is|are) missing|missing|cannot find|can't find|could not find|does not exist"
    r"|not installed|unable to open|cannot open)\b",
    re.IGNORECASE,
)
_OF_MOMENT = re.compile(
    r"\b(?:EADDRINUSE|address (?:is )?already in use|port \S{1,20} is (?:already )?(?:in use|taken|allocated)"
    r"|could not get lock|index\.lock\b|unable to create \S+: file exists"
    r"|another (?:(?:git )?process|operation|instance)\b|database is locked"
    r"|acquiring the (?:\w+ )?lock|(?:state|file|resource) (?:is )?(?:already )?locked\b)",
    re.IGNORECASE,
)
# To wait, and to break a lock whoever holds it.
_FORCE = re.compile(
    r"(?:sleep [\d.]+\w?|.*\bforce-unlock\b.*|(?:sudo )?(?:rm|unlink) (?:-\w+ )*\S*(?:lock|\.pid)\S*)(?: \|\| true)?"
)
_FILTERED = re.compile(
    r"(?:\s+2>&1)?(?:\s*\|\s*(?:grep|egrep|rg|tail|head|wc|sort|uniq|jq|cut|awk|sed -n|tee|column|cat|less)\b[^|]*)+\Z"
)
_MOVE = re.compile(r"cd(?:\s+\S+)?")
_ASSIGNED = re.compile(r"\w+=")
_INTERPRETER = re.compile(r"python[\d.]*|node|ruby|perl|php|(?:ba|z)?sh")
_PLAIN = re.compile(r"[A-Za-z][\w:-]*")
_PATH = re.compile(r"[^\s*?]*[/\\]([^\s/\\*?]+)")
_BESIDE = frozenset("cd echo env export command nohup set sleep source sudo time true".split())  # noqa: SIM905
_EDITORS = frozenset(("git apply", "patch", "sed", "tee"))
_FILE_TOOLS = CHANGING | {"glob", "grep", "ls", "read", "read_file"}
_TESTS = re.compile(r"(?<![\w/.-])(?:pytest|tests?|unittest|jest|vitest|mocha|ctest|tox|nox|rspec|phpunit)(?![\w/.=-])")


def instead(broke: Step, worked: Step) -> str:
    """What was called otherwise when it worked; "" where that is not told, or nothing was."""
    old, new = _call(broke), _call(worked)
    if not (old and new):
        return ""
    if _line(broke) and _line(worked):
        if _led(broke, worked):
            return ""
        before, after = _commands_apart(old, new)
        if _merely_elsewhere(before, after):
            return ""
        old, new = " && ".join(before), " && ".join(after)
    if old == new:
        return ""
    if len(old) > SHARED and new.endswith(f" && {old}"):
        return f" with `{_short(new[: -len(old) - 1])}` before it"
    old, new = (_short(call) for call in _apart(old, new))
    return f" with `{new}` instead of `{old}`"


def _merely_elsewhere(before: Sequence[str], after: Sequence[str]) -> bool:
    """Whether the same was called, but for folders that the one that failed went to first."""
    at = next((place for place, part in enumerate(before) if not _MOVE.fullmatch(part)), 0)
    return at > 0 and before[at:] == after


def done_within(broke: Step, worked: Step) -> Step | None:
    """What a line runs before the very commands of another, as a step of its own: ``make migrate`` of
    ``make migrate && make test`` beside ``make test``. None where it differs in more, or only shows something.
    """
    told = " && ".join(part for part in _led(broke, worked) if not reads(command=part))
    if not told:
        return None
    return replace(worked, action=f"{worked.tool}: {told}", args={COMMAND_ARGUMENTS[0]: told}, outcome="success")


def _led(broke: Step, worked: Step) -> list[str]:
    """The commands before those of another line; none where they only make the surroundings, but for a folder that is
    gone into."""
    led = _before_all(broke, worked)
    return led if any(not places(part) or _INTO.fullmatch(part) for part in led) else []


def _before_all(broke: Step, worked: Step) -> list[str]:
    old, new = _line(broke), _line(worked)
    if not (old and new):
        return []
    before, after = _commands_apart(old, new)
    return after[: -len(before)] if after[-len(before) :] == before else []


def goes_back(broke: Step, worked: Step, between: Sequence[Step]) -> bool:
    """Whether all that helped was to leave a folder: from where to where is no other session's concern."""
    moves = _before_all(broke, worked)
    again = bool(moves) or _call(broke) == _call(worked)
    moves += [part for step in between for part in _parts(_line(step))]
    return again and bool(moves) and all(_BACK.fullmatch(move) for move in moves)


def is_absence(error: str) -> bool:
    """Whether it says that something is not there: once another error comes, that one is got over."""
    return _ABSENT.search(error) is not None


def is_of_moment(error: str) -> bool:
    """Whether it says what another process kept at that time: to have gone around it is no way for ever."""
    return _OF_MOMENT.search(error) is not None


def is_forced(steps: Sequence[Step]) -> bool:
    """Whether all that was done is to wait, or to break a lock by force."""
    parts = [part for step in steps for part in _parts(_line(step)) if not looks(step) and not places(part)]
    return bool(parts) and all(_FORCE.fullmatch(part) for part in parts)


def is_again(broke: Step, later: Step, *, same: bool) -> bool:
    """Whether a call is another try at one that failed, where it does the ``same`` by its name.

    Of a command line it is not told which part failed: one that runs all of it is another try; one that gives a
    program another order (``./dev test``, ``./dev check``) or an interpreter another script is none. Nor is a call for
    a file of another name.
    """
    old, new = _line(broke), _line(later)
    if not (old and new):
        return same and _file(broke) == _file(later)
    if _is_within(old, new):
        return True
    if not same and not (_programs_in(old) and _programs_in(old) <= _programs_in(new)):
        return False
    return _orders_in(old) <= _orders_in(new)


def _is_within(old: str, new: str) -> bool:
    """Whether a line is run by another: ``docker compose exec app flask routes`` runs ``flask routes``."""
    return old != new and len(old.split()) > 1 and new.endswith(f" {old}") and len(_parts(new)) == 1


def merely_edited(broke: Step, fix: Sequence[str]) -> bool:
    """Whether a command line worked once files were changed, as most do: whatever it was told then teaches nothing."""
    return bool(_line(broke)) and only_files(fix) and any(map(changes_files, fix))


def changes_files(verb: str) -> bool:
    """Whether it is a client's own tool that changes files, or a command line that does nothing else."""
    programs = verb.partition(":")[2]
    return verb.lower() in CHANGING or (bool(programs) and _EDITORS.issuperset(programs.split("|")))


def only_files(fix: Sequence[str]) -> bool:
    """Whether all that was done is to look at things and to change files."""
    files = [verb.lower() in _FILE_TOOLS or changes_files(verb) for verb in fix]
    return any(files) and all(known or is_lookup(verb) for known, verb in zip(files, fix, strict=True))


def says_too_little(broke: Step, error: str, fix: Sequence[str]) -> bool:
    """Whether an error that does not say what failed was got over by several commands: any of them may have helped."""
    return bool(_line(broke)) and says_little(error) and sum(not is_lookup(verb) for verb in fix) > 1


def looks(step: Step) -> bool:
    """Whether a step only shows what was there before."""
    line = _line(step)
    return reads(step.tool or "", line)


def other_test_run(broke: Step, later: Step) -> bool:
    """Whether both are command lines that run tests, by different programs."""
    old, new = _line(broke), _line(later)
    return _runs_tests(old) and _runs_tests(new) and _programs_in(old).isdisjoint(_programs_in(new))


def done_before(steps: Sequence[Step], verbs: Sequence[str], *, otherwise: bool = False) -> str:
    """What was done before it worked, as it was called; what only shows something is left out where more was done, or
    it was called ``otherwise``."""
    looked = not otherwise and all(map(looks, steps))
    told = [_done(step, verb) for step, verb in zip(steps, verbs, strict=True) if looked or not looks(step)]
    return " → ".join(dict.fromkeys(told))


def named(step: Step, verb: str) -> str:
    """What a step is called in words: of a line that runs several commands all, since it is not told which failed."""
    line = _line(step)
    programs = _run_by(line).split("|")
    if len(programs) < 2 or "|" in unquoted(line).replace("||", ""):
        return verb
    return f"{verb} && {' && '.join(programs[1:])}"


def _done(step: Step, verb: str) -> str:
    if line := _line(step):
        parts = _parts(line)
        placed = next((at for at, part in enumerate(parts) if not places(part)), 0)
        return f"`{cut_at_word(' && '.join(parts[placed:]), LONGEST_BEFORE)}`"
    found = _PATH.fullmatch(_call(step)) if only_files([verb]) else None
    return f"{verb} `{found[1]}`" if found else verb


def _call(step: Step) -> str:
    """What was called, in a line, of a long one the beginning; "" where the action is in the agent's own words."""
    start = f"{step.tool}: "
    told = in_one_line(step.action[: len(start) + LONGEST_LINE])
    return " ".join(told.removeprefix(start).split()) if told.startswith(start) else ""


def _line(step: Step) -> str:
    return _call(step) if step.args and not step.args.keys().isdisjoint(COMMAND_ARGUMENTS) else ""


@remembered(20_000)
def _runs_tests(line: str) -> bool:
    return _TESTS.search(unquoted(line)) is not None or any(map(_is_of_tests, programs_in(line)))


def _is_of_tests(program: str) -> bool:
    """Whether it is a task of the project's own for some of its tests: ``make test-dags``."""
    return not {"test", "tests"}.isdisjoint(re.split(r"[^a-z]+", runs_task(program)))


@remembered(20_000)
def _programs_in(line: str) -> frozenset[str]:
    return frozenset(_run_by(line).split("|")) - {""}


def _run_by(line: str) -> str:
    """The programs of a line as a key has them: ``cp|make test``."""
    return key_of("", {COMMAND_ARGUMENTS[0]: line}).removeprefix(":") if line else ""


def _file(step: Step) -> str:
    """The name of the file that a call is for; "" where it is for none, or not told."""
    found = _PATH.fullmatch(_call(step))
    return found[1] if found else ""


@remembered(20_000)
def _orders_in(line: str) -> frozenset[tuple[str, str]]:
    """Each program of a command line with the word that says what it is to do, or the script that it runs."""
    parts = [unquoted(part).partition("|")[0].split() for part in _parts(line)]
    return frozenset(order for words in parts if (order := _order(words)))


def _order(words: Sequence[str]) -> tuple[str, str] | None:
    rest = [word for word in words if word not in _BESIDE and not _ASSIGNED.match(word)]
    if not rest or words[0] in ("cd", "echo", "export", "source"):
        return None
    rest = carried_out(rest) or rest
    name = rest[0].rsplit("/", 1)[-1]
    first = next((word for word in rest[1:] if not word.startswith("-")), "")
    return name, first if _INTERPRETER.fullmatch(name) or _PLAIN.fullmatch(first) else ""


def _commands_apart(old: str, new: str) -> tuple[list[str], list[str]]:
    """Without the parts that both lines begin with, and without those after the last that runs what failed."""
    before, after = _parts(old), _parts(new)
    wanted = _programs_in(old)
    last = max((place for place, part in enumerate(after) if _run_by(part) in wanted), default=len(after) - 1)
    after = after[: last + 1]
    while len(before) > 1 and len(after) > 1 and before[0] == after[0]:
        before, after = before[1:], after[1:]
    return before, after


def _parts(line: str) -> list[str]:
    """The commands of a line, each without what trims its output."""
    blank = line
    for begin, end in quotes_in(line):
        blank = f"{blank[:begin]}{'x' * (end - begin)}{blank[end:]}"
    ends = [0, *(end for joint in _JOINTS.finditer(blank) for end in joint.span()), len(line)]
    parts = [_TRIMS.sub("", line[start:end]) for start, end in zip(ends[::2], ends[1::2], strict=True)]
    return [_unfiltered(part) for part in parts if part] or [line]


def _unfiltered(part: str) -> str:
    """A command of a project's tool without what chooses among the lines that it prints."""
    found = _FILTERED.search(part) if "|" in part else None
    return part[: found.start()] if found and project_program(next(iter(programs_in(part)), "")) else part


def _apart(old: str, new: str) -> tuple[str, str]:
    """Both without a long beginning that they share, from a word's or a folder's start on."""
    shared = next((place for place, (one, other) in enumerate(zip(old, new, strict=False)) if one != other), 0)
    if shared < SHARED or max(len(old), len(new)) <= LONGEST:
        return old, new
    cut = max(old.rfind(mark, 0, shared - KEPT) for mark in " /") + 1
    return (f"…{old[cut:]}", f"…{new[cut:]}") if cut else (old, new)


def _short(call: str) -> str:
    return call if len(call) <= LONGEST else f"{call[: LONGEST - 1]}…"
