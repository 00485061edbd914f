"""Memories of finished episodes: what each teaches, and which are kept; ``joining`` has which say the same.

Everything is decided by rules over what the episodes hold, so that the same episodes leave the same memories.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from datetime import timedelta
from hashlib import blake2b
from itertools import groupby
from uuid import UUID

from msgspec.structs import replace

from prowess.learning.memories.client_errors import is_of_client, misses_a_file
from prowess.learning.memories.instead import (
    changes_files,
    done_before,
    done_within,
    goes_back,
    instead,
    is_absence,
    is_again,
    is_forced,
    is_of_moment,
    looks,
    merely_edited,
    named,
    only_files,
    other_test_run,
    says_too_little,
)
from prowess.learning.memories.quotations import with_error
from prowess.learning.memories.recorded import is_recorded
from prowess.learning.memories.standing_rules import rules_in
from prowess.learning.mining.facts import MAX_FIX, WINDOW, verb_of
from prowess.learning.outcomes import failed, ran
from prowess.learning.synthesis.calls import is_lookup
from prowess.learning.templates import NO_MESSAGE, says_little, telling_line, template
from prowess.learning.text import cut_at_word, terms
from prowess.storage.models import Episode, Memory, Step, Trajectory, Trust, parse_time

__all__ = [
    "LESSON_ID",
    "RULE",
    "SAID",
    "TASK",
    "WARNING_ID",
    "beyond",
    "lessons_of",
    "mark_of",
    "quoting",
    "rule_of",
    "rules_of",
    "stable_id",
    "subject_of",
    "utility",
]

LESSON_ID = "lesson"
WARNING_ID = "warning"
TASK = "task | "  # begins the subject of what was said about a task
RULE = "rule | "  # the same of what a person wants to be done always
SAID = "the user said: "  # begins the memory of such a rule
WORTH_OF_LITTLE = 0.5  # where the error does not say what failed
LONGEST_ERROR = 120
LONGEST_TASK = 120
LONGEST_REASON = 280
LEAST_REASON = 3  # words that say more than the task, and than that it went well or ill
HALF_LIFE = timedelta(days=180)

# What says that it went well or ill, and not why: "the user says it works", "all tests pass as expected".
_VERDICTS = """
all approved ask broken build check ci commit complete confirm correct do error every exit expect fail fine fix good
great green happy implement now okay pass perfect push red request resolve result right said say solve still succeed
success suite task test thank user verify well work wrong code
"""
_OF_VERDICTS = terms(_VERDICTS).keys()


def stable_id(*parts: str) -> str:
    """The same id for the same ``parts``, wherever and whenever it is made."""
    digest = blake2b("\x1f".join(parts).encode("utf-8", "replace"), digest_size=16).digest()
    number = int.from_bytes(digest) & ~(0xF << 76) & ~(0x3 << 62)
    # Version 8 of RFC 9562, section 5.8: made of something else than time and chance.
    return str(UUID(int=number | 8 << 76 | 2 << 62))


def subject_of(verb: str, error: str) -> str:
    """What memories about this error of this call have in common."""
    return f"{verb.replace(' | ', '|')} | {error}"


# ---- what an episode teaches


def lessons_of(trajectory: Trajectory, reasons: Sequence[str], *, at: str, trust: Trust) -> list[Memory]:
    """What a finished episode teaches; ``reasons`` are the words that came with its scores, the newest last.

    From each error that was got over: what was done before the same call worked. The same with nothing in its support
    and the episode against it where the call failed with that error again. From an episode that failed: the error that
    nothing was done about to the end. From a scored episode: the last reason that says something. From what the person
    typed: how work is to be done. Nothing from what a client says of its own tools.
    """
    is_typed = is_recorded(trajectory)
    trajectory = replace(trajectory, steps=tuple(ran(trajectory.steps)))
    episode = trajectory.episode
    base = _base(episode, at=at, trust=trust)
    found = [*_recoveries(trajectory.steps, base), *_unresolved(trajectory, base), *_worded(trajectory, reasons, base)]
    if is_typed:
        found += _rules(episode, base)
    unique: dict[str, Memory] = {}
    for memory in found:
        if (known := unique.get(memory.id)) is None or memory.against < known.against:
            unique[memory.id] = memory  # of a fix that failed and then worked, the second counts
    return [replace(memory, importance=utility(memory)) for memory in unique.values()]


def _base(episode: Episode, *, at: str, trust: Trust) -> Memory:
    return Memory(
        id="", kind="lesson", text="", at=at, project=episode.project, episode_id=episode.id, trust=trust,
        evidence=(f"+{mark_of(episode.id)}",),
    )  # fmt: skip


def rule_of(words: str, *, project: str, at: str, trust: Trust = "own", episode_id: str = "") -> Memory:
    """The memory of a rule in ``words``: one that a person gave by itself, or said in the episode."""
    base = Memory(id="", kind="constraint", text="", at=at, project=project, trust=trust)
    if episode_id:
        base = replace(base, episode_id=episode_id, evidence=(f"+{mark_of(episode_id)}",))
    rule = _rule(words, base)
    return replace(rule, importance=utility(rule))


def rules_of(episode: Episode, *, at: str, trust: Trust) -> list[Memory]:
    """What the person wants always, by the words of a task that they typed; the same as ``lessons_of`` makes of it."""
    rules = _rules(episode, _base(episode, at=at, trust=trust))
    return [replace(rule, importance=utility(rule)) for rule in rules]


def mark_of(episode_id: str) -> str:
    """What stands for an episode in a memory's evidence, after its sign."""
    return blake2b(episode_id.encode(), digest_size=6).hexdigest()


