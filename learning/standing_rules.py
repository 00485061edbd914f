"""What a person told an agent about how work is done here, and not only this once: ``never push to main``.

Precision goes first: a task says a great deal about the product ("always show the total"), and a correction mostly
means the work at hand ("don't commit yet"). Only sentences that ask for a way of working by their very form count.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

__all__ = ["rules_in", "states_a_rule"]

LONGEST_SAID = 500  # characters of one prompt; what is longer describes a task, or was pasted
LONGEST_RULE = 200
LEAST_WORDS, MOST_WORDS = 3, 30
MOST_RULES = 4  # of one task

_SENTENCE_END = re.compile(r"(?<=[.!?;])\s+|\n+")
_OBJECTION = (
    r"no|nope|nah|wait|stop(?! \w+ing)|hold on|not like that|wrong"
    r"|(?:that's|that is|this is) (?:wrong|not (?:right|correct)|incorrect)"
)
_OBJECTS = re.compile(rf"(?:{_OBJECTION})\b(?!\s*\w+ed\b)", re.IGNORECASE)
_FILLERS = re.compile(
    rf"(?:(?:{_OBJECTION}|actually|again|also|and|but|fyi|hey|hm+|note|oh|ok(?:ay)?|please|remember|so|sorry|well|yes)"
    r"\b(?:\s*[,.:;!\u2014-]+\s*|\s+)(?:that\s+)?)+",
    re.IGNORECASE,
)
_WORK = (
    r"(?:add|amend|apply|ask|bump|change|check out|commit|create|delete|deploy|disable|edit|force[- ]push|format"
    r"|git-?ignore|hand-?edit|hard-?code|import|install|keep|lint|log|merge|mock|modify|name|open|prefer|prefix|publish"
    r"|push|put|rebase|release|remove|rename|restart|revert|run|sign|skip|squash|start|test|touch|update|upgrade|use"
    r"|write)"
)
_PLEASANT = (
    r"(?:an?|be|been|by|good|great|had|happens|happy|here|is|mind|say|up|was|works?|\w+ing)"  # always happy to help
)
_NAMED = r"(?!(?:an?|both|either|my|option|the|whatever|your)\b)\S+"  # not "the other one"
_HERE = (
    r"(?:(?:here|in|for|on|at) (?:this|our) (?:code ?base|company|module|package|project|repo(?:sitory)?|service|team))"
)
# Of any prompt.
_STANDING = re.compile(
    rf"(?:you (?:must|should) )?(?:never|always) {_WORK}\b|(?:do not|don't) ever \w|from now on\b|{_HERE},? \w"
    rf"|we (?:always|never|only) {_WORK}\b|we (?:do not|don't) (?:{_WORK}|do)\b|we (?:only )?use \S.{{0,80}}\b"
    rf"(?:here|instead|never|not|rather than)\b|(?:use|run) \S.{{0,80}}? (?:{_HERE}|not \S+ here)"
    rf"|(?:do not|don't) {_WORK} \S.{{0,80}}? {_HERE}",
    re.IGNORECASE,
)
# Of a prompt that corrects what was done.
_CORRECTING = re.compile(
    rf"we (?:use|have to|must)\b|(?:always|never) (?!{_PLEASANT}\b)\w"
    rf"|(?:do not|don't) {_WORK}\b|avoid \w+ing\b|stop (?:add|commit|creat|edit|mock|push|us|writ)\w*ing \w"
    rf"|(?:use|prefer) {_NAMED}.{{0,80}}?\b(?:instead|rather than|over|never|not)\b"
    r"|run \S.{0,60}? before (?:you |every |each )?(?:commit|push|open)\w*",
    re.IGNORECASE,
)
# Of a prompt that begins with an objection.
_OBJECTING = re.compile(
    r"(?:the|all|every|each|our|new)\b.{1,80}?\b(?:must|has to|have to)\b"
    rf"|(?:only|\w+s) (?:go|goes|belong|belongs|live|lives) (?:in|into|to|under)\b|use {_NAMED}",
    re.IGNORECASE,
)
_ONCE = re.compile(
    r"\b(?:it|this|that|these|those|them|they|yet|now|today|first|again|above|below|so far|anymore|for the moment|"
    r"you (?:did|just|made|wrote)|(?:line|file|step|option|test) \d+)\b",
    re.IGNORECASE,
)
_REASON = re.compile(
    r"(?:,|;|\s\u2014|\s-)\s|\s(?:because|so that|since|otherwise|or else|until|when|if)\s", re.IGNORECASE
)
_PASTED = re.compile(r"```|^\s*(?:[<>{|#*]|\d+[.)]|[-*] )|https?://\S+\s*$|\bTraceback\b", re.MULTILINE)


def rules_in(task: str, *, recorded: bool = True) -> list[str]:
    """The rules in the prompts of a task, as it has them: the first, then those that steered it, parted by empty lines.

    Of a task that was not ``recorded`` an agent told the words; which of them steered it is not known. Each rule is as
    it was typed, without what leads up to it ("no, please"), with the sentence behind it where it is short.
    """
    found: dict[str, None] = {}
    for place, said in enumerate(task.split("\n\n")):
        for rule in _rules(said.strip().replace("\u2019", "'"), steers=recorded and place > 0):
            found.setdefault(rule)
    return list(found)[:MOST_RULES]


def states_a_rule(said: str) -> bool:
    """Whether a prompt that steers has one."""
    return next(_rules(said.strip().replace("\u2019", "'"), steers=True), None) is not None


def _rules(said: str, *, steers: bool) -> Iterator[str]:
    if not said or len(said) > LONGEST_SAID or _PASTED.search(said):
        return
    objects = _OBJECTS.match(said) is not None
    rule = ""
    for sentence in _SENTENCE_END.split(said):
        plain = _FILLERS.sub("", sentence, count=1) if _FILLERS.match(sentence) else sentence
        if _is_rule(plain, steers=steers or objects, objects=objects):
            if rule:
                yield rule
            rule = plain.rstrip(" ;")
        elif rule and plain and not plain.endswith("?") and len(rule) + len(plain) < LONGEST_RULE:
            yield f"{rule} {plain}"
            rule = ""
        elif rule:
            yield rule
            rule = ""
    if rule:
        yield rule


def _is_rule(sentence: str, *, steers: bool, objects: bool) -> bool:
    words = len(sentence.split())
    if not LEAST_WORDS <= words <= MOST_WORDS or len(sentence) > LONGEST_RULE or sentence.endswith("?"):
        return False
    if _STANDING.match(sentence):
        return True
    if not steers or _ONCE.search(_REASON.split(sentence, maxsplit=1)[0]):
        return False
    return bool(_CORRECTING.match(sentence) or (objects and _OBJECTING.match(sentence)))
