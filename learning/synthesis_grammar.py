"""A move in English: ``cancel_booking`` is *cancel the booking*, ``bash:find|wc`` *find files* and *count lines*.

A few rules of our own. Libraries that conjugate and count words are far larger than what tools' names ask for: the
imperative of a verb that the name has, an article, and seldom a plural.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from prowess.learning.synthesis_calls import words_of

__all__ = ["ARTICLES", "VERBS", "Act", "acts_of", "article", "is_preposition", "listed", "programs_of", "spelled_out"]

ARTICLES = frozenset({"a", "an", "the"})

# What names of tools begin with to say what they do. Words that are things more often (order, file) are left out.
_VERBS = """
accept activate add adjust analyse analyze answer append apply approve archive arrange ask assign attach authenticate
authorize backup block book browse build buy calculate call cancel change charge check checkout classify clean clear
click clone close comment commit compare compile complete compose compute configure confirm connect contact convert
copy correct count create cut deactivate decline decode decrease decrypt delete deliver deploy describe detect disable
disconnect dispatch display divide download draft drop edit enable encode encrypt end engage enter escalate estimate
evaluate exchange exec execute exit explain export extract fetch fill filter find finish fix follow format forward
generate get give grant hide hover import increase insert inspect install issue join kill launch leave like link lint
list load locate lock log look lower make mark measure merge modify monitor mount move multiply mute navigate notify
open parse pause pay perform pick pin place plan play post predict press print process provision publish pull purchase
push put query raise rank rate read reboot rebuild receive recommend record recover redeem redo refactor refill refresh
refuel refund register reject release reload remind remove rename render renew reopen repair replace reply request
rerun reschedule reseat resend reserve reset resize resolve respond restart restore resume retrieve retry return
retweet revert review revoke roll rollback rotate round run save scan schedule scroll search select sell send set share
show shut sign solve sort split start stop store submit subscribe subtract sum summarise summarize suspend swap swipe
switch sync tag take terminate test think toggle track train transfer translate trigger turn type undo unfollow
uninstall unlock unmute unsubscribe update upgrade upload use validate verify view visit wait watch withdraw write
"""
VERBS = frozenset(_VERBS.split())
_LISTS = {
    "making": """
        add append book build buy create generate insert issue make open place post purchase register reserve run
        schedule send submit write
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
    "how": "async auto batch bulk multi quick",
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
_ASKING = {"can": "you can", "is": "it is", "are": "they are", "has": "it has", "does": "it does"}
_LINKED = {"comment": "on", "reply": "to", "respond": "to", "subscribe": "to", "navigate": "to", "look": "at"}
_NEEDS_OBJECT = frozenset({"add", "append", "assign", "attach", "copy", "move", "save", "upload", "write"})
_ACRONYMS = "api apn aws csv dns gpu html http https id ip json mms pdf pr sim sms sql ssh ui uri url usb vpn xml"
_SPELLED = {word: word.upper() for word in _ACRONYMS.split()} | {"ids": "IDs", "urls": "URLs", "wifi": "Wi-Fi"}

_PROGRAMS = """
ack search for text; apt install packages; awk process text; base64 encode data; basename get a file name
bash run a command; bzip2 compress files; cal show a calendar; cat show a file; cd change the folder
chgrp change the group of files; chmod change the mode of files; chown change the owner of files; cmp compare files
column align columns; comm compare files; cp copy files; crontab schedule jobs; curl fetch a URL; cut cut out columns
date show the date; dd copy data; df show disk space; diff compare files; dig look up a host name; dirname get a folder
du measure disk usage; echo print text; egrep search for text; env show the environment; fgrep search for text
glob find files; file identify a file; find find files; free show memory; grep search for text; groups show groups
gunzip unpack files; gzip compress files; head show the first lines; history show the history
host look up a host name; hostname show the host name; id show the user ID; ifconfig show the network
install install files; ip show the network; join join files; jq query JSON; kill stop a process; less show a file
ln link files; locate find files; ls list files; lsof list open files; make build a target; md5sum compute checksums
mkdir create a folder; mktemp create a temporary file; more show a file; mount mount a file system; mv move files
mypy check types; nl number lines; node run JavaScript; nslookup look up a host name; od dump data; paste join lines
patch apply a patch; perl process text; ping reach a host; pkill stop processes; printenv show the environment
printf print text; ps list processes; pstree show the process tree; pwd show the current folder; pytest run the tests
python run Python code; python3 run Python code; readlink follow a link; realpath resolve a path; rename rename files
rev reverse lines; rg search for text; rm remove files; rmdir remove a folder; rsync copy files; ruff check the code
scp copy files; sed edit text; seq print numbers; sh run a command; sha1sum compute checksums
sha256sum compute checksums; shuf shuffle lines; sort sort lines; split split a file; ssh run a remote command
stat show the state of a file; tac reverse lines; tail show the last lines; tar pack files; tee save the output
timeout limit the time; top list processes; touch create a file; tr replace characters; tree show a folder tree
truncate cut files; uname show the system; uniq drop repeated lines; unzip unpack files; uptime show the uptime
useradd add a user; wc count lines; wget fetch a URL; which locate a program; who list users; whoami show the user
yes print text; zip pack files
"""
_COMMANDS = """
cargo build: build the code; cargo run: run the code; cargo test: run the tests; docker build: build an image
docker exec: run a command in a container; docker logs: show the logs; docker ps: list containers
docker run: run a container; gh api: query the GitHub API; gh issue: handle issues; gh pr: handle pull requests
gh run: follow a workflow; git add: stage files; git branch: list branches; git checkout: switch the branch
git clone: clone a repository; git commit: commit changes; git diff: show the changes; git fetch: fetch changes
git log: show the history; git merge: merge a branch; git pull: pull changes; git push: push commits
git rebase: rebase the branch; git reset: reset changes; git restore: restore files; git show: show a commit
git stash: stash changes; git status: show the state; git switch: switch the branch; git tag: tag a commit
go build: build the code; go mod: handle modules; go run: run the code; go test: run the tests; go vet: check the code
kubectl apply: apply manifests; kubectl get: list resources; kubectl logs: show the logs; npm ci: install packages
npm install: install packages; npm run: run a script; npm test: run the tests; pip install: install packages
pnpm install: install packages; poetry install: install packages; uv pip: install packages; uv run: run a command
uv sync: install packages; yarn install: install packages
"""
_SAID = re.split(r"[;\n]\s*", _PROGRAMS.strip())
_SAID_OF_TWO = re.split(r"[;\n]\s*", _COMMANDS.strip())
PROGRAMS = {name: tuple(said.split()) for name, _, said in (line.partition(" ") for line in _SAID)} | {
    name: tuple(said.split()) for name, _, said in (line.partition(": ") for line in _SAID_OF_TWO)
}


