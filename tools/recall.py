"""Lessons and warnings that fit a question, or one of the tools that its answer would use."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping, Sequence, Set
from itertools import islice
from typing import TYPE_CHECKING, Any

import numpy as np

from prowess.learning.counting import counted
from prowess.learning.memories.client_errors import is_of_shell
from prowess.learning.memories.lessons import RULE, SAID, TASK
from prowess.learning.memories.quotations import each_way_once
from prowess.learning.ranking.evidence import Document, gather, parts_of, rarity
from prowess.learning.ranking.fusion import fused
from prowess.learning.synthesis.calls import key_of
from prowess.learning.synthesis.clients import is_shell
from prowess.learning.synthesis.commands import COMMAND_ARGUMENTS
from prowess.learning.templates import says_little
from prowess.learning.text import terms
from prowess.storage.models import Memory
from prowess.tools.given_up import is_given_up
from prowess.tools.skills import one_line

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from prowess.storage.store import Store
    from prowess.tools.given_up import GivenUp

__all__ = ["calls_of", "error_of", "line_of", "recall"]

CANDIDATES = 30  # of each retriever
OF_EACH_KIND = 3
LEAST_COSINE = 0.35  # below, a memory is about something else
LEAST_WORDS = 2  # shared words that make up for that,
LEAST_SHARE = 1 / 7  # where the question, or one of its sentences, has not so many that any two are met by chance
_OF_EVERY_ONE = frozenset(terms("calling again failed fails instead worked seen episode episodes"))
_LONGEST = 380  # of a line: an error, and what was called before and after


async def recall(
    words: str,
    tools: Collection[str],
    vector: NDArray[np.float32] | None,
    *,
    project: str | None,
    given_up: GivenUp,
    store: Store,
) -> tuple[list[str], list[str]]:
    """Lessons and warnings as lines, the best first; ``tools`` are likely to be called, none of ``given_up``."""
    told = " ".join([words, *sorted(tools)])
    part, asked = parts_of(told)[0], [terms(each).keys() for each in parts_of(words)]
    stems = terms(part)
    found = await store.recall(told, vector, list(stems.values()), limit=CANDIDATES, project=project)
    cosines = dict(found.dense)
    live = [memory for memory in found.memories if memory.superseded_by is None and not is_given_up(memory, given_up)]
    fitting = [memory for memory in live if _fits(memory, asked, tools, cosines.get(memory.id, 0.0))]
    if not fitting:
        return [], []
    rare = rarity({stem: found.counts[word] for stem, word in stems.items()}, found.pool)
    best = _ordered(part, fitting, cosines, rare)
    # A lesson about an error warns of it, too, and says what helps: it stands where the warning would.
    lessons = _by_error((memory for memory in [*best, *live] if memory.kind != "warning"), tools)
    errors = dict.fromkeys(error for memory in best if (error := error_of(memory)) in lessons)
    warnings = [memory for memory in best if memory.kind == "warning" and error_of(memory) not in errors]
    helpful = _newest_first([lessons[error] for error in errors])
    return _lines(each_way_once(helpful)), _lines(each_way_once(warnings))


def calls_of(steps: Iterable[Mapping[str, Any]]) -> set[str]:
    """What steps call, as memories name it: a tool, and of command lines the programs, since one tool runs them all."""
    found: set[str] = set()
    for step in steps:
        if (tool := step.get("tool")) is None:
            continue
        args = step.get("args") or {}
        key = key_of(tool, args)
        programs = key.removeprefix(f"{tool}:").split("|") if key != tool else []
        found |= {f"{tool}:{program}" for program in programs}
        if args.keys().isdisjoint(COMMAND_ARGUMENTS):
            found.add(tool)
    return found


def _ordered(
    part: str, memories: list[Memory], cosines: Mapping[str, float], rare: Mapping[str, float]
) -> list[Memory]:
    """The best first, by the score that skills are ranked with."""
    last = min(cosines.values(), default=0.0)
    near = np.array([[cosines.get(memory.id, last) for memory in memories]]) if cosines else None
    evidence = gather([part], [Document(memory.id, "", memory.text) for memory in memories], near, rare)
    scores = dict(zip([memory.id for memory in memories], fused(evidence).tolist(), strict=True))
    return sorted(memories, key=lambda memory: (-scores[memory.id], memory.id))


def _fits(memory: Memory, asked: Sequence[Set[str]], tools: Collection[str], cosine: float) -> bool:
    """``asked`` are the stems of the question as a whole and of each of its sentences."""
    if cosine >= LEAST_COSINE or any(_is_about(memory, tool) for tool in tools):
        return True
    own = _stems_of(memory)
    return any(len(own & part) >= max(min(LEAST_WORDS, len(part) or 1), LEAST_SHARE * len(part)) for part in asked)


def _stems_of(memory: Memory) -> Set[str]:
    """The stems of its words, but for those that stand in every memory of its kind."""
    if memory.subject.startswith(RULE):
        return terms(memory.text.removeprefix(SAID)).keys()
    return terms(memory.text).keys() - (_OF_EVERY_ONE if memory.subject else frozenset())


def _is_about(memory: Memory, tool: str) -> bool:
    """Whether what it says of a failure is one of ``tool``'s, or ``tool`` stands in its words by itself: ``ls`` is no
    part of what "fails". What helps against another tool's failure says nothing of this one, nor does a line that was
    written wrong of the program in it."""
    failing, _, error = memory.subject.partition(" | ")
    if error and not memory.subject.startswith((TASK, RULE)):
        return _call(failing) == _call(tool) and not is_of_shell(error)
    text = memory.text
    return tool in text and re.search(rf"(?<![\w-]){re.escape(tool)}(?![\w-])", text) is not None


def _newest_first(memories: Sequence[Memory]) -> list[Memory]:
    """With a person's rules in their places, the newest before those that it may contradict."""
    rules = sorted((memory for memory in memories if memory.subject.startswith(RULE)), key=lambda rule: rule.at)
    return [rules.pop() if memory.subject.startswith(RULE) else memory for memory in memories]


