"""Which older rule of a person a newer sentence takes back: "we moved to npm", "you can push to main again".

What is taken back has to be the rule that is meant: the same action on the same thing, at the same occasion, or a tool
of the same role. A sentence that speaks of this once ("for now", "if", "this time") takes nothing back.
"""

from __future__ import annotations

import re
from typing import NamedTuple

from prowess.learning.memories.interchangeable import ROLE_TOOLS, contradicts, forbidden_by, role_of, swaps
from prowess.learning.remembered import remembered
from prowess.learning.text import words

__all__ = ["Lifted", "lifted", "names", "takes_back", "withdrawal"]

_END = re.compile(
    r"[,;.!](?=\s|$)|\s[-\u2013\u2014]+\s|\s(?:because|since|so(?: that)?|as (?:it|we|the|they))\s|\s\(", re.IGNORECASE
)
_LIMITED = re.compile(
    r"\?|\b(?:just (?:once|this|for)|once|today|tonight|tomorrow|this (?!repo|project|code)\w+|for now|right now"
    r"|at the moment|for the moment|for a (?:while|moment|bit|sec\w*)|now that|temporar\w+|until|till|if|when|while"
    r"|except|unless|only|but|maybe|perhaps|might|would|think|thought|wish|hope|soon|later|yet|still|he|she|they|said"
    r" that|says|told me|wants?|asked|suppose\w*)\b",
    re.IGNORECASE,
)
_MARK = r"(?: (?:again|now|here|any ?more|from now on|going forward|from here on|these days|in future))"
_LASTS = r"(?: (?:any ?more|from now on|going forward|from here on|these days|in future))"
_DO = r"(?P<do>\w[^,;]{1,100}?)"
_FREE = (
    r"(?:from now on,? )?(?:you|we) (?:can|may|are (?:allowed|free|welcome) to|'re (?:allowed|free) to)(?: now| again)?"
)
_GOOD = r"(?:ok|okay|fine|allowed|all ?right|permitted|acceptable|welcome)"
_NOT = r"(?:do not|don'?t|no longer)"
_NEEDED = r"(?:needed|necessary|required|mandatory|compulsory|obligatory)"
_IS = r"(?:is|are)"

