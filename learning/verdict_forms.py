"""Forms of what a person says of what was done: blame, praise, and what takes either back.

They are matched against a sentence in small letters, with its negations written out ("does not") and without the
interjection before it; each repetition has a bound, so that a hostile prompt costs no more than another.
"""

from __future__ import annotations

import re

__all__ = [
    "ASKS",
    "BEFORE",
    "BLAMES",
    "DECLINES",
    "DENIED",
    "FAULT",
    "LIMITS",
    "LIMITS_HERE",
    "NEGATED",
    "POLITE",
    "PRAISES",
    "SENTENCE_END",
    "SPACES",
    "SUPPOSES",
    "TAKEN_BACK",
    "THEN_BACK",
]


def _one_of(words: str) -> str:
    """A pattern for one of the words that a comma and a blank stand between, each of them a pattern."""
    return "(?:" + "|".join(re.split(r"\s*,\s+", words)) + ")"


NEGATED = re.compile(r"\b(do|does|did|is|are|was|were|has|have|had|would|could|should|can|ca|wo)(?:n'?t|'t|not)\b")
SPACES = re.compile(r"[ \t]{1,240}")
SENTENCE_END = re.compile(r"(?<=[.!?])\s{1,9}|\n{1,9}|,? but (?=(?:i|when|its?|it's|there|the|now|still)\b)")
_END = r"\W{0,9}$"

# Behind a "no" that denies trouble: "no new errors"; and what denies it elsewhere: "we see no errors", "0 failed".
_TROUBLE_DENIED = (
    r" (?:(?:build|compile|console|further|lint|more|new|other|runtime|syntax|type) ){0,2}"
    + _one_of(
        "bugs?, crash(?:es)?, errors?, exceptions?, failures?, issues?, problems?, regressions?, tests?, warnings?"
    )
    + r"\b"
)
_DENIES = r"\b(?:0|never|no(?! such)|none|not(?! found)|without|zero)\b"

# What a person says before the point: a picture, an interjection, a doubt.
_INTERJECTIONS = _one_of(
    rf"ok(?:ay)?, alright, yes, yeah, yep, no(?!{_TROUBLE_DENIED}| (?:change|complaint|difference|effect)s?\b), nope"
    r", hm{1,9}, u[ghm]{1,9}, a{1,9}h{1,9}, oh, he{1,9}y{1,9}, wow, well(?! done), so(?! far)"
    r", but, and, also, now, sorry, wait, hold on, unfortunately, actually, somehow, again, to say, in that case"
    r", i (?:think|guess|believe), (?:it )?(?:seems|appears|looks like)(?: like| that)?"
)
_NO_INTERJECTION = r"(?! (?:am|are|better|good|great|is|right|such|there)\b)"  # "now is", "it looks like such a"
BEFORE = re.compile(
    rf"(?:\W{{0,9}}(?:\[(?:image|pasted text)[^\]\n]{{0,40}}\]"
    rf"|{_INTERJECTIONS}(?=\W){_NO_INTERJECTION})){{0,9}}\W{{0,9}}"
)
ASKS = re.compile(
    _one_of(
        r"add, are, can, change, check, could, create, do, does, ensure, explain, fix, for, give, go, how, if(?! i\b)"
        r", in, is, keep, lets?, let's, make, move, please, put, remove, run, see, set, should, show, tell, test"
        r", update, use, verify, what, will, would, write, you (?:can|must|need), i (?:need|tried|want|would)"
    )
    + r"\b(?! (?:are|broke|crash|did|does|fail|had|has|is|not|pass|still|was|were|work)(?:e[ds]|ed|s)?\b)"
)

# A statement begins with such a subject; then come other words, but none that turns its sense.
_SUBJECT = (
    _one_of(
        "all, both, everything, i, i'm, im, it, it's, its, my, now, our, same, that, that's, thats, the, there, there's"
        ", these, they, they're, this, those, we, you, your"
    )
    + r"\b(?:(?!\b(?:but|how|if|never|no|none|not|nothing|so|still|until|when|whether)\b)[^.!?;\n]){0,60}? "
)
_ANY_SUBJECT = r"(?:[^\s.!?;\n]{1,30} ){0,5}?"
_COPULA = "it's, its, that's, thats"  # as they are written for "it is"
_TROUBLE = _one_of(
    r"\b\w{0,30}errors?\b, blank, exception, failed, failure, no such, not found, traceback, unable, \b[45]\d\d\b"
)