def _error(step: Step) -> str:
    return template(step.error or step.observation or "") or NO_MESSAGE


def _quoted(step: Step) -> str:
    """The error as it was told, where that is no longer than an error may be; names and numbers say what to do."""
    said = " ".join(telling_line(step.error or step.observation or "").split()).replace("“", '"').replace("”", '"')
    return cut_at_word(said or NO_MESSAGE, LONGEST_ERROR)


def quoting(memory: Memory, trajectory: Trajectory) -> Memory:
    """``memory`` with the error as ``trajectory``, the episode it was drawn from with its raw steps, tells it."""
    error = memory.subject.partition(" | ")[2]
    told = next((step for step in trajectory.steps if failed(step) and _error(step) == error), None)
    return memory if told is None else replace(memory, text=with_error(memory.text, _quoted(told)))


def _recoveries(steps: Sequence[Step], base: Memory) -> Iterator[Memory]:
    verbs = [verb_of(step) for step in steps]
    for place, step in enumerate(steps):
        if not failed(step) or is_of_client(_error(step)):
            continue
        fix, later, before = _next_try(steps, verbs, place)
        other = _other_way(steps, place, len(steps) if later is None else later)
        if other is not None:
            yield _recovery(step, verbs[place], ("", verbs[other]), instead(step, steps[other]), base)
        elif later is not None and not failed(steps[later]):
            example = instead(step, steps[later])
            if not (
                _teaches_nothing(step, verbs[place], fix, before, example) or goes_back(step, steps[later], before)
            ):
                yield _recovery(step, verbs[place], fix, f"{_how(before, fix, example)}{example}", base)
        elif later is not None and fix and _error(steps[later]) == _error(step):
            yield _in_vain(_recovery(step, verbs[place], fix, _how(before, fix), base))


def _teaches_nothing(broke: Step, verb: str, fix: Sequence[str], before: Sequence[Step], example: str) -> bool:
    """Whether what got over an error is what every agent does, or cannot be told."""
    if merely_edited(broke, fix) or says_too_little(broke, _error(broke), fix):
        return True
    if is_of_moment(broke.error or broke.observation or "") and (not fix or is_forced(before)):
        return True
    looked = ":" in verb and only_files(fix)
    return not example and (looked or misses_a_file(verb, _error(broke)))


def _next_try(
    steps: Sequence[Step], verbs: Sequence[str], place: int
) -> tuple[tuple[str, ...], int | None, Sequence[Step]]:
    """What worked between a failed call and the next of its kind, where that is, and the last step of each.

    Where something was missing, a try that fails with another error has got over the first. Once files were changed,
    that is what helped, whatever a line does beside it; but where the first error was got over before, the changes
    were made for another.
    """
    between: list[Step] = []
    over = 0  # so many steps had got over the first error
    for later in range(place + 1, min(place + 1 + WINDOW, len(steps))):
        if not is_again(steps[place], steps[later], same=verbs[later] == verbs[place]):
            between += [] if failed(steps[later]) else [steps[later]]
            continue
        changed = any(changes_files(verb_of(step)) and not looks(step) for step in between)
        led = None if changed else done_within(steps[place], steps[later])
        between += [led] if led else []
        if not changed and _gets_on(steps[place], steps[later]):
            over = len(between)
        else:
            way = between[:over] if changed and over else between
            kept = _done([list(same)[-1] for _, same in groupby(way, key=verb_of)][-MAX_FIX:])
            return tuple(map(verb_of, kept)), later, kept
    return (), None, ()


def _done(steps: list[Step]) -> list[Step]:
    """Without those that only look, where more was done: the same way out is one lesson."""
    return [step for step in steps if not is_lookup(verb_of(step))] or steps


def _gets_on(broke: Step, later: Step) -> bool:
    return failed(later) and is_absence(_error(broke)) and _error(later) != _error(broke)


def _how(before: Sequence[Step], fix: Sequence[str], example: str = "") -> str:
    done = done_before(before, fix, otherwise=bool(example)) or ("" if example else "calling it again")
    return f" after {done}" if done else ""