# What is allowed that was not: "you can never push to main again" is no leave.
_DENIED = r"(?!(?:[^,;]{0,20} )?(?:barely|hardly|never|no longer|not|nothing|rarely)\b)"
_ALLOWS = (
    rf"{_FREE} {_DENIED}(?!skip |stop |drop |omit |leave |forget |ignore |see |find |have |get ){_DO}{_MARK}*",
    rf"(?:it is|it's|its|it'll be) (?:now )?{_GOOD} (?:again )?to {_DENIED}{_DO}{_MARK}+",
    rf"(?:it is|it's|its) (?:now |again ){_GOOD} to {_DENIED}{_DO}{_MARK}*",
    rf"{_DENIED}{_DO} {_IS} (?:now |again )?(?:{_GOOD}|back)(?: to use)?(?: again| now| from now on| these days)+",
    rf"{_DO} {_IS} (?:now |again |no longer )(?:{_GOOD}|banned|forbidden|off[- ]limits|prohibited)",
    rf"{_DO} {_IS}(?: not|n'?t) (?:banned|forbidden|off[- ]limits|prohibited){_LASTS}",
)
# What need not be done that had to be.
_SPARES = (
    rf"(?:you|we|i) {_NOT} (?:have|need) (?:you )?to {_DO}{_LASTS}",
    rf"(?:you no longer (?:have|need) to|(?:you|we) needn'?t|we no longer(?: have to| need to)?) {_DO}{_MARK}*",
    rf"(?:there is |there's )?no (?:more )?need (?:to|for) {_DO}{_LASTS}",
    rf"(?:from now on,? )(?:there is |there's )?no need to {_DO}",
    rf"(?:from now on,? )(?:you|we) (?:do not|don'?t) (?:have|need) to {_DO}",
    rf"{_FREE} (?:skip|stop|drop|omit|leave out) {_DO}{_MARK}+",
    rf"{_DO} {_IS} no longer {_NEEDED}",
    rf"{_DO} {_IS}(?: not|n'?t) {_NEEDED}{_LASTS}",
    rf"(?:we|please)? ?(?:do not|don'?t) {_DO}{_LASTS}",
    r"we(?:'ve| have)? (?:just |now )?(?:stopped|quit|gave up|given up|dropped|ditched|abandoned|got rid of|retired)"
    rf" (?:using )?{_DO}{_MARK}*",
    rf"stop (?P<ing>\w+ing (?!.*\brules?\b)[^,;]{{1,100}}?){_LASTS}",
    r"stop (?P<each>\w+ing [^,;]{1,60}? (?:before|after|on|with) (?:each|every|any) \w+)",
)
_RULE = r"(?:(?:the|my|our|that|your)(?: (?:old|earlier|previous|other))? (?:rule|instruction|convention|policy))"
_SAYING = (
    r"(?:about|regarding|against|(?:that (?:says|said) )?(?:(?:that )?(?:you|we) (?:must|should|have to|need to)"
    r"(?: (?:never|always|not))?|(?:not |always |never )?to))"
)
_GONE = (
    r"(?:(?:is|are) (?:now )?(?:gone|off|over|outdated|obsolete|void|cancelled|lifted|no longer (?:valid|in force))"
    r"|no longer (?:applies|holds|counts)|do(?:es)?(?: not|n'?t) (?:apply|hold|count)(?: any ?more))"
)
_NO_CODE = (
    r"(?!(?:\S+ )*(?:business|cors|css|eslint|firewall|iam|lint\w*|nginx|proxy|rewrite|routing|ruff|security|style"
    r"|tax|validation)\b)"
)
# What is said of a rule itself.
_DROPS = (
    r"(?:please )?(?:forget|ignore|disregard|scratch|drop|stop following|do not follow|don'?t follow)"
    rf" (?:what I(?:'ve| have)? (?:said|told you)(?: before| earlier)?|{_RULE}) {_SAYING} {_DO}{_MARK}*",
    rf"{_RULE} {_SAYING} {_DO} {_GONE}",
    rf"(?:please )?(?:forget|stop following|do not follow|don'?t follow) (?:the|my|our|that) {_NO_CODE}{_DO} rule"
    rf"{_MARK}*",
    rf"(?:the|my|our|that) {_NO_CODE}{_DO} rule {_GONE}",
)
_TOOL = r"(?!(?:an?|the|this|that|it|our|your|my)\b)[\w.+-]*\w"
_OLD = rf"(?P<old>{_TOOL})"
_NEW = rf"(?P<new>{_TOOL})"
_MOVED = r"(?:moved|switched|migrated|changed|went|gone|swapped)"
# One thing for another.
_REPLACES = (
    rf"we(?:'ve| have)? (?:now |just |recently |finally )?{_MOVED}(?: over| back)?(?: from {_OLD})?(?: over| back)?"
    rf" to {_NEW}{_MARK}*(?: instead)?",
    rf"we(?:'re| are) (?:now |back )(?:using|on|to|to using) {_NEW}{_MARK}*(?: instead(?: of (?P<old1>{_TOOL}))?)?"
    rf"{_MARK}*",
    rf"we(?:'re| are) (?:using|on) {_NEW}(?: (?:now|again|these days|here now|now here))(?: instead)?",
    rf"we (?:now |only )?use {_NEW}{_MARK}*(?: instead)?(?: of (?P<old2>{_TOOL}))?{_MARK}*",
    rf"(?:please )?use {_NEW} (?:here now|(?:here )?(?:from now on|going forward))(?: here| instead)*",
    rf"instead of {_OLD},? we (?:now )?use {_NEW}{_MARK}*",
    rf"we(?:'ve| have)? (?:now |just |recently )?replaced {_OLD} (?:with|by) {_NEW}{_MARK}*",
    rf"we(?:'ve| have)? (?:now |just |recently )?(?:dropped|ditched|abandoned) {_OLD} (?:for|in favou?r of) {_NEW}"
    rf"{_MARK}*",
    rf"{_OLD} (?:is|was|has been) replaced (?:with|by) {_NEW}{_MARK}*",
)
_TIMED = re.compile(
    rf"\b(?:now|again|instead|{_MOVED}|replaced|dropped|ditched|abandoned)\b|back (?:on|to)", re.IGNORECASE
)
_PERMANENT = re.compile(
    r"\b(?:again|any ?more|from now on|no longer|going forward|these days|back|is now|are now|it's now)\b",
    re.IGNORECASE,
)


