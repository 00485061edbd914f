"""Memories of finished episodes: what each teaches, which say the same, which are contradicted, which are kept.

Everything is decided by rules over what the episodes hold, the earlier before the later, so that the same episodes
leave the same memories. An episode counts once for each memory: its mark, a hash, stands in the memory's evidence.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import timedelta
from hashlib import blake2b
from uuid import UUID

from msgspec.structs import replace

from prowess.learning.instead import example_in, instead, is_again, looks, merely_edited, other_test_run, with_example
from prowess.learning.mining_facts import MAX_FIX, WINDOW, verb_of
from prowess.learning.outcomes import failed, ran
from prowess.learning.remembered import remembered
from prowess.learning.templates import NO_MESSAGE, template
from prowess.learning.text import terms, words
from prowess.storage.models import Memory, Step, Trajectory, Trust, parse_time

__all__ = [
    "LESSON_ID",
    "MARKS",
    "TASK",
    "WARNING_ID",
    "beyond",
    "lessons_of",
    "mark_of",
    "merged",
    "stable_id",
    "subject_of",
]

LESSON_ID = "lesson"
WARNING_ID = "warning"
TASK = "task | "  # begins the subject of what was said about a task
ALIKE = 0.8  # share of common words from which two memories of one kind say the same
MARKS = 50  # of episodes that a memory's evidence holds, the newest
LONGEST_TASK = 120
LONGEST_REASON = 280
LEAST_REASON = 3  # words that say more than the task, and than that it went well or ill
HALF_LIFE = timedelta(days=180)

_NEGATIONS = frozenset(("no", "not", "never", "nor", "without", "don", "doesn", "didn", "isn", "won", "cannot", "t"))
# What says that it went well or ill, and not why: "the user says it works", "all tests pass as expected".
_VERDICTS = """
all approved ask broken build check ci commit complete confirm correct do error every exit expect fail fine fix good
great green happy implement now okay pass perfect push red request resolve result right said say solve still succeed
success suite task test thank user verify well work wrong code
"""
_OF_VERDICTS = terms(_VERDICTS).keys()
_SEEN = re.compile(r"(?<!\s)\s*\(seen in \d+ episodes?\)")


def stable_id(*parts: str) -> str:
    """The same id for the same ``parts``, wherever and whenever it is made."""
    digest = blake2b("\x1f".join(parts).encode("utf-8", "replace"), digest_size=16).digest()
    number = int.from_bytes(digest) & ~(0xF << 76) & ~(0x3 << 62)
    # Version 8 of RFC 9562, section 5.8: made of something else than time and chance.
    return str(UUID(int=number | 8 << 76 | 2 << 62))


def subject_of(verb: str, error: str) -> str:
    """What memories about this error of this call have in common."""
    return f"{verb} | {error}"


# ---- what an episode teaches


def lessons_of(trajectory: Trajectory, reasons: Sequence[str], *, at: str, trust: Trust) -> list[Memory]:
    """What a finished episode teaches; ``reasons`` are the words that came with its scores, the newest last.

    From each error that was got over: what was done before the same call worked. The same with nothing in its support
    and the episode against it where the call failed with that error again. From an episode that failed: the error that
    nothing was done about to the end. From a scored episode: the last reason that says something.
    """
    trajectory = replace(trajectory, steps=tuple(ran(trajectory.steps)))
    episode = trajectory.episode
    base = Memory(
        id="", kind="lesson", text="", at=at, project=episode.project, episode_id=episode.id, trust=trust,
        evidence=(f"+{mark_of(episode.id)}",),
    )  # fmt: skip
    found = [*_recoveries(trajectory.steps, base), *_unresolved(trajectory, base), *_worded(trajectory, reasons, base)]
    unique: dict[str, Memory] = {}
    for memory in found:
        if (known := unique.get(memory.id)) is None or memory.against < known.against:
            unique[memory.id] = memory  # of a fix that failed and then worked, the second counts
    return [replace(memory, importance=_utility(memory)) for memory in unique.values()]


def mark_of(episode_id: str) -> str:
    """What stands for an episode in a memory's evidence, after its sign."""
    return blake2b(episode_id.encode(), digest_size=6).hexdigest()


def _error(step: Step) -> str:
    return template(step.error or step.observation or "") or NO_MESSAGE