class Act(NamedTuple):
    """What one move does: the verb in the imperative and the rest, with articles."""

    verb: str
    rest: tuple[str, ...] = ()

    def words(self) -> tuple[str, ...]:
        return (*self.verb.split(), *self.rest)


def acts_of(key: str, arguments: Sequence[str], spelled: Mapping[str, str]) -> list[Act]:
    """What a move does, for a command line each of its programs.

    ``arguments`` are those of the call, which give a bare verb its object; ``spelled`` has words, in small letters, as
    the tasks spell them: names and acronyms.
    """
    tool, _, command = key.partition(":")
    if command:
        told = [_program(program) for program in programs_of(key)] or [Act("run", ("a", "script"))]
        return list(dict.fromkeys(told))
    name = tool.rsplit("__", 1)[-1].rsplit(".", 1)[-1]
    return [_cased(_tool(words_of(name), arguments, spelled), spelled)]


def programs_of(key: str) -> list[str]:
    """The programs of a command line that do something themselves."""
    names = dict.fromkeys(key.partition(":")[2].split("|"))
    acting = [name for name in names if name and name not in _WORDS["glue"] and not name.startswith(("$", "-", "#"))]
    return acting or [name for name in names if name in PROGRAMS]


def _program(name: str) -> Act:
    known = PROGRAMS.get(name)
    return Act(known[0], known[1:]) if known else Act("run", tuple(name.split()))


def _tool(name: list[str], arguments: Sequence[str], spelled: Mapping[str, str]) -> Act:
    if not name or not "".join(name).isascii():
        return Act(" ".join(name) or "work")
    first, rest = name[0], name[1:]
    if not rest and first in PROGRAMS and (first not in VERBS or _of_files(arguments)):
        known = PROGRAMS[first]
        return Act(known[0], known[1:])
    if first in ("login", "logout", "signin") and not rest:
        return Act("log out" if first == "logout" else "log in")
    if first in _ASKING and rest:
        return Act("check", ("whether", *_ASKING[first].split(), *_asked(first, rest)))
    if first in VERBS:
        return _done(first, rest, arguments, spelled)
    return _thing(name, arguments)


def _asked(first: str, rest: list[str]) -> Sequence[str]:
    return _noun(rest, definite=False) if first == "is" and len(rest) > 1 else rest


def _done(verb: str, rest: list[str], arguments: Sequence[str], spelled: Mapping[str, str]) -> Act:
    if verb in ("exec", "execute", "run") and len(rest) == 1 and PROGRAMS.get(rest[0], ())[:1] == ("run",):
        return Act("run", PROGRAMS[rest[0]][1:])
    if rest and rest[0] in _WORDS["particles"]:
        return Act(f"{verb} {rest[0]}", _articled(verb, rest[1:]))
    return Act(verb, _object(verb, rest, arguments, spelled))


def _thing(name: list[str], arguments: Sequence[str]) -> Act:
    """A name that is not a verb and its object: ``ticket_login``, ``order_cancel``, ``liter_to_gallon``, ``mean``."""
    *thing, last = name
    if last in ("login", "signin"):
        return Act("log in", ("to", "the", *thing, "service"))
    if last in VERBS and thing and _WORDS["how"].issuperset(thing):
        return Act(last, _object(last, [], arguments, {}))
    if last in _WORDS["using"]:
        return Act("use", ("the", *name))
    if last in VERBS and thing:
        return Act(last, _noun(thing, definite=last not in _WORDS["making"]))
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
