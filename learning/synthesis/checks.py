"""What goes wrong at a step of a skill, and how the episodes behind it got past that: its checks, in words.

An episode that succeeded after all shows both: the call that failed, and what was done before the same call worked.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from prowess.learning.counting import counted
from prowess.learning.outcomes import ran
from prowess.learning.synthesis.calls import is_lookup, is_of_project, key_of, succeeded
from prowess.learning.synthesis.clients import is_change, is_note, is_of_client, is_reading, plain_args
from prowess.learning.synthesis.commands import COMMAND_ARGUMENTS
from prowess.learning.synthesis.grammar import listed
from prowess.learning.synthesis.notes import CHANGE_FILES, in_words
from prowess.learning.synthesis.usage import MASK
from prowess.learning.templates import says_little, telling_line, template
from prowess.learning.text import cut_at_word
from prowess.storage.models import Step, Trajectory

__all__ = ["AGAIN", "Check", "checks"]

LEAST_EPISODES = 2  # of those behind the skill; what one alone ran into is its own
LOOKED_AHEAD = 4  # steps after a failure in which the same call must work
LOOKED_AHEAD_OF_CHECKS = 25  # the same where a project's tool failed: its files are changed before, in many steps
LONGEST_ERROR = 80  # characters of an error in a note
LONGEST_COMMAND = 80  # characters of a command line in a note; of a longer one its programs are told
MOST_CHECKS = 3  # of one step: more would hide what is done there
SHORTEST_VALUE = 3  # characters of an argument that is looked for in an error
AGAIN = f"{CHANGE_FILES} and run it again"

_HOLE = re.compile(r"<\w+>")
_HOLES = re.compile(r"…(?:[\s:,;./'\"]*…)+")


class Check(NamedTuple):
    """What to do where a step fails with one of ``errors`` (none: however it fails; ``otherwise``: beside what other
    checks tell), in words.

    ``first`` are the moves that it asks for, which nobody made there before; ``episodes`` is how many ran into it, and
    ``added`` are words of a command line with which it worked.
    """

    errors: tuple[str, ...]
    how: str
    first: frozenset[str] = frozenset()
    episodes: int = 0
    added: tuple[str, ...] = ()
    otherwise: bool = False

    @property
    def words(self) -> str:
        told = f" with {listed([f'“{error}”' for error in self.errors], 'or')}" if self.errors else ""
        return f"if it fails{' otherwise' if self.otherwise else ''}{told}, {self.how}"


class _Recovery(NamedTuple):
    """A call that failed and soon worked: with what error (its template and its line), what was done ``between`` (of
    that ``again`` what had been done before), with which command lines, which arguments were others then, and of a
    command line the words that it had then only, and no longer."""

    task_id: str
    error: str
    line: str
    between: tuple[str, ...]
    again: frozenset[str]
    commands: Mapping[str, str]
    changed: tuple[str, ...]
    added: tuple[str, ...]
    dropped: tuple[str, ...]


def checks(trajectories: Sequence[Trajectory], keys: Sequence[str]) -> dict[str, list[Check]]:
    """For each of ``keys`` that failed alike in several episodes before it worked: what to look out for, the commonest
    first, at most ``MOST_CHECKS``.

    What fails of a project's own fails differently each time; there it counts that files were changed before it worked.
    Nothing is told of what those ran into who had left out an earlier one of ``keys``.
    """
    seen: dict[tuple[str, str], list[_Recovery]] = defaultdict(list)
    for trajectory in trajectories:
        # An episode counts once, however often it tried.
        found = _recoveries(trajectory.episode.task_id, ran(trajectory.steps), keys)
        for failure, recovery in {(key, recovery.error): recovery for key, recovery in found}.items():
            seen[failure].append(recovery)
    told: dict[str, list[Check]] = defaultdict(list)
    for (key, _), fixes in sorted(seen.items(), key=lambda item: (-len(item[1]), item[0])):
        if len(fixes) >= LEAST_EPISODES:
            earlier = set(keys[: keys.index(key)])
            if (check := _check(fixes, earlier, len(trajectories))) is not None:
                told[key].append(check)
    return {key: _together(found) for key, found in told.items()}


def _together(found: Sequence[Check]) -> list[Check]:
    """Errors with one way out together, and what is done about any other error last."""
    ways: dict[str, Check] = {}
    for check in found:
        held = ways.get(check.how)
        if held is None or not (held.errors and check.errors):
            ways[check.how] = held or check
            continue
        errors = tuple(dict.fromkeys((*held.errors, *check.errors)))
        ways[check.how] = held._replace(
            errors=errors, first=held.first | check.first, episodes=held.episodes + check.episodes
        )
    known = [check for check in ways.values() if check.errors][:MOST_CHECKS]
    rest = [check for check in ways.values() if not check.errors][: 1 if len(known) < MOST_CHECKS else 0]
    return known + [check._replace(otherwise=bool(known)) for check in rest]


def _recoveries(task_id: str, steps: Sequence[Step], keys: Sequence[str]) -> list[tuple[str, _Recovery]]:
    """Each call of ``keys`` that failed and soon worked, but for those of a client's own tools."""
    found = []
    for at, step in enumerate(steps):
        key = _key(step)
        if key not in keys or not step.error or is_of_client(step.tool or "", step.args or {}):
            continue
        project = is_of_project(key)
        between: list[Step] = []
        for later in steps[at + 1 : at + 1 + (LOOKED_AHEAD_OF_CHECKS if project else LOOKED_AHEAD)]:
            if _key(later) == key and succeeded(later):
                before = {_done(one) for one in steps[:at] if one.tool and succeeded(one)}
                found.append((key, _recovery(task_id, step, between, later, before)))
                break
            if later.tool and succeeded(later) and not is_reading(later.tool) and not is_note(later.tool, _args(later)):
                between.append(later)
    return found