_PROJECT = r"(?:code ?base|project|repo(?:sitory)?|team)"
_OURS = tuple(
    (re.compile(form, re.IGNORECASE), plain)
    for form, plain in (
        (rf"^(?:in|for|on) (?:this|our) {_PROJECT},? we\b", "we"),
        (rf"^(?:the|this|our) (?:whole )?{_PROJECT} (now |only )?uses\b", r"we \1use"),
        (rf"^(?:the|this|our) (?:whole )?{_PROJECT} is\b", "we are"),
        (rf"^(?:the|this|our) (?:whole )?{_PROJECT} (?:has )?(?=(?:now |just )?{_MOVED}\b)", "we "),
    )
)
_AGO = re.compile(
    r"(?: (?:last (?:week|month|year|sprint)|yesterday|recently|a while ago"
    r"|btw|by the way|fyi|just so you know|pls|please|thanks|thx))+$",
    re.IGNORECASE,
)
# Of a tool that was: it is not asked for.
_PAST = re.compile(
    r"\b(?:because|since) [^.;]*|\b[\w-]+ (?:is|was) (?:dead|dropped|gone|history|out|removed)\b", re.IGNORECASE
)
# Who may do it again and has to ask is under the older rule no more.
_BUT_ASK = re.compile(
    r"(?<= again),? but (?:always )?(?:ask|check with|tell) me(?: (?:before|first))?(?: (?:pls|please))?\W*$",
    re.IGNORECASE,
)
_REPEATED = re.compile(r"(?:build|check|deploy|execute|retry|run|start|restart|test|try)\b", re.IGNORECASE)  # once more


def _any_of(forms: tuple[str, ...]) -> tuple[re.Pattern[str], ...]:
    return tuple(re.compile(form, re.IGNORECASE) for form in forms)


_KINDS = {
    "replaces": _any_of(_REPLACES),
    "drops": _any_of(_DROPS),
    "spares": _any_of(_SPARES),
    "allows": _any_of(_ALLOWS),
}
LONGEST = 200  # characters of a clause that takes something back


class Lifted(NamedTuple):
    """What a sentence takes back; its fields are "" where it says nothing of the kind."""

    allowed: str = ""  # may be done again
    spared: str = ""  # need not be done any more
    about: str = ""  # of which a rule was
    new: str = ""  # the tool that is used from now on


@remembered(4_096)
def lifted(said: str) -> Lifted | None:
    """What ``said``, a sentence without what leads up to it, takes back; None for nothing."""
    said = _BUT_ASK.sub("", said)
    clause = _AGO.sub("", _clause(said))
    if not clause or len(clause) > LONGEST or _LIMITED.search(said):
        return None
    for form, plain in _OURS:
        clause = form.sub(plain, clause)
    for kind, forms in _KINDS.items():
        if found := next(filter(None, (form.fullmatch(clause) for form in forms)), None):
            return _lifted(kind, {name.rstrip("12"): part for name, part in found.groupdict().items() if part})
    return None