def _recoveries(steps: Sequence[Step], base: Memory) -> Iterator[Memory]:
    verbs = [verb_of(step) for step in steps]
    for place, step in enumerate(steps):
        if not failed(step):
            continue
        fix, later = _next_try(steps, verbs, place)
        other = _other_way(steps, place, len(steps) if later is None else later)
        if other is not None:
            yield _otherwise(step, verbs[place], steps[other], verbs[other], base)
        elif later is not None and not failed(steps[later]):
            if (example := instead(step, steps[later])) or not merely_edited(step, fix):
                yield _recovery(step, verbs[place], fix, example, base)
        elif later is not None and fix and _error(steps[later]) == _error(step):
            yield _in_vain(_recovery(step, verbs[place], fix, "", base))


def _next_try(steps: Sequence[Step], verbs: Sequence[str], place: int) -> tuple[tuple[str, ...], int | None]:
    """What worked between a failed call and the next of its kind, and where that is."""
    between: list[str] = []
    for later in range(place + 1, min(place + 1 + WINDOW, len(steps))):
        if is_again(steps[place], steps[later], same=verbs[later] == verbs[place]):
            return tuple(between[-MAX_FIX:]), later
        if not failed(steps[later]) and (not between or between[-1] != verbs[later]):
            between.append(verbs[later])
    return (), None


def _other_way(steps: Sequence[Step], place: int, end: int) -> int | None:
    """Where, before ``end``, other programs ran the tests that did not run, with nothing but looks in between."""
    for later in range(place + 1, min(place + 1 + WINDOW, end)):
        if other_test_run(steps[place], steps[later]):
            return None if failed(steps[later]) else later
        if not failed(steps[later]) and not looks(steps[later]):
            return None
    return None


def _otherwise(broke: Step, verb: str, worked: Step, other: str, base: Memory) -> Memory:
    error = _error(broke)
    return replace(
        base,
        id=stable_id(LESSON_ID, base.project, verb, error, "", other),
        text=with_example(f"When {verb} failed with “{error}”, it worked", instead(broke, worked)),
        subject=subject_of(verb, error),
    )