def _recovery(task_id: str, failed: Step, between: Sequence[Step], worked: Step, before: set[str]) -> _Recovery:
    project = is_of_project(_key(failed))
    moves = list(dict.fromkeys(map(_done, between)))
    done = [move for move in moves if not (project and is_lookup(move))] or moves
    by_changes = project and CHANGE_FILES in moves
    before_it, then = _line_of(failed).split(), _line_of(worked).split()
    return _Recovery(
        task_id,
        "" if by_changes else _template(failed),
        "" if by_changes else telling_line(failed.error or ""),
        tuple(done),
        frozenset(before.intersection(done)) - {CHANGE_FILES},
        {_done(step): line for step in between if (line := _line(step))},
        _changed(failed, worked),
        tuple(word for word in then if word not in before_it),
        tuple(word for word in before_it if word not in then),
    )


def _template(step: Step) -> str:
    """The template of its error, in which the values that it was called with are abstracted as well."""
    text = step.error or ""
    for value in sorted(_texts(_args(step)), key=lambda value: (-len(value), value)):
        if len(value) >= SHORTEST_VALUE and value in text:
            text = re.sub(rf"(?<![\w-]){re.escape(value)}(?![\w-])", "<str>", text)
    return template(text)


def _texts(value: Any) -> set[str]:
    if isinstance(value, dict):
        return {text for part in value.values() for text in _texts(part)}
    if isinstance(value, list | tuple):
        return {text for part in value for text in _texts(part)}
    return {value} if isinstance(value, str) and value.strip() else set()


def _done(step: Step) -> str:
    """What a step did: its key, or that it changed files."""
    return CHANGE_FILES if is_change(step.tool or "", _args(step)) else _key(step)


def _key(step: Step) -> str:
    return key_of(step.tool, _args(step)) if step.tool else ""


def _args(step: Step) -> dict[str, Any]:
    return step.args or {}


def _line(step: Step) -> str:
    """The command line of a step in plain form; "" where it runs none, a long one, or one with a secret in it."""
    line = _line_of(step) if ":" in _key(step) else ""
    return "" if len(line) > LONGEST_COMMAND or re.search(r"[\n`]", line) or MASK.search(line) else line


def _line_of(step: Step) -> str:
    args = plain_args(step.tool or "", _args(step))
    return next((str(args[name]) for name in COMMAND_ARGUMENTS if name in args), "")


def _changed(failed: Step, worked: Step) -> tuple[str, ...]:
    """The names of the arguments that were others when it worked."""
    before, after = (plain_args(step.tool or "", _args(step)) for step in (failed, worked))
    return tuple(sorted(name for name in {*before, *after} if before.get(name) != after.get(name)))