def _lifted(kind: str, parts: dict[str, str]) -> Lifted:
    action = next((parts[name] for name in ("do", "ing", "each") if name in parts), "")
    if kind == "replaces":
        return Lifted(spared=parts.get("old", ""), new=parts["new"].lower())
    if kind == "drops":
        return Lifted(about=action)
    if kind == "spares":
        return Lifted(spared=action)
    occasion, without, step = action.partition(" without ")
    return Lifted(allowed=action, spared=f"{step} before {occasion}" if without else "")


def _clause(said: str) -> str:
    """The main clause, without a reason or a task behind it; "from now on, …" and "instead of X, …" belong to it."""
    lead = re.match(r"(?:from now on|instead of \S+?),? ", said, re.IGNORECASE)
    begin = lead.end() if lead else 0
    end = _END.search(said, begin)
    return said[: end.start() if end else None].strip()


def withdrawal(said: str, prompt: str) -> str:
    """The clause of a typed sentence that takes rules back for good; "" where it does not, or for the moment."""
    found = lifted(said)
    if found is None:
        return ""
    clause = said.strip() if _BUT_ASK.search(said) else _clause(said)
    if found.new:
        is_new = bool(_TIMED.search(clause)) and found.new in ROLE_TOOLS | frozenset(words(found.spared))
        others = role_of(found.new) - frozenset(words(clause)) - forbidden_by(prompt)
        return clause if (is_new or found.spared) and others.isdisjoint(words(_PAST.sub("", prompt))) else ""
    if found.allowed and not found.spared:
        marks = {mark.lower() for mark in _PERMANENT.findall(clause)}
        return clause if marks - ({"again"} if _REPEATED.match(found.allowed) else set()) else ""
    return clause


def takes_back(newer: str, older: str) -> bool:
    """Whether ``newer`` says that ``older`` holds no more: both are rules, and none of them a part of the other."""
    found, before = lifted(newer), lifted(older)
    mine, theirs = (_settled(rule, what) for rule, what in ((newer, found), (older, before)))
    if swaps(mine, theirs) or contradicts(mine, theirs):
        return True
    if found is None:
        return False
    forbids, action = _wording(theirs)
    if found.spared and not forbids and _same(_wording(found.spared)[1], action):
        return True
    if found.allowed and forbids and _same(_wording(found.allowed)[1], action):
        return True
    if found.spared and " without " in older and _same(_wording(found.spared)[1], _condition(older)):
        return True
    tool = _wording(found.allowed)[1].does if found.allowed else frozenset()
    if len(tool) == 1 and tool <= forbidden_by(older):
        return True
    return bool(found.about) and _same(_wording(found.about)[1], action)


def names(newer: str, older: str) -> bool:
    """Whether ``newer`` takes back a rule about something that makes out half of ``older``, or any that has to be asked
    about: "you don't have to ask me any more".
    """
    found = lifted(newer)
    if found is not None and found.spared and _asks_for_nothing(_wording(found.spared)[1]):
        return _ASKING in (_wording(older)[1].does, _condition(older).does)
    if found is None or not found.about:
        return False
    about, action = _wording(found.about)[1].does, _wording(older)[1].does
    return bool(about) and about <= action and 2 * len(about) >= len(action)


def _settled(rule: str, found: Lifted | None) -> str:
    return f"use {found.new}" if found is not None and found.new else rule


# ---- what is done, and when


class _Action(NamedTuple):
    does: frozenset[str]
    when: frozenset[str]
    is_whole: bool  # of all tests: who need not run these may have to run some