def _recovery(broke: Step, verb: str, fix: tuple[str, ...], example: str, base: Memory) -> Memory:
    error = _error(broke)
    how = " → ".join(fix) if fix else "calling it again"
    return replace(
        base,
        id=stable_id(LESSON_ID, base.project, verb, error, *fix),
        text=with_example(f"When {verb} failed with “{error}”, it worked after {how}", example),
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
    yield replace(
        base,
        id=stable_id(WARNING_ID, base.project, verbs[last], error),
        kind="warning",
        text=f"{verbs[last]} fails with “{error}”",
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


def _telling(reason: str, task: str) -> set[str]:
    """The stems of a reason's words that the task has not, nor any reason."""
    return terms(reason).keys() - terms(task).keys() - _OF_VERDICTS


def _short(text: str, most: int) -> str:
    line = " ".join(text.split())
    return line if len(line) <= most else f"{line[: most - 1]}…"


# ---- one memory for what says the same, and the newer for what says otherwise


def merged(held: Iterable[Memory], fresh: Iterable[Memory]) -> dict[str, Memory]:
    """All memories by id after ``fresh``, told in the order in which it happened, joined ``held``.

    What says the same adds its evidence to the memory that is there. A lesson that failed twice in a row, or more
    often than it worked, gives way to the newest other lesson about its error, else to a warning that it does not hold;
    where it holds again, that warning gives way to it. Of two that say of one task that it worked and that it failed,
    the older gives way to the newer.
    """
    known = {memory.id: memory for memory in held}
    touched: dict[str, None] = {}
    for memory in fresh:
        target = known.get(memory.id) or _twin(memory, known.values())
        if target is None and not memory.support:
            continue  # what never worked is no lesson
        known[target.id if target else memory.id] = memory if target is None else _joined(target, memory)
        touched[memory.subject] = None
    for subject in touched:
        _settle(known, subject)
    return known


def _twin(memory: Memory, known: Iterable[Memory]) -> Memory | None:
    """The live memory in a user's or agent's words that says the same in nearly the same ones.

    What is worded here has the same id where it says the same.
    """
    if not memory.subject.startswith(TASK):
        return None
    mine = _said(memory.text)
    for other in known:
        same_kind = other.kind == memory.kind and other.project == memory.project and other.subject.startswith(TASK)
        if same_kind and not other.superseded_by and _alike(mine, _said(other.text)):
            return other
    return None


def _alike(mine: tuple[frozenset[str], frozenset[str]], theirs: tuple[frozenset[str], frozenset[str]]) -> bool:
    return mine[1] == theirs[1] and len(mine[0] & theirs[0]) >= ALIKE * len(mine[0] | theirs[0])


@remembered(4_096)
def _said(text: str) -> tuple[frozenset[str], frozenset[str]]:
    """The words that carry meaning; and the numbers and negations, of which one more changes it."""
    return frozenset(terms(text)), frozenset(word for word in words(text) if word.isdigit() or word in _NEGATIONS)


def _joined(target: Memory, memory: Memory) -> Memory:
    """``target`` with the evidence of another that says the same; an episode counts once."""
    marks = {mark[1:] for mark in target.evidence}
    new = [mark for mark in memory.evidence if mark[1:] not in marks]
    if memory.evidence and not new:
        return target
    again = memory.support > 0 and target.superseded_by is not None
    whole = replace(
        target,
        text=with_example(target.text, example_in(memory.text)) if memory.kind == "lesson" else target.text,
        support=target.support + memory.support if new else max(target.support, memory.support),
        against=target.against + memory.against,
        evidence=(*target.evidence, *new)[-MARKS:],
        at=max(target.at, memory.at) if memory.support else target.at,
        superseded_by=None if again else target.superseded_by,
    )
    return replace(whole, importance=max(_utility(whole), target.importance if whole.support > whole.against else 0.0))


def _settle(known: dict[str, Memory], subject: str) -> None:
    """Let what is contradicted give way, within one subject."""
    every = sorted((memory for memory in known.values() if memory.subject == subject), key=_age)
    for memory in every:
        if memory.superseded_by == _warning_id(memory) in known:
            _warning_of(memory, known)  # which failed once more
    about = [memory for memory in every if not memory.superseded_by]
    for memory in about:
        if memory.kind == "lesson" and _refuted(memory):
            successor = _other_lesson(memory, about) or _warning_of(memory, known)
            known[memory.id] = replace(memory, superseded_by=successor)
        elif (said := known.get(_warning_id(memory))) and not said.superseded_by:
            known[said.id] = replace(said, superseded_by=memory.id)
    live = [memory for memory in about if not known[memory.id].superseded_by]
    for memory in live[:-1]:
        if subject.startswith(TASK) and memory.kind != live[-1].kind:
            known[memory.id] = replace(memory, superseded_by=live[-1].id)


def _age(memory: Memory) -> tuple[str, str]:
    return (memory.at, memory.id)


def _refuted(memory: Memory) -> bool:
    in_a_row = [mark[0] for mark in memory.evidence[-2:]] == ["-", "-"]
    return in_a_row or memory.against > memory.support


def _other_lesson(memory: Memory, about: Sequence[Memory]) -> str | None:
    others = [m.id for m in about if m.kind == "lesson" and m.id != memory.id and not _refuted(m)]
    return others[-1] if others else None


def _warning_id(lesson: Memory) -> str:
    return stable_id(WARNING_ID, lesson.project, lesson.id)


def _warning_of(memory: Memory, known: dict[str, Memory]) -> str:
    """What is left to say of a lesson that does not hold."""
    key = _warning_id(memory)
    told = _SEEN.sub("", memory.text).replace(example_in(memory.text), "")
    text = told.replace("it worked after", "it failed again after")
    said = replace(memory, id=key, kind="warning", text=text, support=memory.against, against=0, evidence=())
    known[key] = replace(said, importance=_utility(said), superseded_by=None)
    return key


# ---- how many are kept


def beyond(memories: Mapping[str, Memory], most: int) -> list[str]:
    """Ids of those that are too many: the least useful first, and of superseded ones all before any other.

    Usefulness is a memory's importance, halved with every half year that it is older than the newest.
    """
    if len(memories) <= most:
        return []
    newest = max(memory.at for memory in memories.values())
    ranked = sorted(memories.values(), key=lambda memory: (*_worth(memory, newest), memory.id))
    return [memory.id for memory in ranked[: len(memories) - most]]


def _worth(memory: Memory, newest: str) -> tuple[bool, float]:
    age = parse_time(newest) - parse_time(memory.at)
    return memory.superseded_by is None, memory.importance * 2 ** (-(age / HALF_LIFE))


def _utility(memory: Memory) -> float:
    """How far a memory may be relied on, times how often it was borne out, both with little said by one episode."""
    reliable = (memory.support + 1) / (memory.support + memory.against + 2)
    return reliable * math.log1p(memory.support)
