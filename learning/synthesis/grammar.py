"""A move in English: ``cancel_booking`` is *cancel the booking*, ``bash:find|wc`` *find files* and *count lines*.

A few rules of our own. Libraries that conjugate and count words are far larger than what tools' names ask for: the
imperative of a verb that the name has, an article, and seldom a plural.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from prowess.learning.synthesis.calls import words_of
from prowess.learning.synthesis.commands import options_in, runs_task
from prowess.learning.synthesis.programs import PROGRAMS, changed_by_options, task_in_words

__all__ = ["ARTICLES", "VERBS", "Act", "acts_of", "article", "is_preposition", "listed", "programs_of", "spelled_out"]

ARTICLES = frozenset({"a", "an", "the"})

# What names of tools begin with to say what they do. Words that are things more often (order, file) are left out.
_VERBS = """
accept activate add adjust analyse analyze answer append apply approve archive arrange ask assign attach authenticate
authorize backup block book browse build bump buy calculate call cancel change charge check checkout classify clean
clear click clone close comment commit compare compile complete compose compute configure confirm connect contact
convert copy correct count create cut deactivate decline decode decrease decrypt delete deliver deploy describe detect
disable disconnect dispatch display divide download draft drop edit enable encode encrypt end engage enter escalate
estimate evaluate exchange exec execute exit explain export extract fetch fill filter find finish fix follow format
forward generate get give grant hide hover import increase insert inspect install issue join kill launch leave like
link lint list load locate lock log look lower make mark measure merge migrate modify monitor mount move multiply mute
navigate notify open parse pause pay perform pick pin place plan play post predict press print process provision
publish pull purchase push put query raise rank rate read rebase reboot rebuild receive recommend record recover
redeem redo refactor refill refresh refuel refund register reject release reload remind remove rename render renew
reopen repair replace reply request rerun reschedule reseat resend reserve reset resize resolve respond restart
restore resume retrieve retry return retweet revert review revoke roll rollback rotate round run save scan schedule
scroll search select sell send set share show shut sign solve sort split start stop store submit subscribe subtract
sum summarise summarize suspend swap swipe switch sync tag take terminate test think toggle track train transfer
transition translate trigger turn type undo unfollow uninstall unlock unmute unsubscribe update upgrade upload use
validate verify view visit wait watch withdraw write
"""
VERBS = frozenset(_VERBS.split())
_LISTS = {
    "making": """
        add append book build buy create generate insert issue make open place post purchase register reserve run
        schedule send submit take write login setup signin signup
    """,
    "many": "browse count filter find list query search",
    "prepositions": """
        about against as at after before between by for from in into of on onto over per to under using via with
    """,
    "determined": "all any both each every my no next our that this what whether which your",
    "uncounted": """
        access advice balance cash content credit data dns email equipment feedback gas help history info information
        insurance internet json mail media metadata money music navigation news output permission progress research sms
        mms software storage stuff support text traffic usage video weather work xml yaml
    """,
    "counted": """
        booking building drawing filing heading king listing meeting posting rating recording ring setting string thing
        training warning
    """,
    "using": """
        agent api bash browser calculator client controller editor engine helper interpreter manager scheduler server
        service shell terminal tool translator
    """,
    "instruments": "bash browser calculator editor interpreter shell terminal",
    "on instruments": """
        close configure create install kill launch list open refresh reload reset resize restart start stop
    """,
    "how": "async auto batch bulk multi quick",
    # What servers and clients put before a tool's own name that says nothing of it.
    "spaces": "api default function functions mcp server tool tools",
    # In the middle of a name these are things as often: then what follows decides.
    "doings or things": """
        change check display log order plan post record reset search set show sort test view watch work
    """,
    "things as subjects": """
        backup block build call charge comment draft issue log plan post purchase record refund release tag test
    """,
    "of things": """
        count date email history id key link list log mode name number rate report result results size status time type
    """,
    "people": "account admin client customer member user",
    "particles": "back down off out up",
    "alone": "exit finish think wait",
    "endings": "code content id ids key name number path text type uri value",
    "files": "file files path dir directory folder filename filenames source destination",
    # Words of shells that run nothing themselves, and programs that only run others or tell what they were told.
    "glue": """
        [ [[ : break case continue do done elif else esac eval export fi for function if in read set shift source test
        then true false until while xargs nice echo printf sleep
    """,
}
_WORDS = {kind: frozenset(words.split()) for kind, words in _LISTS.items()}
_BARE_AFTER = frozenset({"as", "by", "per", "using", "via"})
_JOINED = {
    "backup": "back up", "checkin": "check in", "checkout": "check out", "cleanup": "clean up", "login": "log in",
    "logout": "log out", "lookup": "look up", "rollback": "roll back", "setup": "set up", "shutdown": "shut down",
    "signin": "sign in", "signout": "sign out", "signup": "sign up",
}  # fmt: skip
_ASKING = {"can": "you can", "is": "it is", "are": "they are", "has": "it has", "does": "it does"}
_LINKED = {"comment": "on", "reply": "to", "respond": "to", "subscribe": "to", "navigate": "to", "look": "at"}
_NEEDS_OBJECT = frozenset({"add", "append", "assign", "attach", "copy", "move", "save", "upload", "write"})
_ACRONYMS = "api apn aws csv dns gpu html http https id ip json mms pdf pr sim sms sql ssh ui uri url usb vpn xml"
_SPELLED = {word: word.upper() for word in _ACRONYMS.split()} | {"ids": "IDs", "urls": "URLs", "wifi": "Wi-Fi"}


class Act(NamedTuple):
    """What one move does: the verb in the imperative and the rest, with articles."""

    verb: str
    rest: tuple[str, ...] = ()

    def words(self) -> tuple[str, ...]:
        return (*self.verb.split(), *self.rest)


def acts_of(key: str, arguments: Sequence[str], spelled: Mapping[str, str], line: str = "") -> list[Act]:
    """What a move does, for a command line each of its programs.

    ``arguments`` are those of the call, which give a bare verb its object; ``spelled`` has words, in small letters, as
    the tasks spell them: names and acronyms. ``line`` is the command line as far as it is known: options may make it
    something else.
    """
    tool, _, command = key.partition(":")
    if command == tool:  # an agent's own command, which its arguments only carry
        return [_cased(_spaced(tool, (), spelled), spelled)]
    if command:
        options = options_in(line)
        told = [_program(program, options.get(program, ())) for program in programs_of(key)]
        told = told or [Act("run", ("a", "script"))]
        return list(dict.fromkeys(told))
    return [_cased(_spaced(unicodedata.normalize("NFKC", tool), arguments, spelled), spelled)]


def _spaced(tool: str, arguments: Sequence[str], spelled: Mapping[str, str]) -> Act:
    """The tool's own part; what stands before it where that part is no whole move: ``search.web``, ``issue.create``."""
    *spaces, own = [part for part in re.split(r"__|[./]", tool) if part] or [""]
    space = [word for word in words_of(spaces[-1]) if word not in _WORDS["spaces"]] if spaces else []
    words = _words(own)
    act = _tool(words, arguments, spelled)
    if space and len(words) == 1 and space[0] in VERBS and words[0] not in VERBS:
        return _tool([*space, *words], arguments, spelled)
    if not space or act.rest or act.verb not in VERBS or act.verb in _WORDS["alone"]:
        return act
    if tool.endswith(f".{own}"):
        return _thing([*space, *words], arguments, spelled)
    return Act(act.verb, _by_means_of(space))


def _words(name: str) -> list[str]:
    """The words of a name; the last capital of several begins a word unless only a plural's *s* follows it."""
    return words_of(re.sub(r"(?<=[A-Z]{2})(?=[A-Z](?!s(?![a-z]))[a-z])", "_", name))


def _by_means_of(words: Sequence[str]) -> tuple[str, ...]:
    return ("with", "the", *words) if words[-1] in _WORDS["using"] else ("with", *words)


def programs_of(key: str) -> list[str]:
    """The programs of a command line that do something themselves."""
    names = dict.fromkeys(key.partition(":")[2].split("|"))
    acting = [name for name in names if name and name not in _WORDS["glue"] and not name.startswith(("$", "-", "#"))]
    return acting or [name for name in names if name in PROGRAMS]


def _program(name: str, options: Sequence[str]) -> Act:
    known = task_in_words(task) if (task := runs_task(name)) else PROGRAMS.get(name)
    return _act(changed_by_options(name, options) or known or ("run", *name.split()))


def _act(words: Sequence[str]) -> Act:
    return Act(words[0], tuple(words[1:]))


def _tool(name: list[str], arguments: Sequence[str], spelled: Mapping[str, str]) -> Act:
    if not name or not "".join(name).isascii():
        return Act(" ".join(name) or "work")
    first, rest = name[0], name[1:]
    if len(rest) == 1 and (command := PROGRAMS.get(" ".join(name))):
        return _act(command)
    if not rest and first in PROGRAMS and (first not in VERBS or _of_files(arguments)):
        return _act(PROGRAMS[first])
    if first in ("login", "logout", "signin") and not rest:
        return Act("log out" if first == "logout" else "log in")
    if first in _JOINED:
        to = first in ("login", "signin") and rest and rest[0] not in _WORDS["prepositions"] | _WORDS["people"]
        return Act(_JOINED[first], ("to", *_noun(rest, definite=True)) if to else _articled(first, rest))
    if first in _ASKING and rest:
        return Act("check", ("whether", *_ASKING[first].split(), *_asked(first, rest)))
    if len(rest) == 1 and first in _WORDS["things as subjects"] and rest[0] in VERBS - _WORDS["doings or things"]:
        return _thing(name, arguments, spelled)
    if first in VERBS:
        return _done(first, rest, arguments, spelled)
    return _of_subject(name, arguments, spelled) or _thing(name, arguments, spelled)


def _of_subject(name: list[str], arguments: Sequence[str], spelled: Mapping[str, str]) -> Act | None:
    """A thing, a verb and perhaps its object: ``browser_take_screenshot``, ``slack_post_message``; None for others."""
    at = next((at for at, word in enumerate(name) if word in VERBS), 0)
    if not 0 < at < 3 or name[-1] in _WORDS["using"] or not _WORDS["prepositions"].isdisjoint(name[:at]):
        return None
    subject, verb, rest = name[:at], name[at], name[at + 1 :]
    if subject[0] in _WORDS["instruments"]:
        return _with_instrument(name, arguments, spelled)
    if not rest or rest[-1] in _WORDS["prepositions"]:
        return None
    if verb in _WORDS["doings or things"] and rest[-1] in _WORDS["of things"]:
        return None
    if _WORDS["how"].issuperset(subject):
        return _done(verb, rest, arguments, spelled)
    skipped = next((at for at, word in enumerate(rest) if not _is_of_verb(word)), 0)
    return _done(verb, [*rest[:skipped], *subject, *rest[skipped:]], arguments, spelled)


def _is_of_verb(word: str) -> bool:
    """Whether it stands between a verb and its object: ``reply to``, ``turn on``, ``create or update``."""
    return is_preposition(word) or word in _WORDS["particles"] or word in ("and", "or") or word in VERBS


def _with_instrument(name: list[str], arguments: Sequence[str], spelled: Mapping[str, str]) -> Act | None:
    if len(name) == 2 and name[1] in _WORDS["on instruments"]:
        return None
    if name[1] not in VERBS and name[-1] not in VERBS:
        return None
    act = _tool(name[1:], arguments, spelled)
    return act if act.rest and is_preposition(act.rest[-1]) else Act(act.verb, (*act.rest, *_by_means_of(name[:1])))


def _asked(first: str, rest: list[str]) -> Sequence[str]:
    return _noun(rest, definite=False) if first == "is" and len(rest) > 1 else rest


def _done(verb: str, rest: list[str], arguments: Sequence[str], spelled: Mapping[str, str]) -> Act:
    if verb in ("exec", "execute", "run") and len(rest) == 1 and PROGRAMS.get(rest[0], ())[:1] == ("run",):
        return _act(PROGRAMS[rest[0]])
    if len(rest) > 1 and rest[0] in ("and", "or") and rest[1] in VERBS:
        return Act(f"{verb} {rest[0]} {rest[1]}", _object(verb, rest[2:], arguments, spelled))
    if rest and rest[0] in _WORDS["particles"]:
        return Act(f"{verb} {rest[0]}", _articled(verb, rest[1:]))
    return Act(verb, _object(verb, rest, arguments, spelled))


def _thing(name: list[str], arguments: Sequence[str], spelled: Mapping[str, str]) -> Act:
    """A name that is not a verb and its object: ``ticket_login``, ``order_cancel``, ``liter_to_gallon``, ``mean``."""
    *thing, last = name
    if last in ("login", "signin"):
        return Act("log in", ("to", "the", *thing, "service"))
    if last in VERBS and thing and _WORDS["how"].issuperset(thing):
        return Act(last, _object(last, [], arguments, {}))
    if last in _WORDS["using"]:
        return Act("use", ("the", *name))
    if last in VERBS and thing:
        link = (_LINKED[last],) if last in _LINKED else ()
        named = len(thing) == 1 and thing[0] in spelled
        return Act(last, (*link, *(thing if named else _noun(thing, definite=last not in _WORDS["making"]))))
    if len(name) == 3 and name[1] == "to":
        return Act("convert", (_plural(name[0]), "to", _plural(last)))
    if "prompt" in arguments:  # somebody else's work
        return Act("run", _noun(name, definite=False))
    about = _about(arguments, last) if len(name) == 1 else ()
    of = ("of" if _is_plural(about[-1]) else "for", "the", *about) if about else ()
    return Act("get", ("the", *name, *of))


def _object(verb: str, rest: list[str], arguments: Sequence[str], spelled: Mapping[str, str]) -> tuple[str, ...]:
    """The rest of the name with its articles; where it is none, what the arguments are about."""
    if not rest and verb in _WORDS["alone"]:
        return ()
    if not rest and verb in ("enter", "type") and "text" in arguments:
        return ("text",)  # into what else is told
    if len(rest) == 1 and is_preposition(rest[0]) and verb not in _NEEDS_OBJECT:
        return (*rest, *_noun(_about(arguments, verb, rest), definite=False))
    if not rest or (rest[0] in _WORDS["prepositions"] and verb in _NEEDS_OBJECT):
        about = _about(arguments, verb, rest)
        link = (_LINKED[verb],) if about and verb in _LINKED and not rest else ()
        given = _noun(about, definite=False) if about else ()
        return (*link, *given, *_articled("", rest))
    if verb == "authenticate" and rest[0] in spelled:
        return ("with", *rest)
    return tuple(rest) if len(rest) == 1 and rest[0] in spelled else _by_each(_articled(verb, rest), arguments)


def _by_each(words: tuple[str, ...], arguments: Sequence[str]) -> tuple[str, ...]:
    """``by name zip`` as ``by name and zip``, where these are two arguments."""
    named = [set(words_of(argument)) for argument in arguments]
    *_, before, one, other = ("", "", "", *words)
    two = before == "by" and not any({one, other} <= each for each in named)
    if two and all(any(word in each for each in named) for word in (one, other)):
        return (*words[:-1], "and", other)
    return words


def _articled(verb: str, words: Sequence[str]) -> tuple[str, ...]:
    """The noun phrases between prepositions, each with its article."""
    told: list[str] = []
    phrase: list[str] = []
    before = verb
    for word in [*words, ""]:
        if word and word not in _WORDS["prepositions"] and word != "based":
            phrase.append(word)
            continue
        told += phrase if before in _BARE_AFTER else _after(before, phrase)
        told += [word] if word else []
        phrase, before = [], word
    return tuple(told)


def _after(before: str, phrase: list[str]) -> Sequence[str]:
    many = bool(phrase) and _is_plural(phrase[-1])
    if many and (before in _WORDS["making"] or before in _WORDS["many"] or before in _WORDS["prepositions"]):
        return phrase
    return _noun(phrase, definite=before not in _WORDS["making"])


def _noun(phrase: Sequence[str], *, definite: bool) -> tuple[str, ...]:
    if not phrase or phrase[0] in _WORDS["determined"] or _is_uncounted(phrase[-1]):
        return tuple(phrase)
    if definite:
        return ("the", *phrase)
    return tuple(phrase) if _is_plural(phrase[-1]) else (article(phrase[0]), *phrase)


def article(word: str) -> str:
    """``a`` or ``an``, by the sound that the word begins with as far as its spelling tells."""
    sound = word.lower()
    if re.match(r"(uni|use|usu|uti|eu|one|url)", sound) and not sound.startswith("unin"):
        return "a"
    letters = word.isupper() and len(word) > 1
    return "an" if sound[:1] in ("aefhilmnorsx" if letters else "aeiou") or sound[:4] in ("hour", "hono") else "a"


def _is_plural(word: str) -> bool:
    return len(word) > 3 and word.endswith("s") and not word.endswith(("ss", "us", "is"))


def _is_uncounted(word: str) -> bool:
    return word in _WORDS["uncounted"] or (word.endswith("ing") and word not in _WORDS["counted"])


def _plural(word: str) -> str:
    if _is_plural(word) or _is_uncounted(word) or len(word) < 3:
        return word
    if word.endswith("y") and word[-2] not in "aeiou":
        return word[:-1] + "ies"
    return word + ("es" if word.endswith(("s", "x", "z", "ch", "sh")) else "s")


def _about(arguments: Sequence[str], verb: str, said: Sequence[str] = ()) -> tuple[str, ...]:
    """What the first argument is about that says more than the verb: ``tweet_id`` is about a tweet."""
    named = [words_of(argument) for argument in arguments]
    found = [words for words in named if words and words[0] not in verb and not set(words) & set(said)]
    cut = [words[:-1] if len(words) > 1 and words[-1] in _WORDS["endings"] else words for words in found]
    better = [words for words in cut if words[-1] not in _WORDS["endings"]]
    if not better and any(words[-1] == "path" for words in cut):
        return ("file",)
    worded = [words for words in better or cut if len(words[-1]) > 1 and words[-1] not in ("id", "key", "name", "type")]
    return tuple(worded[0]) if worded else ()


def _of_files(arguments: Sequence[str]) -> bool:
    return any(not _WORDS["files"].isdisjoint(words_of(argument)) for argument in arguments) or not arguments


def spelled_out(words: Sequence[str], spelled: Mapping[str, str] | None = None) -> list[str]:
    """The words as they are written: ``id`` as ``ID``, names and acronyms as in ``spelled``."""
    return [(spelled or {}).get(word) or _SPELLED.get(word, word) for word in words]


def _cased(act: Act, spelled: Mapping[str, str]) -> Act:
    rest = spelled_out(act.rest, spelled)
    fixed = [
        article(rest[at + 1]) if word in ("a", "an") and at + 1 < len(rest) else word for at, word in enumerate(rest)
    ]
    return Act(act.verb, tuple(fixed))


def is_preposition(word: str) -> bool:
    return word in _WORDS["prepositions"]


def listed(parts: Sequence[str], joint: str = "and") -> str:
    """``a, b and c``; where a part has an *and* of its own, ``a and b, and c``; without a joint ``a b c``."""
    *first, last = parts
    if not first:
        return last
    if not joint:
        return " ".join(parts)
    inner = any(f" {joint} " in part for part in parts)
    return f"{', '.join(first)}{',' if inner else ''} {joint} {last}"
