"""A skill's name and description: what its moves do, and the words of tasks that ask for it, as sentences.

Retrieval matches this text. All telling words of the tasks stay in the skill's ``keywords``, which are searched too;
the sentence has only those that read well in it.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Collection, Iterator, Mapping, Sequence
from itertools import combinations, count, islice

from prowess.learning.synthesis.grammar import (
    ARTICLES,
    VERBS,
    Act,
    acts_of,
    article,
    is_preposition,
    listed,
    programs_of,
)
from prowess.learning.synthesis.usage import SAID_BY_THE_WAY, Usage
from prowess.learning.text import terms
from prowess.storage.models import SkillStep

__all__ = ["FOR_TASKS", "base_name", "description_of", "moves_in_words", "name_of"]

USE_WHEN = "Use when the task "  # begins the sentence about the tasks that ask for a skill
AGAIN_UNTIL = "Repeat after further changes until nothing fails."
FOR_TASKS = "For tasks about "  # the same before it was a sentence; stores still have it
MAX_NAME_WORDS = 9
MAX_NAME_CHARS = 60
MOST_NAMES = 20  # of one skill that are tried
MOST_ADDED = 4  # words of tasks that are tried behind a name that is taken
MAX_TOLD = 5  # words of tasks in the description
MAX_WORD = 40  # characters of one word in the description; longer ones are cut

# Unicode takes å apart into a and its ring, but not these.
_LATIN = str.maketrans({
    "\u0131": "i", "ø": "o", "ł": "l", "đ": "d", "ð": "d", "þ": "th", "æ": "ae", "œ": "oe", "ħ": "h", "ŋ": "n",
    "ŧ": "t",
})  # fmt: skip
_LEAVES_OPEN = ARTICLES | {"and", "to", "for", "of", "by", "in", "on", "at", "with", "from", "whether", "you"}
_CHECKING = frozenset({"build", "check", "compile", "fix", "format", "validate"})
_MADE_FREE = re.compile(r"-\d+$")


def moves_in_words(
    keys: Sequence[str],
    steps: Sequence[SkillStep],
    usage: Usage,
    objects: Mapping[str, str] | None = None,
    lines: Mapping[str, str] | None = None,
) -> list[Act]:
    """What each of ``keys`` does, without repeats. ``steps`` has the arguments of their calls, by the tool's name;
    ``objects`` what some keys are known to do it to: *edit Go files* in the place of *edit a file*, and ``lines`` the
    command lines of some."""
    arguments: dict[str, list[str]] = {}
    for step in steps:
        arguments.setdefault(step.tool or "", list(step.args_template or {}))
    given = {key: arguments.get(key, arguments.get(key.partition(":")[0], ())) for key in keys}
    # A tool may have a colon in its own name: what follows is no program then.
    spoken = {key: key.replace(":", "__") if key in arguments else key for key in keys}
    known = {key: tuple(thing.split()) for key, thing in (objects or {}).items() if thing}
    told = [
        Act(act.verb, known.get(key, act.rest))
        for key in keys
        for act in acts_of(spoken[key], given[key], usage.spelled, (lines or {}).get(key, ""))
    ]
    return _by_means_once(list(dict.fromkeys(told))) or [Act("work")]


def _by_means_once(acts: list[Act]) -> list[Act]:
    """The moves with what several are done with told at the last one: *navigate to a URL and take a screenshot with
    the browser*."""
    means = [act.rest[-3:] if act.rest[-3:-1] == ("with", "the") else () for act in acts]
    return [
        Act(act.verb, act.rest[:-3]) if means[at] and means[at] in means[at + 1 :] else act
        for at, act in enumerate(acts)
    ]


def name_of(
    acts: Sequence[Act], telling: Sequence[str], usage: Usage, taken: Collection[str], keys: Sequence[str] = ()
) -> str:
    """The moves as a name that is not ``taken``: ``book-flight-and-retrieve-invoice``.

    It is in ASCII, since names become files and folders. Where not all moves fit, the last one, which makes the
    outcome, and the first ones are named. Where that name is taken, other moves are, or what the tasks are about, or
    the program that does the last of ``keys``.
    """
    names = list(dict.fromkeys(islice(_names(acts), MOST_NAMES))) or ["skill"]
    said = terms(names[0])
    things = [word for word in telling if re.fullmatch(r"[a-z]+", word) and not usage.is_name(word)]
    things = [word for word in things if terms(word).keys().isdisjoint(said)]
    words = [f"-for-{word}" for word in things if usage.kind(word) == "thing"]
    words += [
        f"-to-{word}" for word in things if word in VERBS and usage.kind(word) == "doing" and usage.is_wanted(word)
    ]
    words = [*words[:MOST_ADDED], *(f"-with-{name}" for name in _unsaid_means(keys, names[0])[-1:])]
    options = [*names, *(name for word in words if len(name := names[0] + word) <= MAX_NAME_CHARS)]
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
    merged = _merged(acts)
    groups = [apart for group in merged for apart in _apart_in_names(group, alone=len(merged) == 1)]
    parts = [part for group in groups if (part := _plain(group, alone=len(groups) == 1))]
    return re.sub(r"[^a-z0-9 ]+", "", listed(parts)).split() if parts else []


def _apart_in_names(group: list[Act], *, alone: bool) -> list[list[Act]]:
    """Of several verbs with one object among other moves each by itself, the object behind the last one."""
    if alone or len(group) < 2 or group[0].verb == group[1].verb:
        return [group]
    return [*([Act(act.verb)] for act in group[:-1]), group[-1:]]


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
    words = re.sub(r"(?<=\w)[_./:+]+(?=\w)|(?<=\w{3})-(?=\w{3})", " ", _folded(_phrase(bare, "and" if alone else "")))
    return re.sub(r"[^a-z0-9 ]+", "", words).strip()


def _folded(text: str) -> str:
    """In small letters without their accents; letters that are no other letter with an accent as they are written
    where there is none. ``casefold`` knows ß."""
    return unicodedata.normalize("NFKD", text.casefold().translate(_LATIN))


def base_name(name: str) -> str:
    """What a draft is called before the number that made its name free."""
    return _MADE_FREE.sub("", name)


def description_of(
    acts: Sequence[Act],
    keys: Sequence[str],
    telling: Sequence[str],
    usage: Usage,
    *,
    after: str = "",
    again: bool = False,
) -> str:
    """What the moves do, with the programs that do it, and when to use them.

    ``after`` tells it where it was found in what was done (*after changing Go files*), ``again`` if episodes went round
    until it worked: that is told of what ends with a check, and not of what then hands it in.

    Other steps are left out: the look-ups that most skills share would make their texts alike to a retriever.
    """
    done = _shortened(listed([_phrase(group) for group in _merged(acts)]))
    unsaid = [name for name in _means(keys) if name not in {word.strip(",") for word in done.split()}]
    means = _shortened(f" with {listed(unsaid)}") if unsaid else ""
    said = set(terms(done)) | set(terms(" ".join(unsaid)))
    when = _when_to_use(telling, said, usage)
    found = "" if when and not after.startswith("after") else after  # what tasks say tells more than what is done
    rest = [AGAIN_UNTIL if again and _is_check(acts[-1]) else "", f"Use {found}." if found else "", _shortened(when)]
    return " ".join(filter(None, (f"{done[:1].upper()}{done[1:]}{means}.", *rest)))


def _is_check(act: Act) -> bool:
    return act.verb in _CHECKING or (act.verb == "run" and act.rest[-1:] in (("tests",), ("checks",), ("benchmarks",)))


def _means(keys: Sequence[str]) -> list[str]:
    """The programs that command lines name, without their sub-commands."""
    return list(dict.fromkeys(name.split()[0] for key in keys for name in programs_of(key)))


def _unsaid_means(keys: Sequence[str], name: str) -> list[str]:
    means = [re.sub(r"[^a-z0-9]+", "-", _folded(program)).strip("-") for program in _means(keys)]
    return [program for program in means if program and not name.startswith(f"{program}-")]


def _shortened(text: str) -> str:
    return re.sub(rf"[^\s,]{{{MAX_WORD + 1},}}", lambda found: f"{found[0][: MAX_WORD - 1]}…", text)


def _when_to_use(telling: Sequence[str], said: set[str], usage: Usage) -> str:
    """The sentence that begins with ``USE_WHEN``; "" where no word tells more than what was ``said`` (stems)."""
    telling = [word for word in telling if word not in SAID_BY_THE_WAY and not usage.is_name(word)]
    new = [word for word in telling if said.isdisjoint(terms(word))]
    things = list(dict.fromkeys(filter(None, (_thing(word, usage) for word in new))))
    if things:
        return f"{USE_WHEN}mentions {listed(_apart(things)[:MAX_TOLD], 'or')}."
    doings = [word for word in new if word in VERBS and usage.kind(word) in ("doing", "thing", "")]
    doings = [word for word in doings if usage.is_wanted(word)]
    if doings:
        return f"{USE_WHEN}asks to {listed([_doing(word, usage) for word in doings[:MAX_TOLD]], 'or')}."
    rest = [] if usage.knows else new
    return f"{USE_WHEN}mentions {listed(rest[:MAX_TOLD], 'or')}." if rest else ""


def _thing(word: str, usage: Usage) -> str:
    """The word with its article, or with the word that it mostly belongs to; "" where it is no thing."""
    after = usage.following(word) if usage.kind(word) == "quality" else ""
    if after and usage.kind(after) == "thing":
        return _with_article(f"{word} {after}", usage.article(after))
    before = usage.preceding(word) if usage.kind(word) == "thing" else ""
    if before and usage.kind(before) in ("quality", "") and before not in VERBS:
        return _with_article(f"{usage.spelled.get(before, before)} {word}", usage.article(word))
    if word in VERBS and not usage.article(word):
        return ""  # "fix lint, please": what is to be done, whatever stands around it
    if usage.kind(word) in ("", "other") and word.endswith("s") and usage.kind(word[:-1]) == "thing":
        return word
    told = usage.article(word) or word.endswith("s") or usage.is_bare(word)  # of one text it may be *by default*
    return _with_article(word, usage.article(word)) if told and usage.kind(word) == "thing" else ""


def _doing(word: str, usage: Usage) -> str:
    """The verb with what is mostly done so, where the texts tell that."""
    done = usage.object_of(word)
    if not done or usage.is_particle(done):
        return f"{word} {done}".strip()
    plain = done.endswith("s") or usage.kind(done) != "thing"
    told = usage.article(done) or ("" if usage.is_bare(done) else "a")
    return f"{word} {done if plain else _with_article(done, told)}"


def _with_article(thing: str, told: str) -> str:
    before = article(thing.split()[0]) if told == "a" else told
    return f"{before} {thing}" if before else thing


def _apart(things: Sequence[str]) -> list[str]:
    """Without those whose words an earlier or a longer one has."""
    stems = [set(terms(thing)) for thing in things]
    longer = [any(mine < other for other in stems) or mine in stems[:at] for at, mine in enumerate(stems)]
    return [thing for thing, said in zip(things, longer, strict=True) if not said]
