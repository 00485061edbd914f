"""Where a sentence says by itself that it holds for good, whatever it is about.

Such forms name what only a person who works with an agent says: for how long it holds, whose word it waits for, what
is to be kept in mind. ``working_forms`` has those that speak of the work.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from prowess.learning.memories.form_words import ALL, AS_USER, ASKED, GIT, IT, NOT, TIME, UNIT, WORK, either
from prowess.learning.memories.work_words import OF_PRODUCT, is_of_product, of_product_alone
from prowess.learning.memories.working_forms import FOR_ALL_WORK, PREFERS, STEERING

__all__ = ["clauses", "lasting"]

# For how long.
_MARK = either(
    r"(?:from now|from here) on(?:wards?| out)?|from (?:this|that) (?:point|moment|day) (?:on(?:wards?)?|forwards?)",
    r"from today(?: on(?:wards?)?)?|(?:going|moving) forwards?|henceforth",
    r"(?:in|for) (?:all )?(?:the )?(?:future|later|next|coming) (?:sessions|chats|conversations|tasks|changes|commits"
    r"|prs)",
)
# Of the product, or of oneself: "from now on the API returns 404", "from now on I'll do it".
_NOT_ASKED = (
    r"(?!(?:the|an?|its?|this|these|those|they|he|she|users?|players?|customers?|people|there|all|each|every|new|some"
    r"|I(?:'ll|'m| will| am| can| have)?|my|(?:if|when|once) (?:the|an?|users?))\b)"
)
_NO_PURPOSE = r"(?!.*\b(?:so (?:that|we|I|it)|in case|can|could|might|may|would|easier|easy|possible)\b)"
_FROM_NOW = (
    rf"{_MARK}[,.:]? (?:please )?{_NOT_ASKED}\w",
    rf"(?:please )?{ASKED}\b{_NO_PURPOSE}.{{0,140}}?\b{_MARK}\W*$",
    rf"(?:please |and |for )*(?:the )?next time[,:]? {_NOT_ASKED}(?!you {AS_USER}\b)"
    r"(?!.*\b(?:we can|(?:it|the \w+|users?) (?:must|needs? to|should|will))\b)\w",
    r"(?:in )?(?:the )?future,? (?:you|we) (?:always|never|only) \w",
    rf"(?:in )?(?:the )?future,? (?:you|we) {WORK}\b",
)

# Whose word it waits for.
_SAY = r"(?:allow|approve|ask|confirm|explicitly|give|instruct|permit|say|specif|tell|told|want)"
_WORD = either(
    r"unless (?:I|I'?ve|you'?re|we|otherwise|explicitly|specifically|told|asked|instructed)\b",
    rf"(?:until|till|when|if|once|after) (?:I|I'?ve) (?:explicitly |specifically )?{_SAY}",
    r"without (?:asking|checking with|confirm\w*|consulting|telling|my|explicit|express|permission|approval)",
)
_ME_FIRST = either(
    r"me\b|us\b|my\b|for (?:my )?(?:approval|permission|confirmation|ok)|before \w|first\b|permission",
)
_SHOWN = r"(?!(?:never |do not |don'?t |only )?(?:display|open|play|send|show) (?!me\b))"
_ASKED_FIRST = (
    rf"(?:{NOT}|stop|only)\b(?! (?:show|display|send|allow|let)\b).{{0,60}}?\b{GIT}\w*\b.{{0,60}}?\b{_WORD}",
    rf"(?:{NOT}|stop|only) \w.{{0,80}}? without (?:asking(?! (?:an?|for|the|them|it)\b)|checking with me|telling me"
    rf"|my \w)",
    rf"{_SHOWN}(?:{NOT}|stop|only) \w.{{0,80}}? unless (?:I (?:explicitly |specifically )?"
    r"(?:ask|approve|say|tell|told|want)\b|explicitly (?:asked|told)|(?:asked|told) (?:to|otherwise))",
    r".{3,80} unless (?:I(?:'ll)?|ill) (?:say|tell|ask|instruct|specif\w*|provide|request|state)\b"
    r".{0,30}(?:otherwise|other (?:instructions?|orders?))",
    r".{3,120} (?:until|till|unless) I (?:say|tell you) (?:so|otherwise)\b",
    r".{3,80} unless otherwise (?:directed|instructed|told)\b",
    rf"{_SHOWN}(?!.*\b(?:button|dialog|page|popup|user)s?\b).{{3,60}} only (?:after|if|when) I "
    r"(?:approve|ask|confirm|say|tell)\b",
    r"only (?:after|if|when) I (?:approve|ask|confirm|say so|tell you)\W*$",
    rf"{NOT} (?:ever )?{GIT}\b.{{0,40}}?\b(?:automatically|by yourself|each time|every ?time|on your own"
    rf"|unprompted)\b",
    rf"{NOT} {WORK} .{{0,60}}\b(?:on your own|proactively|unasked|unprompted|unsolicited)\W*$",
    rf"(?:(?:please )?always|you (?:must|should|have to|need to)) (?:ask|check with|confirm with|consult"
    rf"|wait for) {_ME_FIRST}",
    r"ask (?:me )?(?:first )?before (?:you )?(?:any|changing|committing|creating|deleting|deploying|doing|each|every"
    rf"|installing|making|merging|modifying|pushing|removing|running|starting|touching|writing)\b(?! {IT}\b)",
    r"I (?:always |like to |want to |need to |have to )(?:approve|review) (?:prs|plans|commits|changes"
    r"|pull requests)\b(?! (?:on|in|of)\b)",
    rf"I (?:always |like to |want to |need to |have to )(?:approve|review) {ALL} (?:\w+ )?{UNIT}\b(?! (?:on|of"
    rf"|in)\b)",
    r"I (?:always |like to |want to |need to |have to )(?:approve|review) everything\b",
)

# What somebody wants, in their own name.
_WANTED = either(
    r"tests?|comments?|emojis?|docs|documentation|markdown|summar\w+|mocks?|branch(?:es)?|prs?|commits?",
    r"changes? (?:in|to) tests?",
)
# Not what happens to whoever uses the product: "I hate when you have to scroll".
_AS_AGENT = rf"(?!(?:can(?:'?t|not)?|could|get|had|have|hold|lose|lost|must|need|open|see|want|{AS_USER})\b)\w"
_WANTS = (
    r"I (?:never|always) want (?:you\b|to (?:approve|be (?:asked|informed|notified|told)|review)\b)",
    rf"I (?:really )?(?:hate|dislike|don'?t like|do not like) (?:it )?when you "
    rf"(?:always |just |keep |only )*{_AS_AGENT}",
    r"I(?:'d| would)? (?:always |really )?(?:prefer|rather|like) (?:that |it if )?you (?:always|never|don'?t|not"
    r"|only)\b",
    r"I (?:(?:do not|don'?t|dont) ever|never ever) want (?:you )?to \w",
    r"I (?:do not|don'?t|dont) want (?:from )?you to .{0,60}\b(?:by yourself|on your own|anything|any|ever|without"
    r"|unless)\b",
    rf"I (?:do not|don'?t|dont) (?:ever )?want (?:any|to see any) (?:new )?{_WANTED}\b(?!.*\b(?:here|now|these|this"
    rf"|yet)\b)",
    rf"I (?:really )?(?:hate|dislike|don'?t like|do not like) (?:too many |so many |all these |having )+(?:{_WANTED}"
    rf"|worktrees)\b(?! (?:below|on|under)\b)",
    r"I always want (?!(?:an?|it|my|that|the|these|this|those|to|users?)\b)\w",
    r"my (?:\w+ )?(?:rule|convention)s? (?:is|are):? (?:that |to )*"
    r"(?:always|do not|don'?t|never|no|not|one|only|we|you)\b",
    r"I(?:'ve)? never allowed (?:you|u) to \w",
)

# Commits without the agent's name.
_NAMED = either(
    r"co[- ]?author\w*|attributions?|generated (?:with|by) (?:claude|codex|ai)|co[- ]?work(?:ed)? by",
    r"(?:ai|claude|codex|cursor|copilot) (?:signature|credit|trailer|mention|footer)s?|authored by (?:claude|you|ai)",
    r"claude (?:as|in) (?:an? |the )?(?:co-?author|author|contributor|commits?(?: messages?)?)",
)
_UNNAMED = (
    rf"(?:please |ensure |make sure )?(?:(?:to |you )?(?:{NOT}|avoid|not)|no|stop|without) .{{0,50}}?\b{_NAMED}",
)

# What is to be kept in mind.
_MEMORY = r"(?:your |the |my )?(?:memory|memories|long[- ]term memory|claude\.md|agents\.md)"
_KEPT_RULE = r"(?:that|to (?:always|never|not)|always|never|we|don'?t|do not|not to|use|when)\b"
_PRACTICE = r"(?:practice|habit|rule|procedure|workflow|convention|policy)"
_STANDARD = r"(?:standard|standing|hard|general|project|strict|team|house|permanent|usual)"
_REMEMBERED = (
    rf"(?:please )?(?:save|add|store|put|note|keep|write|record|remember|commit)\b.{{0,60}}? (?:in|to|into) {_MEMORY}"
    rf"(?: file)?(?:[:,]? {_KEPT_RULE}| ?[-\u2014:] ?\w|.{{0,20}}\b(?:always|from now on)\b)",
    r"(?:please )?(?:add|keep|note|put|remember|save|store|write) (?:it|that|these|this|those)(?: \w+)?"
    rf" (?:in|to|into) {_MEMORY}(?:\W*$| [-\u2013\u2014])",
    r"(?:please )?update your memory: ?\w",
    r"(?:please )?(?:update|edit|change) (?:your memory|claude\.md|agents\.md)"
    r" (?:so (?:that )?you|to (?:always|never|not|say|mention that|tell you|reflect that|state that)|that)\b",
    r"(?:please )?(?:always )?(?:remember|memori[sz]e|keep in mind|bear in mind|note)[,:]? (?:that |to )?"
    rf"(?:always|never|we (?:always|never)|we (?:don'?t|only) {WORK}|you (?:must|should|can'?t|cannot|are not)|not to"
    r"|from now on|for next time|for the future)\b",
    rf"(?:please )?(?:make|treat|consider|take) (?:this|that|it) (?:as )?(?:an?|the|our"
    rf"|your) (?:{_STANDARD} )*{_PRACTICE}\b"
    r"(?! \w*er\b)",
    rf"(?:this|that|it)(?:'s| is) (?:now )?(?:an?|the|our|my) (?:now )?{_STANDARD} (?:{_PRACTICE}|flow)(?:\W*$|[,.;])",
)

_SAYS_SO = re.compile(either(*_ASKED_FIRST, *_UNNAMED, *_REMEMBERED), re.IGNORECASE)
_FOR_LONG = re.compile(either(*_FROM_NOW), re.IGNORECASE)
_AS_WANTED = re.compile(either(*_WANTS), re.IGNORECASE)
# Where a clause may begin that stands for itself, and what it would depend on.
_JOINT = re.compile(
    r"\s(?<!\bI\s)(?<!we\s)(?<!you\s)(?<!they\s)(?<!users\s)(?<!that\s)(?<!which\s)(?<!who\s)(?<!\bto\s)(?<!it\s)"
    r"(?<!and\s)(?<!or\s)(?=(?:do not|don'?t|dont|stop)\s)"
    r"|(?:,|;|\s[-\u2013\u2014]+|\))\s+(?:(?:and|but|also|so|then|please)\s+){0,3}"
    r"|\s(?:and|but)\s+(?:(?:also|please|then)\s+)*",
    re.IGNORECASE,
)
# Behind which somebody else's words stand, or what is to be written.
_QUOTES = re.compile(
    r"\w:(?:\s|$)|(?<!\bI )(?<!\bI've )(?<!\balready )\b(?:claim(?:s|ed)|complain(?:s|ed)|reads|says?|said|states|told"
    r"|wants|writes|wrote)\b|\b(?:examples?|such as)\b"
    r"|^(?:please )?(?:announce|draft|proofread|rephrase|reply|rewrite|tell (?!me\b)|translate)\b",
    re.IGNORECASE,
)
# At what somebody does with the product.
_BY_USER = re.compile(
    rf"(?:after|before|if|once|when(?:ever)?|{TIME}) (?:(?:you|they) {AS_USER}\b|(?:an?|our|the) "
    r"(?:admin|app|bot|customer|page|player|user|visitor)\b|(?:admin|customer|player|user|visitor)s\b)",
    re.IGNORECASE,
)
_BELONGS = re.compile(
    r"(?:if|when|whenever|for|after|before|in|on|while|once|I|we|you|every|each|any|all|since|because)\b", re.IGNORECASE
)


def clauses(sentence: str) -> Iterator[int]:
    """Where the clauses of ``sentence`` begin that may stand for themselves, behind its first."""
    if not _BELONGS.match(sentence):
        yield from _joints(sentence)


def _joints(sentence: str) -> Iterator[int]:
    for joint in _JOINT.finditer(sentence):
        before = sentence[: joint.start()]
        if _QUOTES.search(before) or of_product_alone(before):
            return
        yield joint.end()


def lasting(sentence: str, *, steers: bool) -> int:
    """Where in ``sentence`` what says that it holds for good begins; -1 where nothing does.

    A later clause counts alone, but for what it depends on: "when you finish, never push" begins at 0. Some forms hold
    of a prompt that ``steers`` work alone, since of a task's first prompt they say how that task is done.
    """
    if _BY_USER.match(sentence):
        return -1
    for begin in (0, *_joints(sentence)):
        if _is_lasting(sentence, begin, steers=steers):
            return 0 if _BELONGS.match(sentence) else begin
    return -1


def _is_lasting(sentence: str, begin: int, *, steers: bool) -> bool:
    if _SAYS_SO.match(sentence, begin) or (_FOR_LONG.match(sentence, begin) and not is_of_product(sentence[begin:])):
        return True
    if OF_PRODUCT.search(sentence, begin):
        return False
    if FOR_ALL_WORK.match(sentence, begin) or _AS_WANTED.match(sentence, begin):
        return True
    return steers and bool(STEERING.match(sentence, begin) or (not begin and PREFERS.match(sentence)))
