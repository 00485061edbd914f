"""A skill's name and description: what its moves do, and the words of tasks that ask for it, as sentences.

Retrieval matches this text. All telling words of the tasks stay in the skill's ``keywords``, which are searched too;
the sentence has only those that read well in it.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Collection, Iterator, Sequence
from itertools import combinations, count, islice

from prowess.learning.synthesis_grammar import (
    ARTICLES,
    VERBS,
    Act,
    acts_of,
    article,
    is_preposition,
    listed,
    programs_of,
)
from prowess.learning.synthesis_usage import Usage
from prowess.learning.text import terms
from prowess.storage.models import SkillStep

__all__ = ["FOR_TASKS", "base_name", "description_of", "moves_in_words", "name_of"]

USE_WHEN = "Use when the task "  # begins the sentence about the tasks that ask for a skill
FOR_TASKS = "For tasks about "  # the same before it was a sentence; stores still have it
MAX_NAME_WORDS = 9
MAX_NAME_CHARS = 60
MOST_NAMES = 20  # of one skill that are tried
MAX_TOLD = 5  # words of tasks in the description
MAX_WORD = 40  # characters of one word in the description; longer ones are cut

_LEAVES_OPEN = ARTICLES | {"and", "to", "for", "of", "by", "in", "on", "at", "with", "from", "whether", "you"}
_MADE_FREE = re.compile(r"-\d+$")


def moves_in_words(keys: Sequence[str], steps: Sequence[SkillStep], usage: Usage) -> list[Act]:
    """What each of ``keys`` does, without repeats. ``steps`` has the arguments of their calls, by the tool's name."""
    arguments: dict[str, list[str]] = {}
    for step in steps:
        arguments.setdefault(step.tool or "", list(step.args_template or {}))
    given = {key: arguments.get(key, arguments.get(key.partition(":")[0], ())) for key in keys}
    # A tool may have a colon in its own name: what follows is no program then.
    spoken = {key: key.replace(":", "__") if key in arguments else key for key in keys}
    told = [act for key in keys for act in acts_of(spoken[key], given[key], usage.spelled)]
    return list(dict.fromkeys(told)) or [Act("work")]


def name_of(acts: Sequence[Act], telling: Sequence[str], usage: Usage, taken: Collection[str]) -> str:
    """The moves as a name that is not ``taken``: ``book-flight-and-retrieve-invoice``.

    It is in ASCII, since names become files and folders. Where not all moves fit, the last one, which makes the
    outcome, and the first ones are named. Where that name is taken, other moves are, or what the tasks are about.
    """
    names = list(dict.fromkeys(islice(_names(acts), MOST_NAMES))) or ["skill"]
    things = [word for word in telling if re.fullmatch(r"[a-z]+", word) and not usage.is_name(word)]
    words = [f"-for-{word}" for word in things if usage.kind(word) == "thing"]
    words += [f"-to-{word}" for word in things if word in VERBS and usage.kind(word) == "doing"]
    options = [*names, *(name for word in words[:4] if len(name := names[0] + word) <= MAX_NAME_CHARS)]
    free = next((name for name in options if name not in taken), None)
    return free or next(name for at in count(2) if (name := f"{names[0]}-{at}") not in taken)


def _names(acts: Sequence[Act]) -> Iterator[str]:
    """Names of as many moves as fit, whose objects are cut before any is left out; of the last one where no two fit."""
    fits = False
    for told in (list(acts), [_short(act) for act in acts]):
        for size in range(len(told), 1, -1):
            for kept in islice(combinations(told[:-1], size - 1), MOST_NAMES):
                words = _name_words([*kept, told[-1]])
                if 0 < len(words) <= MAX_NAME_WORDS and len("-".join(words)) <= MAX_NAME_CHARS:
                    fits = True
                    yield "-".join(words)
    if not fits and (words := _cut(_name_words(acts[-1:]))):
        yield "-".join(words)


def _name_words(acts: Sequence[Act]) -> list[str]:
    groups = _merged(acts)
    parts = [part for group in groups if (part := _plain(group, alone=len(groups) == 1))]
    return re.sub(r"[^a-z0-9 ]+", "", listed(parts)).split() if parts else []


def _short(act: Act) -> Act:
    """The move with the last two words of its object, and nothing behind a preposition."""
    if act.rest and (act.rest[0] == "whether" or is_preposition(act.rest[0])):
        return act
    end = next((at for at, word in enumerate(act.rest) if at and (is_preposition(word) or word == "based")), None)
    return Act(act.verb, tuple(word for word in act.rest[:end] if word not in ARTICLES)[-2:])


