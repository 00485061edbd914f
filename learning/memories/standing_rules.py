"""What a person told an agent about how work is done here, and not only this once: ``never push to main``.

Precision goes first: a task says a great deal about the product ("always show the total"), and a correction mostly
means the work at hand ("don't commit yet"). A sentence counts that says of itself that it holds from now on and speaks
to whoever does the work; or that asks for a way of working by its form and names something that only the work has to do
with: a tool, a branch, tests, migrations.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from prowess.learning.synthesis.commands import PROJECT_TOOLS

__all__ = ["permits", "rules_in", "says_how"]

LONGEST_SAID = 500  # characters of one prompt; what is longer describes a task, or was pasted
LONGEST_RULE = 200
LEAST_WORDS, MOST_WORDS = 3, 30
MOST_RULES = 4  # of one task

# "Going forward. Never …" is one; behind "#" stands what Claude Code is to keep.
_SENTENCE_END = re.compile(
    r"(?<=[.!?;])(?<!going forward\.)(?<!from now on\.)(?<!\s\d\.)(?:\s+|(?=#))|\n+", re.IGNORECASE
)
_OBJECTION = (
    r"no|nope|nah|wait|stop(?! \w+ing)|hold on|not like that|wrong"
    r"|(?:that's|that is|this is) (?:wrong|not (?:right|correct)|incorrect)"
)
_OBJECTS = re.compile(rf"(?:{_OBJECTION})\b(?!\s*\w+ed\b)", re.IGNORECASE)
_FILLERS = re.compile(
    rf"(?:#+\s*|(?:{_OBJECTION}|actually|again|also|and|btw|but|by the way|fyi|hey|hm+|note|oh|ok(?:ay)?|please"
    r"|remember|so|sorry|well|yes)"
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
_WHEN = (
    r"(?:(?:from now|from here) on(?: out)?|going forward|next time|whenever you \w+|(?:each|every|any) ?time you \w+"
    r"|(?:at )?(?:the )?(?:start|beginning|end) of (?:each|every) \w+"
    r"|(?:after|before|with) (?:each|every|any) (?:change|commit|edit|feature|fix|merge|PR|pull request|push|release"
    r"|session)s?)"
)
_SUPPOSED = r"(?:(?:if|when) .{1,80}?, )?(?:please )?"
_MUST = r"(?:must|need to|should)"
_YOU = rf"(?:you {_MUST} (?!(?:\w+ )?(?:be|find|get|have|know|land|see)\b)|(?:I'?d like|I (?:need|want)) you to )"
_TOLD = r"(?:always|ask|check|don'?t|let me|make sure|never|only|tell|verify)"  # to whoever works, not of a product
_ASKED = rf"(?:(?:{_TOLD}|{_WORK}|answer|do|explain|let'?s|make|read|reply|review|save|show|stop|we {_MUST})\b|{_YOU})"
_AT_WORK = r"(?:amend|commit|deploy|hard-?code|install|lint|manually \w+|merge|mock|push|rebase|run|skip|squash|test)"
# Of any prompt, and enough by itself: it says for how long, whom it speaks to, or that somebody is to be asked.
_LASTING = re.compile(
    rf"{_WHEN}[,.:]? {_SUPPOSED}{_ASKED}"
    rf"|(?:for|in) (?:the )?future[,.:]? {_SUPPOSED}(?:{_TOLD}\b|{_YOU})"
    rf"|(?:commit|format|lint|push|run|test) .{{0,80}}?\b{_WHEN}\W*$"
    r"|(?!.*\b(?:batch|insert|row|transaction))"
    r"(?:(?:commit|push to)\b.{0,80}? (?:after|before) (?:you \w+ )?(?:each|every) \w"
    r"|(?:never|do not|don'?t|stop) auto(?:matically )?[- ]?(?:amend|commit|push|rebas|stag)\w*)"
    rf"|I(?:'ve)? (?:already )?(?:told|asked) you (?:(?:never|not) to {_AT_WORK}|to (?:always|never) {_WORK})\b"
    r"|(?:ask (?:me )?)?(?:just |only )?one (?:change|commit|question|step|task|test|thing) at a time"
    r"(?:,? (?:please|pls|plz))?\W*$"
    rf"|{_YOU}(?:always|never) \w|(?:let'?s|we {_MUST}) (?:always|never) {_AT_WORK}\b"
    r"|(?:never|do not|don'?t) \w.{0,80}? (?:without (?:asking|my \w|telling me)|unless I (?:approve|ask|say|tell)\b)"
    r"|I (?:have|need|want) to approve (?:all|any|each|every)\b"
    r"|(?:.{0,30}\b)?(?:important|general|golden|hard|my|our) (?:convention|principle|rule)"
    r"(?: (?:for|here|in|is) [^:]{0,60})?: ?\S",
    re.IGNORECASE,
)
_THEN = re.compile(r",?\s+please\s", re.IGNORECASE)  # what is to be done at once stands behind it
# Of any prompt.
_STANDING = re.compile(
    rf"(?:you (?:must|should) )?(?:never|always) {_WORK}\b|(?:do not|don'?t) ever \w|from now on\b|{_HERE},? \w"
    rf"|we (?:always|never|only) {_WORK}\b|we (?:do not|don'?t) (?:{_WORK}|do)\b|we (?:only )?use \S.{{0,80}}\b"
    rf"(?:here|instead|never|not|rather than)\b|(?:use|run) \S.{{0,80}}? (?:{_HERE}|not \S+ here)"
    rf"|(?:do not|don'?t) {_WORK} \S.{{0,80}}? {_HERE}",
    re.IGNORECASE,
)
# Of a prompt that corrects what was done.
_CORRECTING = re.compile(
    rf"we (?:use|have to|must)\b|(?:always|never) (?!{_PLEASANT}\b)\w"
    rf"|(?:do not|don'?t) {_WORK}\b|avoid \w+ing\b|stop (?:add|commit|creat|edit|mock|push|us|writ)\w*ing \w"
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
# What the work has to do with, and no product.
_OF_WORK = re.compile(
    r"\b(?:(?:always|never|ever|don'?t|do not|we|only|stop) "
    r"(?:amend|commit|deploy|force[- ]push|push|rebase|squash)(?:ing)?"
    r"(?:\W*$|[,;.]|(?= (?:after|anything|before|by|directly|from|on|onto|secrets|straight|unless|without)\b))"
    r"|(?:to|on|from|into|against) (?:origin/)?(?:main|master|develop|trunk)\b|branch(?:es)?|worktrees?"
    r"|(?:apply|connect|deploy|push|run|test|touch|write)\w* .{0,30}\bprod(?:uction)?"
    r"|PRs?|MRs?|(?:pull|merge) requests?|commit messages?|conventional commits|commits|changelog"
    r"|(?:before|you) (?:commit|push)|git-?ignore|sudo|by hand|\.env|no-verify|CI|emojis?"
    r"|dependencies|lock ?files?|migrations?|(?:generated|vendored) (?:code|files?|clients?|sources?)"
    r"|(?:unit |integration )?tests|test (?:files?|suite|cases?)|mocks|mock the (?:db|database)|snapshots|fixtures"
    r"|coverage|lint\w*|formatters?|type hints|docstrings?|(?:add|writ)\w* (?:\w+ )?comments|code comments"
    r"|tabs\b.{0,20}\bspaces|spaces\b.{0,20}\btabs|in (?!the |this |that |your |my )\w+ code"
    r"|(?:answer|reply|respond|write|comment)\w* .{0,20}\bin (?:english|french|german|spanish|chinese|japanese))(?!\w)",
    re.IGNORECASE,
)
_TOOLS = PROJECT_TOOLS - frozenset(
    "dart go hatch helm just make mix next node nx rake rye swift task tofu turbo".split()  # noqa: SIM905
)  # which are words as well
# What goes wrong now, and what is to be done now.
_OF_TASK = re.compile(
    r"^(?:can|could|will|would) (?:u|we|you)\b"
    r"|\b(?:any ?more|there(?:'s| is| are)|I|let's|need|want|fix|find|how|why|what|which|where|but|bugs?|fail\w*|broken"
    r"|slow|crash\w*|takes?|yet|(?<!from )now|since|(?:if|when|while|once) the)\b|\bplease \w|\bbefore\W*(?:$|,)"
    r"|\bin (?:the|an?|this) (?:\w+ ){0,2}(?:docs|dockerfile|image|job|json|readme|script|workflow)\b"
    r"|^(?:always|never) (?:g[eo]t|had|\w+ed)\b|^we (?:have to|must)\b|^the .*\b(?:must|has to|have to)\b"
    rf"|^run\b(?!.* before )|^use\b(?!.* (?:always|here|instead|never|not|only|over|rather)\b|.*{_HERE}\W*$)"
    r"|^(?:do not|don'?t) (?:\w+ (?:an?|any|my|the|your)\b|(?:re)?start\b|(?:open|install|revert|keep)\b)"
    rf"|^use .*{_HERE} \w|^{_HERE},? (?!(?:all|always|do not|don'?t|every|never|no|only|use|we|you)\b"
    r"|.* (?:is|are) (?:\w+e[dn]|run)\b)",
    re.IGNORECASE,
)
_PERMITS = re.compile(
    r"(?:from now on,? )?(?:you|we) (?:can|may) (?:now )?(\w+ \w.{0,80}?)(?: again| now)*[.!]?", re.IGNORECASE
)
_FOR_AGENTS = re.compile(r"(?:you are an? |your (?:task|job|role) is |act as )", re.IGNORECASE)  # as programs begin
_PASTED = re.compile(r"```|^\s*(?:[<>{|#*]|\d+[.)]|[-*] )|https?://\S+\s*$|\bTraceback\b", re.MULTILINE)


def rules_in(task: str) -> list[str]:
    """The rules in the prompts of a task, as it has them: the first, then those that steered it, parted by empty lines.

    Each is as it was typed, without what leads up to it ("no, please"), with the sentence behind it where it is short.
    """
    found: dict[str, None] = {}
    for place, said in enumerate(task.split("\n\n")):
        for rule in _rules(_typed(said), steers=place > 0, lasting=True):
            found.setdefault(rule)
    return list(found)[:MOST_RULES]


def says_how(said: str) -> bool:
    """Whether a prompt that steers says how to go on, be it for this once."""
    return next(_rules(_typed(said), steers=True, lasting=False), None) is not None


def permits(rule: str) -> str:
    """What a rule allows, and does not ask for; "" elsewhere."""
    found = _PERMITS.fullmatch(rule)
    return found[1] if found else ""


def _typed(said: str) -> str:
    said = said.strip().replace("\u2019", "'")
    return said if "\n" in said else said.lstrip("# ")  # a line alone is no heading


def _rules(said: str, *, steers: bool, lasting: bool) -> Iterator[str]:
    if not said or len(said) > LONGEST_SAID or _PASTED.search(said) or (lasting and _FOR_AGENTS.match(said)):
        return
    objects = _OBJECTS.match(said) is not None
    rule = ""
    for sentence in _SENTENCE_END.split(said):
        plain = _FILLERS.sub("", sentence, count=1) if _FILLERS.match(sentence) else sentence
        counts = _is_rule(plain, steers=steers or objects, objects=objects)
        if lasting:
            counts = _lasts(plain) or (counts and _is_of_work(plain)) or bool(permits(plain))
        if counts:
            if rule:
                yield rule
            rule = _THEN.split(plain.rstrip(" ;"), maxsplit=1)[0]
        elif rule:
            yield f"{rule} {plain}" if _goes_on(plain, rule) else rule
            rule = ""
        if lasting and plain.endswith(":"):
            break  # what follows is somebody's words
    if rule:
        yield rule


def _can_be_rule(sentence: str) -> bool:
    words = len(sentence.split())
    return LEAST_WORDS <= words <= MOST_WORDS and len(sentence) <= LONGEST_RULE and not sentence.endswith("?")


def _lasts(sentence: str) -> bool:
    return _can_be_rule(sentence) and _LASTING.match(sentence) is not None


def _is_rule(sentence: str, *, steers: bool, objects: bool) -> bool:
    if not _can_be_rule(sentence):
        return False
    if _STANDING.match(sentence) or _LASTING.match(sentence):
        return True
    if not steers or _ONCE.search(_REASON.split(sentence, maxsplit=1)[0]):
        return False
    return bool(_CORRECTING.match(sentence) or (objects and _OBJECTING.match(sentence)))


def _goes_on(sentence: str, rule: str) -> bool:
    """Whether what is said behind a rule may belong to it: "Open a PR", and not "Now fix the header"."""
    fits = bool(sentence) and len(rule) + len(sentence) < LONGEST_RULE
    return fits and not (sentence.endswith("?") or permits(rule) or _OF_TASK.search(sentence))


def _is_of_work(sentence: str) -> bool:
    """Whether it is about the way of working, and for good."""
    if _OF_TASK.search(sentence):
        return False
    return _OF_WORK.search(sentence) is not None or not _TOOLS.isdisjoint(re.findall(r"[\w-]+", sentence.lower()))