def _call(verb: str) -> str:
    """A call whatever the client names its shell: what ``Bash`` ran to no end fails for ``exec_command`` as well."""
    tool, _, programs = verb.partition(":")
    return programs if programs and is_shell(tool) else verb


def _by_error(memories: Iterable[Memory], tools: Collection[str]) -> dict[str, Memory]:
    """One about each error, in the order of the first: by which other call it was met is not worth a line of its own.

    Of several ways out the one for a call of ``tools``, then the one that is borne out best, then the newest.
    """
    found: dict[str, list[Memory]] = {}
    for memory in memories:
        found.setdefault(error_of(memory), []).append(memory)
    return {error: max(same, key=lambda one: _rank(one, tools)) for error, same in found.items()}


def _rank(memory: Memory, tools: Collection[str]) -> tuple[bool, float, str]:
    return any(_is_about(memory, tool) for tool in tools), memory.importance, memory.at


def error_of(memory: Memory) -> str:
    """The error that a memory is about, with its call where that says little; its id where it is about none."""
    failing, _, error = memory.subject.partition(" | ")
    if not error or memory.subject.startswith((TASK, RULE)):
        return memory.id
    return f"{_call(failing)} | {error}" if says_little(error) else error


def _lines(memories: Iterable[Memory]) -> list[str]:
    return [line_of(memory) for memory in islice(memories, OF_EACH_KIND)]


def line_of(memory: Memory) -> str:
    """The line that tells a memory."""
    return one_line(_told(memory), _LONGEST)


def _told(memory: Memory) -> str:
    """The memory with how many episodes bear it out, where its words do not say so, and whether a stranger says so."""
    whose = "untrusted: " if memory.trust == "untrusted" else ""
    counts = _counts(memory)
    return f"{whose}{memory.text}{f' ({counts})' if counts else ''}"


def _counts(memory: Memory) -> str:
    """How many episodes bear a memory out and speak against it, where its words do not say so.

    What failed once may have worked ever since, so that of a call that fails also one episode is told.
    """
    of_error = memory.kind == "warning" and error_of(memory) != memory.id
    told = of_error or memory.support > 1 or memory.against
    seen = f"seen in {counted(memory.support, 'episode')}" if told and "(seen in " not in memory.text else ""
    against = f"not in {memory.against:,}" if memory.against else ""
    return ", ".join(filter(None, (seen, against)))