def _cut(words: Sequence[str]) -> list[str]:
    kept: list[str] = []
    for word in words[:MAX_NAME_WORDS]:
        if kept and len("-".join([*kept, word])) > MAX_NAME_CHARS:
            break
        kept.append(word[:MAX_NAME_CHARS])
    while len(kept) > 1 and len(kept) < len(words) and kept[-1] in _LEAVES_OPEN:
        kept.pop()
    return kept


def _merged(acts: Sequence[Act]) -> list[list[Act]]:
    """Neighbours with one verb, or one object, which are told together."""
    groups: list[list[Act]] = []
    for act in acts:
        last = groups[-1] if groups else []
        alike = [one for one in last if one.verb == act.verb and one.rest and act.rest]
        same = [one for one in last if one.rest == act.rest and act.rest]
        if last and (len(alike) == len(last) or len(same) == len(last)):
            last.append(act)
        else:
            groups.append([act])
    return groups


def _phrase(group: Sequence[Act], joint: str = "and") -> str:
    if len(group) == 1:
        return " ".join(group[0].words())
    if group[0].verb == group[1].verb:
        return f"{group[0].verb} {listed([' '.join(act.rest) for act in group], joint)}"
    return f"{listed([act.verb for act in group], joint)} {' '.join(group[0].rest)}"


def _plain(group: Sequence[Act], *, alone: bool) -> str:
    """The phrase in words of a name: without articles, hyphens or signs, and with one *and* in all."""
    bare = [Act(act.verb, tuple(word for word in act.rest if word not in ARTICLES)) for act in group]
    return re.sub(r"[^a-z0-9 ]+", "", _folded(_phrase(bare, "and" if alone else "")).replace("_", " ")).strip()


def _folded(text: str) -> str:
    """In small letters without their accents."""
    return unicodedata.normalize("NFKD", text.casefold())


def base_name(name: str) -> str:
    """What a draft is called before the number that made its name free."""
    return _MADE_FREE.sub("", name)


def description_of(acts: Sequence[Act], keys: Sequence[str], telling: Sequence[str], usage: Usage) -> str:
    """What the moves do, with the programs that do it, and when to use them.

    Other steps are left out: the look-ups that most skills share would make their texts alike to a retriever.
    """
    done = _shortened(listed([_phrase(group) for group in _merged(acts)]))
    programs = dict.fromkeys(name.split()[0] for key in keys for name in programs_of(key))
    unsaid = [name for name in programs if name not in done.split()]
    means = _shortened(f" with {listed(unsaid)}") if unsaid else ""
    said = set(terms(done)) | set(terms(" ".join(unsaid)))
    when = _when_to_use(telling, said, usage)
    return f"{done[:1].upper()}{done[1:]}{means}.{f' {_shortened(when)}' if when else ''}"


def _shortened(text: str) -> str:
    return re.sub(rf"[^\s,]{{{MAX_WORD + 1},}}", lambda found: f"{found[0][: MAX_WORD - 1]}…", text)


def _when_to_use(telling: Sequence[str], said: set[str], usage: Usage) -> str:
    """The sentence that begins with ``USE_WHEN``; "" where no word tells more than what was ``said`` (stems)."""
    new = [word for word in telling if not usage.is_name(word) and said.isdisjoint(terms(word))]
    things = list(dict.fromkeys(filter(None, (_thing(word, usage) for word in new))))
    if things:
        return f"{USE_WHEN}mentions {listed(_apart(things)[:MAX_TOLD], 'or')}."
    doings = [word for word in new if word in VERBS and usage.kind(word) == "doing"]
    if doings:
        return f"{USE_WHEN}asks to {listed(doings[:MAX_TOLD], 'or')}."
    rest = [] if usage.knows else new
    return f"{USE_WHEN}mentions {listed(rest[:MAX_TOLD], 'or')}." if rest else ""


def _thing(word: str, usage: Usage) -> str:
    """The word with its article, or with the word that it mostly belongs to; "" where it is no thing."""
    after = usage.following(word) if usage.kind(word) == "quality" else ""
    if after and usage.kind(after) == "thing":
        return _with_article(f"{word} {after}", usage.article(after))
    return _with_article(word, usage.article(word)) if usage.kind(word) == "thing" else ""


def _with_article(thing: str, told: str) -> str:
    before = article(thing) if told == "a" else told
    return f"{before} {thing}" if before else thing


def _apart(things: Sequence[str]) -> list[str]:
    """Without those whose words an earlier or a longer one has."""
    stems = [set(terms(thing)) for thing in things]
    longer = [any(mine < other for other in stems) or mine in stems[:at] for at, mine in enumerate(stems)]
    return [thing for thing, said in zip(things, longer, strict=True) if not said]
