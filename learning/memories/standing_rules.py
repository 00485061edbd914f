"""What a person told an agent about how work is done here, and not only this once: ``never push to main``.

Precision goes first: a task says a great deal about the product ("always show the total"), and a correction mostly
means the work at hand ("don't commit yet"). A sentence counts that says of itself that it holds from now on and speaks
to whoever does the work; or that asks for a way of working by its form and names something that only the work has to do
with: a tool, a branch, tests, migrations.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from prowess.learning.memories.form_words import AS_USER
from prowess.learning.memories.form_words import WORK as _WORK
from prowess.learning.memories.interchangeable import ROLE_TOOLS, given_up_by, prefers
from prowess.learning.memories.lasting_forms import clauses
from prowess.learning.memories.lasting_forms import lasting as lasting_from
from prowess.learning.memories.withdrawals import lifted, takes_back, withdrawal
from prowess.learning.memories.work_words import ADDS_THAT, is_of_product, names_work

__all__ = ["SENTENCE_END", "may_hold_rules", "only_lifts", "rules_in", "says_how"]

LONGEST_SAID = 500  # characters of one prompt; what is longer describes a task, or was pasted
LONGEST_READ = 2_000  # characters of one that are looked through for what says by itself that it lasts
LONGEST_RULE = 240
LEAST_WORDS, MOST_WORDS = 3, 40
LEAST_LASTING = 2  # words: "no emojis"
MOST_POINTING = 12  # words of a sentence that says too little without the one before it
MOST_RULES = 4  # of one task

# "Going forward. Never …" is one; behind "#" stands what Claude Code is to keep.
SENTENCE_END = re.compile(
    r"(?<=[.!?;])(?<!going forward\.)(?<!from now on\.)(?<!\s\d\.)(?:\s+|(?=#))|\n+", re.IGNORECASE
)
_OBJECTION = (
    r"no(?! (?:more )?need\b)|nope|nah|wait|stop(?! \w+ing)|hold on|not like that|wrong"
    r"|(?:that's|that is|this is) (?:wrong|not (?:right|correct)|incorrect)"
)
_OBJECTS = re.compile(rf"(?:{_OBJECTION})\b(?!\s*\w+ed\b)", re.IGNORECASE)
_FILLERS = re.compile(
    rf"(?:#+\s*|(?:{_OBJECTION}|actually|again|also|and|btw|but|by the way|fyi|heads[- ]up|hey|hm+|note|oh|ok(?:ay)?"
    r"|please|pls|plz|remember|so|sorry|well|yes"
    r"|(?:as )?I(?:'ve)? (?:already )?(?:said|told you)(?: already| before)?(?=\s?[,:]))"
    r"\b(?:\s*[,.:;!\u2014-]+\s*|\s+)(?:that\s+)?)+",
    re.IGNORECASE,
)
_PLEASANT = (
    r"(?:an?|be|been|by|good|great|had|happens|happy|here|is|mind|say|up|was|works?|\w+ing)"  # always happy to help
)
_NAMED = r"(?!(?:an?|both|either|my|option|the|whatever|your)\b)\S+"  # not "the other one"
_HERE = (
    r"(?:(?:here|in|for|on|at) (?:this|our) (?:code ?base|company|module|package|project|repo(?:sitory)?|service|team))"
)
_WHEN = (
    r"(?:(?:from now|from here) on(?: out)?|going forward|next time"
    rf"|(?:whenever|(?:each|every|any) ?time) you (?!{AS_USER}\b)\w+"
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
    r"|(?:never|do not|don'?t) \w.{0,80}? (?:without (?:asking(?! (?:an?|for|the|them|it)\b)|my \w|telling me)"
    r"|unless I (?:approve|ask|say|tell)\b)"
    r"|I (?:have|need|want) to approve (?:all|any|any and all|each|every)"
    r" (?:changes?|commands?|commits?|deletions?|deploys?"
    r"|edits?|merges?"
    r"|migrations?|plans?|PRs?|push(?:es)?|releases?|steps?)\b"
    r"|(?:.{0,30}\b)?(?:important|general|golden|hard|my|our) (?:convention|principle|rule)"
    rf"(?: (?:for|here|in|is) [^:]{{0,60}})?(?: is)?:\W{{0,2}}"
    rf"(?:{_TOLD}|{_WORK}|all|each|every|if|no|one|we|when|you)\b"
    r"|(?:our|the) (?:convention|rule) (?:here |in this \w+ )?is:? (?:that |to )*"
    r"(?:always|do not|don'?t|never|no|one|we|you)\b",
    re.IGNORECASE,
)
_THEN = re.compile(r",?\s+please\s", re.IGNORECASE)  # what is to be done at once stands behind it
# Of any prompt.
_STANDING = re.compile(
    rf"(?:you (?:must|should) )?(?:never|always) {_WORK}\b|(?:do not|don'?t) ever \w|from now on\b|{_HERE},? \w"
    r"|(?:this|our|the) (?:code ?base|company|project|repo(?:sitory)?|team) (?:always |only )?(?:follows|is on"
    r"|requires|runs on|uses) \w"
    r"|we(?:'re| are) (?:using|on) \S+(?:,? (?:here|instead|not)\b|,)"
    r"|we (?:do not|don'?t|dont) need (?!.*\b(?:it|these|this|yet)\b)\w"
    r"|we (?:branch (?:from|off|out)\b|(?:commit|deploy|merge|push|rebase|release|squash) (?!it|that|the|this)\w)"
    rf"|we (?:always|never|only) {_WORK}\b|we (?:do not|don'?t) (?:{_WORK}|do)\b"
    rf"|we (?:only )?use (?!(?:it|that|these|this|those)\b)\S.{{0,80}}\b(?:here|instead|never|not|rather than)\b"
    rf"|(?:use|run) \S.{{0,80}}? (?:{_HERE}|not \S+ here)"
    r"|(?:(?:do not|don'?t|dont|never) )?use (?!(?:it|that|the|these|this|those)\b)\S+ here\W*$"
    rf"|(?:do not|don'?t) {_WORK} \S.{{0,80}}? (?:{_HERE}|to (?:this|our) (?:code ?base|project|repo(?:sitory)?)\b)",
    re.IGNORECASE,
)
# Of a prompt that corrects what was done.
_CORRECTING = re.compile(
    rf"we (?:use|have to|must)\b|(?:always|never) (?!{_PLEASANT}\b)\w"
    rf"|(?:do not|don'?t) {_WORK}\b|avoid \w+ing\b|stop (?:add|chang|commit|creat|delet|edit|install|mock|modify|push"
    rf"|runn|us|writ)\w*ing \w"
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
_DAY = r"(?:(?:mon|tues|wednes|thurs|fri|satur|sun)day)"
_FOR_A_WHILE = re.compile(
    rf"\b(?:until|till) (?:(?:this|next|the end of the) )?(?:{_DAY}|today|tomorrow|tonight|weekend|week|month|sprint"
    r"|morning|afternoon|evening)\b",
    re.IGNORECASE,
)
# What goes wrong now, and what is to be done now.
_OF_TASK = re.compile(
    r"^(?:can|could|will|would) (?:u|we|you)\b"
    r"|^stop running (?!.*\b(?:after|all the time|always|before|constantly|each|every|unless|without)\b)"
    rf"|\b(?:until|till|by|next|this) (?:{_DAY}|today|tomorrow|tonight|week|month|sprint|morning|afternoon"
    r"|evening)\b"
    rf"|^we (?:do not|don'?t|dont) .*\bon {_DAY}\b"
    r"|\b(?:until|till) (?:it|next|the \w+(?: \w+)? (?:is|are)|then|they|we)\b"
    r"|\b(?:commit|merge|stage)\w* .*\b(?:batch|chunk|insert|offset|record|row|transaction)(?:es|s)?\b"
    r"|\b(?:any ?more|there(?:'s| is| are)|I|let's|(?<!n't )(?<!not )(?<!dont )need|want|fix|find|how|why|what|which"
    r"|where|but|bugs?|fail\w*|broken"
    r"|slow|crash\w*|takes?|yet|(?<!from )now|since|(?:if|when|while|once) the)\b|\bplease \w|\bbefore\W*(?:$|,)"
    r"|\bin (?:the|an?|this) (?:\w+ ){0,2}(?:api|component|form|list|page|payload|response|table|title|docs"
    r"|dockerfile|image|job|json|readme|script|workflow)\b"
    r"|^(?:always|never) (?:g[eo]t|had|\w+ed)\b|^we (?:have to|must)\b|^the .*\b(?:must|has to|have to)\b"
    rf"|^run\b(?!.* before )|^use\b(?!.* (?:always|here|instead|never|not|only|over|rather)\b|.*{_HERE}\W*$)"
    r"|^(?:do not|don'?t) (?:\w+ (?:an?|any|my|the|your)\b|(?:re)?start\b|(?:open|install|revert|keep)\b)"
    r"|\b(?:for|from|in|of|to) \S+\.(?!md\b)[a-z]{1,5}\b|^use\b.*\bfor the \w+\W*$"
    rf"|^use .*{_HERE} \w|^{_HERE},? (?!(?:all|always|do not|don'?t|every|never|no|only|use|we|you)\b"
    r"|.* (?:is|are) (?:\w+e[dn]|run)\b)",
    re.IGNORECASE,
)
_FOR_AGENTS = re.compile(r"(?:you are an? |your (?:task|job|role) is |act as )", re.IGNORECASE)  # as programs begin
_LISTED = re.compile(r"\s*(?:[-*]|\d+[.)])\s+")
_DEPENDS = re.compile(r"\b(?:it|this|that|these|those|them|they)\b", re.IGNORECASE)
_POINTS = re.compile(
    r"only (?:after|if|when) I\b|"
    r"(?:please )?(?:(?:from now on|next time),? )?(?:(?:always|never) )?(?:add|do|follow|keep|make|put|remember"
    r"|repeat|save|store|treat|use) (?:it|that|them|these|this|those)\b",
    re.IGNORECASE,
)
# What was done, which "we never do that here" speaks of.
_POINTS_BACK = re.compile(
    r"(?:we|you) (?:never|do not|don'?t|dont) (?:ever )?(?:do|want|allow|accept) (?:it|that|this|things)(?: (?:here"
    r"|like (?:that|this)|that way|this way|in this \w+))*(?:\W*$|,)"
    r"|(?:please )?(?:never|do not|don'?t|dont) (?:ever )?do (?:it|that|this)(?: like that)? again\b",
    re.IGNORECASE,
)
_TELLS_WHAT = re.compile(
    r"(?:you(?:'ve| have)? (?:just |again |also )?(?:\w+ed|put|wrote|ran|made|did|took|left|set) \S"
    r"|you(?:'re| are) \w+ing \S|(?:do not|don'?t|never|stop) \w+ \S)(?!.*\?)",
    re.IGNORECASE,
)
_DONE = re.compile(
    r"\b(?:(?:to|you|don'?t|do not|stop) (?:amend|ask|commit|push|rebase|squash|force[- ]push)\w*"
    r"|(?:committing|pushing|rebasing|squashing|force[- ]push\w*)|(?:write|run|update) (?:the |any )*(?:docs|docstrings"
    r"|tests|type hints))\b",
    re.IGNORECASE,
)
_FOLLOWS = re.compile(r"\b(?:so|then)\s*$|^(?:if|when|once|after|as soon as)\b", re.IGNORECASE)
_NEXT = re.compile(  # what is to be done now
    r"(?:(?:and|also|now|ok(?:ay)?|please|so|then),? )*(?:add|build|change|continue|create|delete|fix|go|implement"
    r"|improve|look|make|move|proceed|refactor|remove|rename|show|start|try|update|write)\b",
    re.IGNORECASE,
)
# What of it is to be done at once: "all scripts should have a header, add that".
_DO_THAT = re.compile(
    r"(?!(?:after|any ?time|before|each time|every ?time|if|once|when(?:ever)?)\b).*[,;-] (?:and |please |so |then )*"
    r"(?:add|build|change|convert|correct|do|fix|implement|make|rewrite|update|write)"
    r" (?:it|that|them|these|this|those|the ones)\b[^,;]{0,40}$",
    re.IGNORECASE,
)
# What makes a question, or a joke, of the sentence before it.
_ASKS_OF_IT = re.compile(
    r"(?:just )?(?:kidding|jk)\b|(?:why(?: (?:do(?:n't)? we|is (?:it|that|this)|not|that)\b[^?]*)?|how come\b[^?]*"
    r"|(?:or )?(?:correct|not|really|right|true)"
    r"|(?:is(?:n't)? (?:it|that|this)|are we|did we|do(?:n't)? we|does (?:it|that)|what do you think)\b"
    r"(?! (?:clear|ok(?:ay)?|understood))[^?]*)\?",
    re.IGNORECASE,
)
_MAIL = r"^(?i:cc|from|subject): \S"
_CODE = re.compile(rf"```|\bTraceback\b|<\w+>|{_MAIL}", re.MULTILINE)
_PASTED = re.compile(_MAIL + r"|```|^\s*(?:[<>{|#*]|\d+[.)]|[-*] )|https?://\S+\s*$|\bTraceback\b", re.MULTILINE)


def rules_in(task: str) -> list[str]:
    """The rules in the prompts of a task, as it has them: the first, then those that steered it, parted by empty lines.

    Each is as it was typed, without what leads up to it ("no, please"), with the sentence behind it where it is short.
    What a later one takes back is not among them.
    """
    found: dict[str, None] = {}
    for place, said in enumerate(task.split("\n\n")):
        for rule in _rules(_typed(said), steers=place > 0, lasting=True):
            found = {earlier: None for earlier in found if not takes_back(rule, earlier)}
            found.setdefault(rule)
    return list(found)[:MOST_RULES]


def says_how(said: str) -> bool:
    """Whether a prompt that steers says how to go on, be it for this once."""
    return next(_rules(_typed(said), steers=True, lasting=False), None) is not None


def only_lifts(rule: str) -> bool:
    """Whether a rule asks for nothing, so that it is told only where it took another back."""
    found = lifted(rule)
    if found is None or found.new in ROLE_TOOLS or given_up_by(rule):
        return False
    return bool(found.allowed) or lasting_from(rule, steers=False) < 0


def _typed(said: str) -> str:
    said = said.strip().replace("\u2019", "'")
    return said if "\n" in said else said.lstrip("# ")  # a line alone is no heading


def _rules(said: str, *, steers: bool, lasting: bool) -> Iterator[str]:
    typed = _is_typed(said)
    if not (typed or lasting) or (lasting and not may_hold_rules(said)):
        return
    objects = _OBJECTS.match(said) is not None
    rule = before = ""
    for sentence in _stated(said):
        plain = _FILLERS.sub("", sentence, count=1) if _FILLERS.match(sentence) else sentence
        is_rule = typed and _is_rule(plain, steers=steers or objects, objects=objects)
        told = plain if is_rule else ""
        if lasting:
            told = _lasting_part(sentence, plain, typed=typed, steers=steers, is_rule=is_rule)
            told = _pointing(told, plain, before if typed else "") or (
                _lifting_part(plain, said) if typed and not told else ""
            )
        if lasting and _points(told):
            rule, told = _with_what_it_means(rule, before, told)
        if told:
            if rule:
                yield rule.rstrip(" ;")
            rule = _without_task(told)
        elif rule:
            whole = f"{rule} {plain}" if typed and _goes_on(plain, rule) else rule
            yield whole.rstrip(" ;")
            rule = ""
        before = told or plain
        if lasting and plain.endswith(":"):
            break  # what follows is somebody's words
    if rule:
        yield rule.rstrip(" ;")


def _stated(said: str) -> Iterator[str]:
    """The sentences but for those that the next one makes a question of: "we never push to main. Is that right?"."""
    sentences = SENTENCE_END.split(said)
    for sentence, behind in zip(sentences, [*sentences[1:], ""], strict=True):
        if not (_ASKS_OF_IT.match(behind) or _ASKS_OF_IT.match(sentence)):
            yield sentence


def _pointing(told: str, plain: str, before: str) -> str:
    """``told``, or a sentence that tells nothing without the one before it, where that one says what was done."""
    if _POINTS_BACK.match(told or plain):
        return plain if _TELLS_WHAT.match(before) else ""
    return told


def _points(told: str) -> bool:
    return bool(_POINTS.match(told) or _POINTS_BACK.match(told))


def _without_task(told: str) -> str:
    """A rule without what is to be done at once, which "please" begins, where enough is left to be one."""
    rule = _THEN.split(told, maxsplit=1)[0]
    return rule if len(rule.split()) > LEAST_WORDS else told


def _is_typed(said: str) -> bool:
    return 0 < len(said) <= LONGEST_SAID and not _PASTED.search(said)


def may_hold_rules(said: str) -> bool:
    """Whether a prompt is looked through for what lasts: of one that is long or has a list only what says so itself."""
    return not _FOR_AGENTS.match(said) and (_is_typed(said) or (len(said) <= LONGEST_READ and not _CODE.search(said)))


def _with_what_it_means(rule: str, before: str, told: str) -> tuple[str, str]:
    """The rule so far, and a sentence that points at the one before it together with that one.

    "Do it like that every time" alone tells a later session nothing: "" for it.
    """
    if before and not before.endswith("?") and len(before) + len(told) < LONGEST_RULE:
        return ("" if rule == before else rule), f"{before} {told}"
    return rule, told if len(told.split()) > MOST_POINTING else ""


def _lasting_part(sentence: str, plain: str, *, typed: bool, steers: bool, is_rule: bool) -> str:
    """What of a sentence is a rule for good; "" without such."""
    if ADDS_THAT.match(plain):
        return ""
    if (is_rule and _is_of_work(plain)) or (typed and _lasts(plain)):
        return plain
    for said in dict.fromkeys((_LISTED.sub("", sentence), plain)):
        begin = lasting_from(said, steers=steers and typed) if _can_be_rule(said, least=LEAST_LASTING) else -1
        if begin >= 0 and not _DO_THAT.match(said, begin):
            return said if _DEPENDS.search(said[begin:]) else said[begin:]
    return next((part for begin in clauses(plain) if _is_standing(part := plain[begin:])), "")


def _lifting_part(plain: str, said: str) -> str:
    """What of a sentence takes a rule back; of a later clause only what does not follow from what is done first."""
    if (found := withdrawal(plain, said)) and _lifts_work(found):
        return found
    for begin in clauses(plain):
        found = withdrawal(plain[begin:], said)
        if found and (_uses(found) or not _FOLLOWS.search(plain[:begin])) and _lifts_work(found) and not _allows(found):
            return found
    return ""


def _lifts_work(clause: str) -> bool:
    """Whether it is about the way of working, or about a rule: "don't open the popup any more" is neither."""
    found = lifted(clause)
    return found is not None and bool(found.allowed or found.about or names_work(clause) or _DONE.search(clause))


def _uses(clause: str) -> bool:
    found = lifted(clause)
    return found is not None and bool(found.new)


def _allows(part: str) -> bool:
    found = lifted(part)
    return found is not None and bool(found.allowed)


def _is_standing(clause: str) -> bool:
    """Whether a clause that is not the first says what is always done: the rest of its sentence is of the task."""
    return (
        _can_be_rule(clause) and bool(_STANDING.match(clause)) and not _DEPENDS.search(clause) and _is_of_work(clause)
    )


def _can_be_rule(sentence: str, least: int = LEAST_WORDS) -> bool:
    words = len(sentence.split())
    fits = least <= words <= MOST_WORDS and len(sentence) <= LONGEST_RULE
    return fits and not sentence.endswith("?") and not _FOR_A_WHILE.search(sentence)


def _lasts(sentence: str) -> bool:
    return _can_be_rule(sentence) and _LASTING.match(sentence) is not None and not is_of_product(sentence)


def _is_rule(sentence: str, *, steers: bool, objects: bool) -> bool:
    if not _can_be_rule(sentence):
        return False
    if _STANDING.match(sentence) or _LASTING.match(sentence) or prefers(sentence):
        return True
    if not steers or _ONCE.search(_REASON.split(sentence, maxsplit=1)[0]):
        return False
    return bool(_CORRECTING.match(sentence) or (objects and _OBJECTING.match(sentence)))


def _goes_on(sentence: str, rule: str) -> bool:
    """Whether what is said behind a rule may belong to it: "Open a PR", and not "Now fix the header"."""
    fits = bool(sentence) and len(rule) + len(sentence) < LONGEST_RULE
    return fits and not (sentence.endswith("?") or lifted(rule) or _OF_TASK.search(sentence) or _NEXT.match(sentence))


def _is_of_work(sentence: str) -> bool:
    """Whether it is about the way of working, and for good."""
    if _OF_TASK.search(sentence):
        return False
    return names_work(sentence)