def _check(fixes: Sequence[_Recovery], earlier: set[str], episodes: int) -> Check | None:
    """None where the ``earlier`` moves of the skill are what was missing, or where nothing can be advised."""
    if not fixes[0].error and all(CHANGE_FILES in fix.between for fix in fixes):
        return Check((), f"{AGAIN}, as {len(fixes)} of {counted(episodes, 'episode')} did")
    errors = (shown,) if (shown := _shown(fixes)) else ()
    common = _common(fixes)
    same = [fix for fix in fixes if set(common) <= set(fix.between)]
    if common and len(same) * 2 > len(fixes):
        again = {move for move in common if sum(move in fix.again for fix in same) * 2 > len(same)}
        missing = [move for move in common if move in again or move not in earlier]
        if not missing:
            return None
        how = "again" if again.issuperset(missing) else "first"
        words = f"{in_words(missing, 'and', _commands(same))} {how}"
        return Check(errors, words, frozenset(missing) - again, len(same))
    anew, count = Counter(fix.changed for fix in fixes).most_common(1)[0]
    if len(anew) < 2 and count * 2 > len(fixes):
        if not anew and sum(bool(fix.between) for fix in fixes) * 2 > len(fixes):
            return None  # each did something else before it called again
        if anew and anew[0] in COMMAND_ARGUMENTS:
            return _other_line(errors, fixes)
        return Check(errors, f"give another {anew[0]}" if anew else "try it again")
    return Check(errors, "try it with other arguments")


def _other_line(errors: tuple[str, ...], fixes: Sequence[_Recovery]) -> Check | None:
    """What was another in the command lines that worked, where most agree; None where each gave its own."""
    (added, dropped), count = Counter((fix.added, fix.dropped) for fix in fixes).most_common(1)[0]
    own = len({fix.task_id for fix in fixes}) < LEAST_EPISODES and not all(
        word.startswith("-") for word in (*added, *dropped)
    )
    if count * 2 <= len(fixes) or own or not (added or dropped) or MASK.search(" ".join((*added, *dropped))):
        return None
    told, instead = (" ".join(words) for words in (added, dropped))
    if len(told) + len(instead) > LONGEST_COMMAND or "`" in told + instead:
        return None
    if not added:
        return Check(errors, f"run it without `{instead}`")
    return Check(errors, f"run it with `{told}`" + (f", not `{instead}`" if instead else ""), added=added)


def _common(fixes: Sequence[_Recovery]) -> tuple[str, ...]:
    """What most did between, all of it or else the moves that are in most of it."""
    whole, count = Counter(fix.between for fix in fixes).most_common(1)[0]
    if count * 2 > len(fixes):
        return whole
    often = Counter(move for fix in fixes for move in fix.between)  # which names each move once
    return tuple(move for move, number in often.items() if number * 2 > len(fixes) and move != CHANGE_FILES)


def _commands(fixes: Sequence[_Recovery]) -> dict[str, str]:
    """The command lines that all ran alike, by their key."""
    first, *others = (fix.commands for fix in fixes)
    return {key: line for key, line in first.items() if all(other.get(key) == line for other in others)}


def _shown(fixes: Sequence[_Recovery]) -> str:
    """What their errors have in common, with "…" in the place of the rest; "" where that says nothing."""
    error = fixes[0].error
    if not error or says_little(error):
        return ""
    lines = [fix.line.split() for fix in fixes]
    if len({fix.task_id for fix in fixes}) > 1 and len(set(map(len, lines))) == 1:
        error = " ".join(word[0] if len(set(word)) == 1 else _ended(word) for word in zip(*lines, strict=True))
    error = _HOLES.sub("…", _HOLE.sub("…", error))
    return cut_at_word(error, LONGEST_ERROR) if re.search(r"[^\W\d]{3}", error) else ""


def _ended(words: Sequence[str]) -> str:
    """What stands for words that differ: with the sign that all of them end with."""
    ends = {word[-1] for word in words}
    return f"…{ends.pop()}" if len(ends) == 1 and not ends <= set("…") and not words[0][-1].isalnum() else "…"