_NEGATED = re.compile(
    r"(?:please |you |we |i |must |should |may |can |ever |in this \w+,? |from now on,? |want you to |told you )*"
    r"(?:never|do not|don'?t|dont|not|no|avoid|stop|can'?t|cannot|mustn'?t)\b",
    re.IGNORECASE,
)
# Where another clause begins: a reason, what is done instead, what is not.
_OTHERWISE = re.compile(
    r"[;.!](?=\s|$)|\s[-\u2013\u2014]+\s|,? (?:because|since|so(?: that)?|otherwise|or else|instead(?: of)?"
    r"|rather than)\b"
    r"|, (?:not|never|no) [\w.-]+$|, (?:it|that|this|they)\b",
    re.IGNORECASE,
)
_ELSE = re.compile(  # behind what is forbidden
    r", (?:and )?(?:always|add|ask|branch|change|commit|create|do|edit|fix|go|keep|let|make|open|put|regenerate|run|use"
    r"|we|work|write|you)\b",
    re.IGNORECASE,
)
_WHEN = re.compile(
    r"\b(?:before|after|prior to|(?:on|with|for|at the (?:start|end) of) (?=(?:each|every|any|all)\b))", re.IGNORECASE
)
_FLAG = re.compile(r"(?<!\S)--?(?=[a-z])([\w-]+)", re.IGNORECASE)
_EMPTY = frozenset(
    """
    a again all also always an and any anymore anything anywhere at base by can code codebase complete completely
    directly do doing don each entire ever every everything execute executing first forward from full fully going have
    here i in it just make making may me more must my need never new no not now of on origin our please project repo
    repository run running runs should single straight sure t that the this to up use used using want we whole with
    you your yourself
    """.split()  # noqa: SIM905 - a hundred quoted words would be no easier to read
)
_WHOLE = frozenset(("all", "complete", "entire", "full", "whole"))
_ASKING = frozenset(("ask",))
_SAME = {
    "alter": "edit",
    "chang": "edit",
    "modify": "edit",
    "touch": "edit",
    "suite": "test",
    "pull": "pr",
    "request": "pr",
    "master": "main",
    "lint": "linter",
}


def _wording(rule: str) -> tuple[bool, _Action]:
    """Whether a rule forbids, and what, at which occasion."""
    main = _main(rule)
    act, _, when = main.partition(found.group()) if (found := _WHEN.search(main)) else (main, "", "")
    return _NEGATED.match(main) is not None, _Action(_content(act), _content(when), _is_whole(act))


def _main(rule: str) -> str:
    plain = _FLAG.sub(lambda flag: flag[1].replace("-", ""), rule).replace("PRs", "PR").replace("MRs", "MR")
    for ends in (_OTHERWISE, *([_ELSE] if _NEGATED.match(plain) else [])):
        if end := ends.search(plain):
            plain = plain[: end.start()]
    return plain


def _condition(rule: str) -> _Action:
    """What "never commit without running the tests" asks for."""
    act, _, step = _main(rule).partition(" without ")
    if not _NEGATED.match(act):
        return _Action(frozenset(), frozenset(), is_whole=False)
    return _Action(_content(step), _content(act), _is_whole(step))


def _is_whole(said: str) -> bool:
    return not _WHOLE.isdisjoint(words(said))


def _content(said: str) -> frozenset[str]:
    return frozenset(stem for word in words(said) if word not in _EMPTY and (stem := _stem(word)) not in _EMPTY)


def _stem(word: str) -> str:
    """Of a verb or noun in whatever form: ``commit`` of ``committing`` and ``commits``."""
    if word.endswith("ies") and len(word) > 4:
        return f"{word.removesuffix('ies')}y"
    for ending in ("ing", "ed", "es", "s"):
        if word.endswith(ending) and len(word) - len(ending) >= 3 and not word.endswith("ss"):
            word = word.removesuffix(ending)
            break
    if len(word) > 3 and word[-1] == word[-2] and word[-1] not in "sl":
        word = word[:-1]
    word = word.removesuffix("e") if len(word) > 3 else word
    return _SAME.get(word, _SAME.get(f"{word}e", word))


def _asks_for_nothing(said: _Action) -> bool:
    return said.does == _ASKING and not said.when


def _same(said: _Action, held: _Action) -> bool:
    """Whether what is ``said`` is of the action of ``held``, where both name an occasion of no other one.

    Who need not ask before a push need not before one to main. What need not be asked about is not said by "ask me".
    """
    at_once = said.when <= held.when if said.when and held.when else not _asks_for_nothing(said)
    return bool(said.does) and said.does == held.does and at_once and held.is_whole >= said.is_whole