_STILL = (
    rf"{_ANY_SUBJECT}still (?!(?:(?:a|an|the) )?"
    + _one_of(
        rf"be, builds?, compiles?, correct, fine, fits?, going, good, great, green, happy, have to, holds?, in"
        rf" progress, learning"
        rf", like, love, (?:feels?|looks?|reads?|seems?) (?:amazing|fine|good|great|nice|ok|perfect"
        rf"|right), need, no{_TROUBLE_DENIED}"
        ", ok(?:ay)?, pass(?:es|ing)?, perfect, possible, relevant, runs?, running, should, there, think, thinking"
        ", to, true, use"
        ", valid, wait, want, work(?:ing|s)?"
    )
    + r"\b)|(?:(?:that|the|this) )?(?:bug|error|issue|problem)s? (?:came back|is back|is not (?:fixed|gone|solved)"
    r"|persist|remain)"
    r"|(?:it is the |it's the |its the |the )?same\b(?: \S{1,30}){0,3}? (?:bug|error|here|issue|problem|result)\b"
    rf"|(?:it's|its|it is) the same\b|(?:please |just )?(?:(?:try|do) (?:it |this |that )?again|retry){_END}"
)
_NOT_DOING = (
    r"not (?:(?:\w{1,12}ly|at all|being|even|get|getting|quite|yet) )?(?:(?:appear|seem)(?:ing)? to )?"
    + _one_of(
        r"appear, being, build, center, chang, clos, compil, connect, correct, creat, deploy, display, do any, exist"
        r", fire, fix, found, go away, great\b(?! at), look (?:good|great|like|nice"
        r"|right)\b, good\b, help, load, mov, open, pass, pick, present, render, respect, respond,"
        r" right\b"
        r", run, sav, show, start, stop, sync, trigger, updat, visible, work"
    )
)
_THING = r"(?:it|that|the (?:\S{1,30} ){0,2}?\S{1,30}|they|this)"
_NOT_WORKING = (
    rf"(?:{_SUBJECT}(?:{_one_of(f'are, can, did, do, does, has, have, is, just, was, were, {_COPULA}')} ?)?)?"
    rf"{_NOT_DOING}"
    rf"|{_ANY_SUBJECT}(?:are|did|does|is|was|were) {_NOT_DOING}"
    r"|(?:i|we) (?:also )?(?:can|could|do) not (?:even |really )?"
    + _one_of(
        "access, click, connect, drag, edit, find, get it to, hear, input, load, log, move, open, run, save, scroll"
        ", see, select, type"
    )
    + r"\b|nothing (?:has |have )?(?:appear|chang|happen|show|work)|none of (?:it|my|that|the|these|this|your)\b"
    # "the swap not working", "why does it not load"
    rf"|(?:(?!(?:am|and|but|i|if|or|please|we|when|which|who|why"
    rf"|you)\b)[^\s.!?;\n]{{1,30}} ){{1,4}}?{_NOT_DOING}e?ing\b"
    rf"|why (?:are|did|do|does|is) (?:not {_THING}|{_THING} not) "
    r"(?:appear|build|connect|load|open|render|run|sav|show|start|updat|work)"
)
_BROKEN = (
    rf"{_SUBJECT}(?:(?:are|is) )?no longer "
    # To appear, run or open no more may be what was asked for.
    + _one_of(
        "build(?:ing|s)?, clickable, compil(?:es?|ing), connect(?:ing|s)?, load(?:ing|s)?, pass(?:es|ing)?"
        ", respond(?:ing|s)?, sav(?:es?|ing), work(?:ing|s)?"
    )
    + rf"\b(?! (?:each|every|if|on every|twice|unless|until|when|without)\b)"
    rf"|{_SUBJECT}keeps? (?:on )?(?!going|growing|improving|running|working)\w{{2,20}}ing\b|"
    rf"{_SUBJECT}(?:just |also |always |then )?"
    + _one_of(
        "breaks, broke, crash(?:ed|es|ing), disappear(?:ed|s), fail(?:ed|ing|s), freezes, froze, got stuck, hangs"
    )
    + r"\b|(?!nothing\b)"
    rf"(?:(?!{_DENIES})[^\s.!?;\n]{{1,30}} ){{1,4}}?(?:broke|crashed|crashes|failed|stopped)(?: again)?{_END}"
    rf"|(?:{_SUBJECT}{_one_of('are, got, is, looks?, seems?, was, were, ' + _COPULA)}|now|{_one_of(_COPULA)})"
    r"(?: a bit| a lot| all| completely| even| just| now| totally)? "
    + _one_of(
        "awful, bad, blank, cheap, broken, crashing, dull, empty, failing, gone, horrible, incorrect, invisible"
        ", messed up, missing"
        ", not it"
        ", stuck, terrible, ugly, unchanged, useless, weird, worse, wrong"
    )
    + r"\b"
)
_TOLD = rf"(?:(?!{_DENIES})[^.!?\n]){{0,50}}?{_TROUBLE}"
_ERRORS = (
    r"[^.!?\n]{0,70}?\b(?:am|are|i|i'm|im|we|we're)(?: also| am| are| just| keep| now)? "
    rf"(?:get|getting|got|hit|hitting|receiv\w{{1,5}}|see|seeing)\b{_TOLD}"
    rf"|(?:getting|got)\b{_TOLD}|it (?:also |just |now )?(?:gives|raises|returns|shows|throws) {_TOLD}"
    r"|[^.!?\n]{0,70}?\bi (?:get|got) (?:\[pasted|the following|these\b|this\b)"
    r"|(?:i|we) (?:had|have) (?!no )(?:a |an |as |some |the |these |this )?(?:new |same )?"
    r"(?:\w{1,20} )?(?:error|exception)"
    r"|(?:another|build|compile|console|new|runtime|syntax|type) errors?\b|(?!no )(?:\S{1,30} ){0,3}error: "
    r"|(?:error )?(?:could not|no such|unable to) \w"
)
_NOT_MEANT = (
    r"(?:(?:it|that|this) (?:is|was) |it's |that's |thats )?not (?:exactly |quite )?what (?:i|we)\b|(?:(?:i|we) "
    + _one_of(
        "already (?:asked|defined|did|had|have|said|told), asked, clearly, explicitly, meant?, said, specifically"
        ", told you"
    )
    + r"|what do you mean)\b(?! (?:a lot|it|to ask))|(?:i|we) did not (?:ask|mean|say|tell|want)\b|you "
    + _one_of(
        "broke, deleted, did not, forgot, have not, ignored, just (?:broke|deleted|removed), keep, made a mistake"
        ", messed, missed, misunderstood, removed, should (?:not )?have, were supposed"
    )
    + r"\b|you(?:'re| are) (?:again |still )?"
    + _one_of(
        "breaking, getting ahead, guessing, hallucinating, ignoring, lying, making (?:it|that|things|this) up"
        ", not (?:following|listening)"
        ", overcomplicating, violating"
    )
    + r"\b|why (?:are|did|do|have|were) you (?!know|need|prefer|propose|recommend|say|see|suggest|think|want)"
    rf"|did you (?:even|just)\b|stop(?:{_END}| (?:adding|changing|committing|creating|doing|it|making|that|using)\b)"
)
_RUINING = _one_of("break, delet, destroy, drop, ignor, los, mess, overwrit, remov, ruin, wast") + r"\w*ing\b"
# Of a thing that is named without an article, and said alone: "tests fail", "page is blank now".
_BARE = (
    r"(?:(?!(?:and|can|could|how|if|may|might|must|never|no|none|not|nothing|or|should|that|to|until|what|when|which|who|why"
    r"|will|would)\b)[^\s.!?,;\n]{1,30} ){1,4}?"
)
_SAID_ALONE = (
    _BARE
    + _one_of(
        "crash, crashes, disappeared, hangs, (?:breaks|fails?|(?:is|are) (?:broken|failing)) again"
        ", (?:is|are) (?:blank|gone|missing), (?:is|are) still there"
    )
    + r"|(?:the )?(?:(?:build|ci|pipeline|tests?) (?:is|are) red|(?:page|screen|window) (?:is|stays)"
    r" (?:black|empty|white))"
    r"|(?:fails?|failed|crashe[ds])|(?:completely|even|far|much|totally|way) worse|incorrect|useless|still there|wrong"
    r"(?: (?:again|branch|file|folder|function|one|place|project|way))?|not (?:it|quite(?: right)?|there yet)"
    r"|(?:(?:it|that|this) (?:made|makes) )?no (?:change|difference|effect|luck)s?(?: at all)?"
    r"|(?:a )?(?:black|blank|empty|white) (?:page|screen)|infinite loop"
    r"|(?:i (?:do not like|dislike|hate)|(?:i )?really (?:do not like|dislike|hate)) (?:it|that|this)(?: at all| one)?"
    r"|(?:it|that|this) (?:all )?sucks"
)
_MISDONE = (
    r"you(?:'ve| have)? (?:just |also |again )?(?:\w{2,12}ed|chose|did|made|put|ran|took|wrote)"
    r" (?:\w{1,20} ){0,2}?the wrong\b"
    r"|you(?:'ve| have)? (?:just |also )?(?:commented out|hard-?coded|skipped"
    r"|made (?:it|that|things|this) (?:even |much )?worse)"
    r"|it (?:just |also )?(?:deleted|lost|overwrote|removed|wiped) (?:all|everything|my|our)\b"
    r"|(?:thanks?|thank you|thx) for (?:nothing\b|"
    + _RUINING
    + r")|(?:good|great|nice|well) (?:done|job|work)(?: on)? "
    + _RUINING
)
BLAMES = re.compile(
    "|".join(
        (
            _STILL,
            _NOT_WORKING,
            _BROKEN,
            _ERRORS,
            _NOT_MEANT,
            _MISDONE,
            rf"(?:{_SAID_ALONE})(?: (?:again|already|now))*{_END}",
        )
    )
)
_TROUBLES = r"(?:bug|crash|error|exception|failure|flaw|issue|mistake|problem|regression|warning)(?:e?s)?"
# What has words of blame and denies that there is any: "you did not break anything", "none of the tests failed"; or
# that is told of something else: of what was before, of one's own machine, of what users say.
_FAILING = _one_of(
    "break(?:ing|s)?, crash(?:es|ing)?, fail(?:ing|s)?, flicker(?:ing|s)?, freez(?:es?|ing), hang(?:ing|s)?"
    ", lag(?:ging|s)?, leak(?:ing|s)?, stutter(?:ing|s)?"
)
DENIED = re.compile(
    rf"{_ANY_SUBJECT}(?:are|did|do|does|is|was|were) not (?:\w{{1,12}}ly |even )?{_FAILING}\b"
    rf"|[^.!?;\n]{{0,70}}?\b{_TROUBLES}(?: messages?)? "
    r"(?:(?:are|has|have|is|was|were|all|been|finally|now) ){0,3}"
    r"(?:(?:disappeared|fixed|gone|resolved|solved|went away)\b|(?:does |do |did |is |are )?(?:not|no longer)"
    r"(?: (?:\w{1,12}ly|even|get|getting|to|seem|appear))?"
    r" (?:appear|com(?:e|ing) (?:back|up)|exist|happen|occur|pop|present|reproducible|show|there\b|thrown|visible))"
    r"|you (?:did|had|have) not (?:\w{1,12}ly )?"
    + _one_of(
        "break, broken, broke, damaged?, do anything (?:bad|wrong), done anything (?:bad|wrong), forget, forgot"
        ", forgotten, harm(?:ed)?"
        ", have to, los[et], mess(?:ed)?, miss(?:ed)?, need, ruin(?:ed)?"
    )
    + r"\b|you "
    + _one_of("broke, deleted, forgot, ignored, lost, messed up, missed, misunderstood, removed")
    + r" (?:nothing|none)\b"
    r"|you should (?:not )?have (?!\w{2,12}ed\b|(?:been|done|gone|got|gotten|kept|known|left|made|put|read|run|said"
    r"|seen|taken|thought"
    r"|told|used|written)\b)|you keep (?:amaz|impress|surpris)"
    rf"|(?:i|we) (?:can|could|did|do) not (?:\w{{1,12}}ly )?(?:find|get|have|hear|notice|see|spot) (?:any"
    rf"|an?) (?:\w+ ){{0,2}}{_TROUBLES}\b"
    r"|i (?:get|got) (?:it|these|this)\b[^.!?\n]{0,30}\b(?:done|fixed|running|sorted|to (?:run|work)|work(?:ed|ing)?)\b"
    r"|before (?:i|my|that|the|this|we|you|your)\b"
    r"|[^.!?\n]{0,70}?\b(?:before you (?:began|came|changed|started|touched)"
    r"|(?<!as )(?<!like )(?<!than )(?:before|last (?:month|time|week|year)|yesterday)"
    r"(?: (?:either|already|too))?\W{0,9}$)"
    r"|(?:my|our|the) (?:former|old|original|previous) (?:\w{1,20} )?(?:approach|code|design|implementation"
    r"|one|solution"
    r"|version|way) (?:also )?(?:broke|crashed|did|failed|had|never|was)\b"
    r"|my (?:browser|computer|connection|editor|ide|internet|laptop|machine|terminal|vpn|wi-?fi)\b"
    r"|(?:the |our |a )?(?:clients?|customers?|people|users?) (?:complain|report|said|say|told)\w*"
    r"|i (?:also )?(?:am|made a mistake\b|was) ?(?:so |totally )?(?:wrong\b)?(?=\W|$)(?<=wrong|stake)"
    r"|i (?:can|could|do) not see (?:how|it from|why)\b"
    r"|no(?:ne of|thing)\b[^.!?\n]{0,40}?\b(?:broke|broken|crash(?:ed|es)|error(?:s|ed)?|fail(?:ed|ing|s)?|missing"
    r"|wrong)\b"
)
# To take the work back, which names nothing else: "revert the commit from last week", "undo it when I press escape".
_LEAD = (
    r"(?:(?:can|could|will|would) (?:you|we) |let's |lets |please |pls |just |now |better |go ahead and |and "
    r"|you (?:should|must|need to|have to) |we (?:should|must|need to|have to) "
    r"|i(?:'d| would)? (?:like|want|need) (?:you )?to ){0,4}"
)
_IT = r"(?:all(?: of (?:it|that|this))?|everything|it(?: all)?|that|them|these|this|those)"
_OTHER = (
    r"(?![^.!?\n]{0,80}\b(?:from (?:last|monday|tuesday|wednesday|thursday|friday|yesterday|before|main|pr)"
    r"|last (?:week|month|year|night)|yesterday|(?:commit|pr|mr|issue|request|#) ?(?:#|\d|(?=\w{0,9}\d)[0-9a-f]{7,})"
    r"|commits? (?:by|from|of|that)|version of|releases?|deploy\w*|production|prod|staging|buttons?|shortcut|users?"
    r"|if|when|whenever|unless|once|in case|colleague\w*|teammate\w*|\w+'s (?:changes?|commits?|pr|work))\b)"
)
_EARLIER = (
    r"(?:how|what|where|the way) (?:it|that|things|this|we) (?:was|were|had|looked|worked)\b"
    r"|what (?:i|we) had\b|the (?:way it was|(?:old|original|previous|last|former) (?:approach|code|design|one|state"
    r"|solution|version|way))\b|before\b"
)
_BACK = (
    r"(?:(?:revert|roll ?back|undo|back out)(?:(?: please| now| pls| again)*\W{0,9}$| "
    r"(?:all|back|everything|it|that|these|this|those|to (?:the|what|how)|what you|your"
    r"|the (?:changes?|last|latest|previous|recent)\b)\b)"
    rf"|(?:roll|take|turn|change|bring|put) {_IT} back\b|back {_IT} out\b"
    rf"|(?:go|change|switch) (?:{_IT} )?back to (?:{_EARLIER})|restore (?:{_EARLIER})"
    rf"|(?:put|leave|make) {_IT} (?:back )?(?:how|the way|as) it was\b)"
)
TAKEN_BACK = re.compile(_LEAD + _BACK + _OTHER)
# Behind what was said of it: "we never do that here, revert it".
THEN_BACK = re.compile(
    r"(?!(?:i'll|i will|i can|i am|i'm|we'll|we can|we will|you can|you could|if|when|once|after|in case)\b)"
    r"(?:did|does|do|i|it|it's|its|looks?|no|not|now|still|that|that's|thats|the|these|this|too|way|we|why|you)\b"
    r"[^.!?\n]{1,120}?(?:[,;:]| -+| \u2014| and)(?: and| so| then)? "
    rf"{_LEAD}(?:(?:revert|undo|roll back|back out)(?: {_IT})?|(?:roll|take|put|change) {_IT} back|back {_IT} out"
    rf"|(?:go|change|put {_IT}|switch) back to (?:{_EARLIER}))(?: please| now| pls| again| then)*"
    r"(?:\W{0,9}$|[,;.!]| and (?:begin|do|start|try|use)\b)"
)