def _other_way(steps: Sequence[Step], place: int, end: int) -> int | None:
    """Where, before ``end``, other programs ran the tests that did not run, with nothing but looks in between."""
    for later in range(place + 1, min(place + 1 + WINDOW, end)):
        if other_test_run(steps[place], steps[later]):
            return None if failed(steps[later]) else later
        if not failed(steps[later]) and not looks(steps[later]):
            return None
    return None


def _recovery(broke: Step, verb: str, fix: tuple[str, ...], how: str, base: Memory) -> Memory:
    """A lesson, known by its error and by ``fix``: what was done, or nothing ("") and the verb of another way."""
    error = _error(broke)
    return replace(
        base,
        id=stable_id(LESSON_ID, base.project, verb, error, *fix),
        text=f"When {named(broke, verb)} failed with “{_quoted(broke)}”, it worked{how}",
        subject=subject_of(verb, error),
    )


def _in_vain(memory: Memory) -> Memory:
    return replace(memory, support=0, against=1, evidence=tuple(f"-{mark[1:]}" for mark in memory.evidence))


def _unresolved(trajectory: Trajectory, base: Memory) -> Iterator[Memory]:
    """The last error of a failed episode, where the call never worked again."""
    if trajectory.episode.outcome != "failure":
        return
    verbs = [verb_of(step) for step in trajectory.steps]
    last = max((place for place, step in enumerate(trajectory.steps) if failed(step)), default=None)
    if last is None:
        return
    later = zip(trajectory.steps[last + 1 :], verbs[last + 1 :], strict=True)
    if any(verb == verbs[last] and not failed(step) for step, verb in later):
        return
    error = _error(trajectory.steps[last])
    if is_of_client(error) or misses_a_file(verbs[last], error):
        return
    if any(changes_files(verb) for verb in verbs[:last]) and not is_absence(error):
        return  # what was being made did not work: that ends with the work, or recurs and is a pattern
    yield replace(
        base,
        id=stable_id(WARNING_ID, base.project, verbs[last], error),
        kind="warning",
        text=f"{named(trajectory.steps[last], verbs[last])} fails with “{_quoted(trajectory.steps[last])}”",
        subject=subject_of(verbs[last], error),
    )


def _worded(trajectory: Trajectory, reasons: Sequence[str], base: Memory) -> Iterator[Memory]:
    """The reason of the last score: a lesson of a success, a warning of a failure."""
    outcome = trajectory.episode.outcome
    task = _short(trajectory.episode.task or trajectory.episode.task_id, LONGEST_TASK)
    said = next((reason for reason in reversed(reasons) if len(_telling(reason, task)) >= LEAST_REASON), "")
    if not said or outcome == "unknown" or not task:
        return
    text = f"“{task}” {'worked' if outcome == 'success' else 'failed'}: {_short(said, LONGEST_REASON)}"
    kind = "lesson" if outcome == "success" else "warning"
    subject = f"{TASK}{' '.join(sorted(terms(task))) or task}"
    yield replace(base, id=stable_id(kind, base.project, subject, text), kind=kind, text=text, subject=subject)


def _rules(episode: Episode, base: Memory) -> Iterator[Memory]:
    """What the person wants to be done always, in their own words."""
    return (_rule(rule, base) for rule in rules_in(episode.task))


def _rule(words: str, base: Memory) -> Memory:
    subject = f"{RULE}{' '.join(sorted(terms(words))) or words}"
    key = stable_id("constraint", base.project, subject, words)
    return replace(base, id=key, kind="constraint", text=f"{SAID}{words}", subject=subject)


def _telling(reason: str, task: str) -> set[str]:
    """The stems of a reason's words that the task has not, nor any reason."""
    return terms(reason).keys() - terms(task).keys() - _OF_VERDICTS


def _short(text: str, most: int) -> str:
    line = " ".join(text.split())
    return line if len(line) <= most else f"{line[: most - 1]}…"


# ---- how many are kept


def beyond(memories: Mapping[str, Memory], most: int) -> list[str]:
    """Ids of those that are too many: the least useful first, superseded ones before any other, a person's rules last.

    Usefulness is a memory's importance, halved with every half year that it is older than the newest.
    """
    if len(memories) <= most:
        return []
    newest = max(memory.at for memory in memories.values())
    ranked = sorted(memories.values(), key=lambda memory: (*_worth(memory, newest), memory.id))
    return [memory.id for memory in ranked[: len(memories) - most]]


def _worth(memory: Memory, newest: str) -> tuple[bool, bool, float]:
    age = parse_time(newest) - parse_time(memory.at)
    useful = memory.importance * 2 ** (-(age / HALF_LIFE))
    return memory.superseded_by is None, memory.subject.startswith(RULE), useful


def utility(memory: Memory) -> float:
    """How far a memory may be relied on, times how often it was borne out, both with little said by one episode."""
    reliable = (memory.support + 1) / (memory.support + memory.against + 2)
    reliable *= WORTH_OF_LITTLE if says_little(memory.subject.partition(" | ")[2]) else 1.0
    return reliable * math.log1p(memory.support)