POLITE = re.compile(r"(?: (?:again|now|please|pls|then))+$")

_NICE = _one_of(
    "amazing, awesome, beautiful, brilliant, cool, excellent, fantastic, flawless, good, great, impressive"
    ", incredible, lovely, nice"
    ", perfect, superb, sweet"
    ", wonderful"
)
_WELL = (
    r"(?: (?:again|as expected|beautifully|fine|good|great|like a charm|much better|nicely|now|perfectly|so far|well))"
    r"{0,3}(?= {0,3}(?:$|[,.!;:\n]| (?:and|but|except|for me|so|thanks|though)\b))"
)
_THEN = r"(?=\W{0,9}$| {0,3}[,.!;:\n]| (?:and|but|except|so|thanks|though)\b)"
_RIGHT_NOW = r"(?: (?:again|any ?more|fine|now|so far))*"
# What went away, what runs, and what somebody is content with.
_CONTENT = (
    r"(?:(?:it|that|this|which|your (?:change|fix))(?: has)? (?:fixed|resolved|solved) "
    r"(?:everything|it|that|this|(?:my|the) (?:\w{1,20} ){0,2}?\w{1,20})"
    rf"|(?:the |that |my )?(?:\w{{1,20}} )?{_TROUBLES} (?:(?:(?:is|are|has been|have been) )?(?:all )?(?:now )?"
    r"(?:fixed|gone|resolved"
    r"|solved)|(?:disappeared|went away))"
    r"|no (?:more )?(?:bugs|errors|failures|issues|problems|warnings)(?: found)?|nothing (?:broke|is broken)"
    r"|(?:it|that|this|you) did not break anything|all green|so far so good"
    r"|(?:everything|(?:all )?(?:of )?(?:the )?(?:checks|tests)|(?:the )?(?:build|ci|suite)) "
    r"(?:(?:is|are) (?:all )?(?:green|passing)|pass(?:e[ds])?)"
    r"|(?:it |everything )?(?:builds|compiles|runs)(?= (?:again|fine|now))|(?:good|great|nice) (?:catch|one|stuff)"
    r"|(?:you )?nailed it|spot on|bravo|exactly (?:right|what i (?:needed|wanted))|that(?:'s| is) exactly it"
    r"|(?:it |that |this )?(?:is |looks )?(?:far|much|so much|way) (?:clearer|cleaner|faster|nicer|simpler)"
    r"|(?:(?:far|much|so much|way) )?better(?= now|\W{0,9}$|\. )"
    r"|(?:i(?:'m| am) )?(?:really |so |very )?(?:happy|pleased|satisfied) with (?:it|that|this|the result)"
    r"|(?:i )?(?:can )?confirm(?:ed)? (?:it |that )*work(?:s|ing)"
    r"|(?:tested|verified)(?: it)?,? (?:all good|(?:it )?works)"
    r"|(?:i )?(?:can not complain|(?:it )?could not be (?:better|happier)[^.!?,\n]{0,30})|no complaints|tysm|ty)"
)
_THANKS_NOT = rf"(?! (?:for (?:nothing\b|{_RUINING})|in advance|but no))"
PRAISES = re.compile(
    rf"(?:(?:many|much|{_NICE}) ){{0,2}}(?:thank you|thanks?(?! you)|thx|cheers)\b{_THANKS_NOT}"
    rf"|{_CONTENT}{_RIGHT_NOW}{_THEN}"
    rf"|lgtm\b|well done|{_NICE} (?:job|work)\b(?! (?:on )?{_RUINING})|(?:i )?love (?:it|that|this)\b"
    r"|i (?:do |really )?like\b(?! (?:the idea of|to)\b)"
    r"|(?:it |that |this )?(?:did the trick|looks? (?:fine|right)\b)|(?:fixed|solved) (?:it|now)\b"
    r"|not bad\b(?: at all)?"
    rf"|(?:(?:ah|oh|ok(?:ay)?|wow|yeah|yep|yes),? )?(?:(?:pretty|quite|really|so|very) ){{0,2}}{_NICE}(?= {{0,3}}(?:$"
    rf"|[,.!;:\n]))"
    rf"|(?:it |that |this )?(?:came|turned) out (?:(?:pretty|quite|really|so|very) )?{_NICE}\b"
    rf"|you(?:'re| are| did) (?:a |an |doing )?(?:really )?(?:{_NICE}|well)\b"
    rf"|{_NICE}(?= {{0,3}}(?:$|[,.!;:\n]| (?:and|now|so far)\b))"
    rf"|(?:{_SUBJECT})?(?:(?:all|are|is|it's|now|seems? to|that's|this is) ){{0,3}}"
    rf"(?:fixed|solved|worked|working|works?){_WELL}"
    rf"|{_SUBJECT}(?:(?:are|did|do|does|is) not {_FAILING} (?:any ?more|now)\b|(?:(?:are|is) )?no longer {_FAILING}\b)"
    r"|(?!(?:a|an|confirm|get|need|the|to|which|who|why)\b)"
    r"(?:(?!(?:how|if|never|no|none|not|nothing|only|so|still|that|until|what|when"
    r"|whether)\b)[^\s.!?;,\n]{1,30} ){1,4}?"
    rf"(?:are working|is back|is fixed|is working|worked|works){_WELL}"
    rf"|(?:{_SUBJECT})?(?:all|are|is|it's|looking|looks?|seems?|that's|thats|this is)"
    rf"(?: \w{{1,12}}ly| a lot| all| already| just| much| now| pretty| so| very| way){{0,2}} (?:better|{_NICE})\b"
    r"(?! (?:enough|idea|place|point|practice|question|way))"
)
# What makes of praise half of it: here and in the next words, or only in the same sentence.
LIMITS = re.compile(
    r"\b(?:although|but|except|however|still|though|unfortunately"
    r"|(?:another|more|one|other) (?:bug|issue|problem|thing)s?)\b"
)
LIMITS_HERE = re.compile(r"[^.!?\n]{0,100}\b(?:instead|issue|need to|not|only|problem|wrong)\b")
DECLINES = re.compile(r"(?:no|nah|nope)\W{1,3}thank")
SUPPOSES = re.compile(r"(?:after|as soon as|before|do not|if|never|once|unless|when(?:ever)?|while|where)\b")
# What somebody is not content with, told without blame: "the text is too small", "there is a gap at the top".
FAULT = re.compile(
    rf"(?:{_SUBJECT}|{_ANY_SUBJECT})"
    rf"{_one_of('are, feels?, got, is, looks?, seems?, was, were, ' + _COPULA)}"
    r"(?: a bit| a little| also| far| just| now| slightly| way)* (?:hard to|off\b(?!er)|odd|too \w|unreadable|cut off"
    r"|misaligned)"
    rf"|(?:there is|there's|there are|i (?:also )?(?:get|got|have|notice|noticed|see)) [^.!?\n]{{0,40}}?\b(?:gap"
    rf"|glitch|typo|{_TROUBLES})\b"
    rf"|{_ANY_SUBJECT}(?:does|did|do|is|are|was"
    rf"|were) not (?!{_one_of('a problem, bad, be, have to, matter, need, needed, necessary, require')}\b)\w"
    r"|(?:the|this|that) (?:one )?(?:bug|issue|problem|thing)s?\b"
)
