"""Forms in which a sentence says by itself that it holds for good, whatever it is about.

``lasting`` finds where in a sentence such a form begins. Each names what only a person who works with an agent says:
for how long it holds, who is to be asked, what the agent keeps doing, how it is to answer, which convention holds.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

__all__ = ["WORK", "clauses", "lasting"]


def _either(*alternatives: str) -> str:
    return f"(?:{'|'.join(alternatives)})"


def _words(listed: str) -> str:
    """A pattern for one of the words that blanks stand between, each of them a pattern."""
    return _either(*listed.split())


WORK = _either(
    r"add|amend|apply|ask|build|bump|change|check|check out|clean|commit|create|delete|deploy|disable|do|document"
    r"|edit|fix",
    r"follow|force[- ]push|format|git-?ignore|hand-?edit|hard-?code|import|install|keep|lint|log|make|merge|mock"
    r"|modify",
    r"name|open|prefer|prefix|publish|push|put|read|rebase|refactor|release|remove|rename|restart|revert|review|run"
    r"|save",
    r"sign|skip|squash|stage|start|stub|test|touch|update|upgrade|use|verify|write",
)
_ASKED = _either(
    WORK,
    r"always|answer|avoid|be|call|confirm|consider|consult|don'?t|do not|double[- ]check|explain|give|include|let me"
    r"|let's",
    r"list|look|make sure|mention|never|notify|only|please|provide|refer|remember|reply|report|respond|respect|search"
    r"|send",
    r"show|speak|stick|stop|suggest|summari[sz]e|talk|tell|think|throttle|treat|try|wait|warn|work",
)
_NOT = r"(?:never|do not|don'?t|dont)"
_ALL = r"(?:all|any|each|every)"
_ALWAYS = r"(?:always|never)"
_TIME = r"(?:every ?time|each time|any ?time)"
_IT = r"(?:it|that|the|these|this|those)"

# What work comes in.
_PIECE = _words(
    "agents? api branch(?:es)? bug chat class(?:es)? change commit component doc endpoint feature file fix(?:es)?"
    " function"
    " hook issue migration model module package page phase plan pr project prompt release route screen script service"
    " session skill spec task test ticket view work"
)
_UNIT = (
    _words(
        "change checkpoint commit deploy\\w* edit feature (?:bug\\s?)?fix iteration merge milestone phase pr prompt"
        " push"
        " refactor release session sprint task (?:pull\\srequest)"
    )
    + "s?"
)
_TESTS = r"(?:unit |integration |regression |e2e |end-to-end )*(?:tests?|test (?:cases?|files?|suite)|suite)"
_DOCS = r"(?:changelog|docs|documentation|memory|plan|readme|to-?dos?)"

# For how long.
_MARK = _either(
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
    rf"(?:please )?{_ASKED}\b{_NO_PURPOSE}.{{0,140}}?\b{_MARK}\W*$",
    rf"(?:please |and |for )*(?:the )?next time[,:]? {_NOT_ASKED}\w",
    r"(?:in )?(?:the )?future,? (?:we|you) (?:always |never |only )?"
    r"(?!should|could|can|might|may|will|would|want|need|plan|have|are|do\b)\w+",
)

# Whose word it waits for.
_SAY = r"(?:allow|approve|ask|confirm|explicitly|give|instruct|permit|say|specif|tell|told|want)"
_GIT = r"(?:amend|commit|deploy|force[- ]push|merge|open (?:an? )?pr|publish|push|rebase|release|tag)"
_WORD = _either(
    r"unless (?:I|I'?ve|you'?re|we|otherwise|explicitly|specifically|told|asked|instructed)\b",
    rf"(?:until|till|when|if|once|after) (?:I|I'?ve) (?:explicitly |specifically )?{_SAY}",
    r"without (?:asking|checking with|confirm\w*|consulting|telling|my|explicit|express|permission|approval)",
)
_ME_FIRST = _either(
    r"me\b|us\b|my\b|for (?:my )?(?:approval|permission|confirmation|ok)|before \w|first\b|permission",
)
_ASKED_FIRST = (
    rf"(?:{_NOT}|stop|only)\b(?! (?:show|display|send|allow|let)\b).{{0,60}}?\b{_GIT}\w*\b.{{0,60}}?\b{_WORD}",
    rf"(?:{_NOT}|stop|only) \w.{{0,80}}? without (?:asking(?! (?:an?|for|the|them|it)\b)|checking with me|telling me"
    rf"|my \w)",
    rf"(?:{_NOT}|stop|only) \w.{{0,80}}? unless (?:I (?:explicitly |specifically )?(?:ask|approve|say|tell|told|want)\b"
    r"|explicitly (?:asked|told)|(?:asked|told) (?:to|otherwise))",
    r".{3,80} unless (?:I(?:'ll)?|ill) (?:say|tell|ask|instruct|specif\w*|provide|request|state)\b"
    r".{0,30}(?:otherwise|other (?:instructions?|orders?))",
    r".{3,120} (?:until|till|unless) I (?:say|tell you) (?:so|otherwise)\b",
    rf"(?:(?:please )?always|you (?:must|should|have to|need to)) (?:ask|check with|confirm with|consult"
    rf"|wait for) {_ME_FIRST}",
    r"ask (?:me )?(?:first )?before (?:you )?(?:any|changing|committing|creating|deleting|deploying|doing|each|every"
    rf"|installing|making|merging|modifying|pushing|removing|running|starting|touching|writing)\b(?! {_IT}\b)",
    rf"I (?:always |like to |want to |need to |have to )(?:approve|review) {_ALL} (?:\w+ )?{_UNIT}\b(?! (?:on|of"
    rf"|in)\b)",
    r"I (?:always |like to |want to |need to |have to )(?:approve|review) everything\b",
)

# What somebody wants, in their own name.
_WANTED = _either(
    r"tests?|comments?|emojis?|docs|documentation|markdown|summar\w+|mocks?|branch(?:es)?|prs?|commits?",
    r"changes? (?:in|to) tests?",
)
_WANTS = (
    r"I (?:never|always) want (?:you\b|to (?:approve|be (?:asked|informed|notified|told)|review)\b)",
    r"I (?:really )?(?:hate|dislike|don'?t like|do not like) (?:it )?when you \w",
    r"I(?:'d| would)? (?:always |really )?(?:prefer|rather|like) (?:that |it if )?you (?:always|never|don'?t|not"
    r"|only)\b",
    r"I (?:(?:do not|don'?t|dont) ever|never ever) want (?:you )?to \w",
    r"I (?:do not|don'?t|dont) want (?:from )?you to .{0,60}\b(?:by yourself|on your own|anything|any|ever|without"
    r"|unless)\b",
    rf"I (?:do not|don'?t|dont) (?:ever )?want (?:any|to see any) (?:new )?{_WANTED}\b(?!.*\b(?:here|now|these|this"
    rf"|yet)\b)",
    r"my (?:\w+ )?(?:rule|convention)s? (?:is|are)\b",
    r"I(?:'ve)? never allowed (?:you|u) to \w",
)

# Commits without the agent's name.
_NAMED = _either(
    r"co[- ]?author\w*|attributions?|generated (?:with|by) (?:claude|codex|ai)|co[- ]?work(?:ed)? by",
    r"(?:ai|claude|codex|cursor|copilot) (?:signature|credit|trailer|mention|footer)s?|authored by (?:claude|you|ai)",
    r"claude (?:as|in) (?:an? |the )?(?:co-?author|author|contributor|commits?(?: messages?)?)",
)
_UNNAMED = (
    rf"(?:please |ensure |make sure )?(?:(?:to |you )?(?:{_NOT}|avoid|not)|no|stop|without) .{{0,50}}?\b{_NAMED}",
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

# What the agent keeps doing.
_TALKING = _words(
    "apologi[sz]ing asking assuming complimenting explaining flattering guessing hallucinating inventing mentioning"
    " over-?engineering praising saying suggesting summari[sz]ing making\\s(?:assumptions|stuff\\sup|things\\sup)"
)
_OFTEN = r"(?:all the time|always|constantly|every ?time|each time)"
_KEEPS = (
    rf"stop {_TALKING}\b(?! (?:about )?(?:(?:{_IT}|users?)\b|\W))",
    rf"(?:{_NOT}|no need to|stop) ask(?:ing)? (?:me )?.{{0,60}}\b{_OFTEN}",
    rf"(?:never|do not ever|don'?t ever) (?:{WORK}|say|mention|suggest|call|try)\b.{{1,60}}\bagain\W*$",
    r"(?:do not|don'?t|dont) (?:do|mention|say|suggest|touch|try|use)\b.{1,60}\bagain\W*$",
    rf"{_ALWAYS} (?:assume|guess|hallucinate|invent|fabricate|make (?:things|stuff) up|over-?engineer|double[- ]check"
    r"|self[- ]review)\b",
    rf"{_ALWAYS} do (?:it|so|that|this)\b(?! (?:for|if|in|on|when)\b)",
    r"you(?:'re| are) supposed to (?:always|ask|commit|follow|never|push|tell me|verify|wait)\b",
    r"stop using .{1,60}, (?:and )?use \w",
    r"stop (?:add|chang|commit|creat|delet|do|edit|mak|modify|push|put|remov|runn|us|writ)\w*ing\b.{0,60}"
    r"\b(?:all the time|any|constantly|every ?(?:time|where)|every \d+|so (?:many|much|often)|unnecessar\w+|without)\b",
    r"how many times (?:do I (?:have|need) to|must I|should I) (?:tell|say|ask|repeat)\b.{0,20}\b(?:not|never|to"
    r"|don'?t) \w",
    r"(?:please )?(?:push back|challenge (?:me (?:if|when)|my)|call me out|disagree with me)\b",
)

# What the agent is to do always or never, by what only an agent does.
_FOR_READING = _words(
    "(?:claude|agents|readme|contributing)(?:\\.md)? docs? documentation memor(?:y"
    "|ies) skills? sub-?agents? mcps? guidelines"
    " conventions? style\\s?guide web\\ssearch the\\s(?:web|internet) online code\\s?base source\\scode every\\sstep"
    " each\\sstep benchmarks? assumptions type\\s?check(?:er|s)? git\\s(?:log|history|status|diff)"
    " existing\\s(?:code|components|helpers|functions|patterns|tests|utils)"
)
_PUSHED = _either(
    r"\W*$|[,;.]| (?:after|all|any|anything|as|automatically|before|by|code|changes|directly|each|everything|from"
    r"|in small)\b",
    r" (?:on|only|secrets|straight|unless|when|with|without|yourself|your)\b",
    r" to (?:\w+ )?(?:origin|upstream|remote|github|gitlab|main|master|dev\w*|trunk|prod\w*|the (?:remote|repo))\b",
)
_OWN = r"(?:any |existing |my own |my |old |other |unrelated )"
_ALWAYS_DONE = _either(
    r"(?:check|consult|follow|ignore|load|look (?:at|in|into|up|through)|read|refer to|respect|review|search|skip"
    r"|trust|use"
    rf"|verify|work from)\b.{{0,50}}?\b{_FOR_READING}\b",
    rf"(?:commit|force[- ]push|push|rebase|squash|stage)\b(?: (?:and|or) (?:commit|push)\b)?{_PUSHED}",
    r"(?:document|log|record|save|store|write(?: down| up)?|keep|note)\b.{0,30}?\b(?:decisions|plans?|learnings"
    r"|progress"
    r"|findings|lessons|your (?:work|changes|reasoning|steps|thoughts))\b",
    r"(?:write|add|create|update|run|include|fix|execute)\b (?:the |a |an |any |all |new |failing |corresponding )*"
    rf"(?:{_TESTS}|{_DOCS}|type hints|types|docstrings|lint\w*|formatters?|build|code comments)\b",
    r"(?:explain|plan|research|think|summari[sz]e|reply|answer|respond|report|tell me|ask|show me)\b.{0,40}"
    r"\b(?:before|first|me\b|to me|your|what you)\b",
    rf"(?:edit|modify|touch|change|rewrite|delete|remove|overwrite)\b {_OWN}*(?:the )?(?:{_TESTS}|migrations?"
    rf"|prod\w*)\b",
    rf"(?:edit|modify|touch|change|rewrite|delete|remove|overwrite)\b {_OWN}+(?:branch\w*|code|commits|configs?"
    rf"|files?|work)\b",
    r"(?:install|upgrade|downgrade|add) (?:a |any |new |an? )*(?:packages?|dependenc\w+|librar\w+|deps)\b",
)
_SECRET = _either(
    r"secrets?|api keys?|keys|credentials|passwords?|tokens?|\.env\w*|personal (?:data|info\w*)",
    r"private (?:data|keys?|code)|research",
)
_FOREIGN = _either(
    r"generated|official|upstream|vendor(?:ed)?|third[- ]party|node_modules|lock ?files?|unrelated",
    r"(?:old|existing|applied) migrations?",
)
_OF_AGENTS = (
    r"(?:please |make sure (?:that )?(?:to |you |we )?|remember to |you (?:must|should|need to|have to) )?"
    rf"{_ALWAYS} (?:\w+ly )?{_ALWAYS_DONE}",
    r"(?:please )?(?:ask|auto-?\w+|commit|deploy|document|format|lint|push|rebase|test|write (?:unit )?(?:docs|tests?)"
    rf"|run (?:the |all )*(?:build|checks?|lint\w*|{_TESTS})|update (?:the )?{_DOCS})\b"
    r".{0,60}?\b(?:always|at all times|(?:every|each) (?:single )?time)\W*$",
    r"(?:please )?use my (?:own |personal |private |work |company |other )+"
    r"(?:account|aws|email|git|github|gitlab|gmail|google|ssh key|user(?:name)?)\b",
    rf"{_NOT} (?:ever )?(?:touch|edit|modify|change|alter|patch|overwrite)\b (?:any |the |any of the "
    rf"|an? )*(?:auto[- ]?)?"
    rf"{_FOREIGN}\b",
    rf"{_NOT} (?:ever )?(?:commit|publish|push|upload) (?:any |my |our |your )*(?:\w+ ){{0,2}}?{_SECRET}\b",
    rf"{_NOT} (?:ever )?(?:expose|leak|post|share) (?:my|our) (?:\w+ ){{0,2}}?{_SECRET}\b",
)

# What everybody here keeps to.
_COMMITTED = _words(
    "commits? commit\\smessages? prs? pull\\srequests? branch\\snames? migrations? scripts source\\sfiles code"
    " documentation"
    " docs docstrings comments tests test\\sfiles infra(?:structure)? dependencies secrets configs?"
)
_GUIDE = r"(?:conventions?|style(?: ?guide)?|guidelines|(?:coding )?standards?|claude\.md|agents\.md)"
_NOW = (
    r"(?!(?:pass|work|fail|run|compile|build|succeed|be (?:green|fixed|passing|moved|removed|deleted|updated|merged"
    r"|done|run|added|visible|shown|displayed|tested|reviewed|checked))\b)"
)
_CONVENTIONS = (
    rf"(?:please )?(?:adhere|conform|stick|keep) to (?:\S+ ){{0,4}}?(?:{_GUIDE}|rules)\b",
    r"(?:please )?(?:always )?(?:follow|honou?r|respect|obey) (?:the |our |my |all )?(?:rules? (?:in|of) "
    r"|instructions in )?"
    rf"(?:the )?(?:\S+ ){{0,2}}?(?!guidelines|style\b){_GUIDE}(?:\W*$|,| file\W*$)",
    rf"(?:all|every|any)(?: new| of (?:the|our))? {_COMMITTED} (?:must|should|has to|have to|needs? (?:an?|no|to)"
    rf"|goes?|lives?|belongs?"
    rf"|gets?) {_NOW}\w",
    r"everything (?:must|should|needs? to|has to) be (?:reproducible|typed|tested|documented|committed|in git"
    r"|versioned)\b",
    r"(?:use|write|keep|make|prefix|sign|format|start) (?!the |this |that )(?:\w+ ){0,2}?"
    r"(?:commit messages|commits|branch names|pr titles|prs)\b"
    r"(?! (?:format|for (?:the|this|these|both|each|all)|above|below|list|page|history|table|view|tab|count))",
    r"(?:conventional|atomic|small|separate|signed) commits(?:\W*$|[,.;])",
)

# Of each such piece of work.
_DOING = _either(
    r"branching|coding|committing|debugging|deploying|implementing|merging|naming|planning|pushing|refactoring"
    r"|reviewing",
    r"testing|writing (?:code|tests?|commits?|docs|migrations?|commit messages?)",
)
_EACH = (
    rf"(?:for|in|on|with) {_ALL} (?:(?:new|future|coding"
    rf"|code) )+{_PIECE}s?(?: or \w+)?[^,.]{{0,30}}?,? (?:please )?{_ASKED}\b",
    rf"(?:for|in|on|with|after|before) {_ALL} {_UNIT}[^,.]{{0,30}},? (?:please )?(?:always|never|remember|make sure)\b",
    rf"(?:whenever|{_TIME}) (?:you|we) (?!are\b|can\b|feel|have|like|want)[^,.]{{1,60}}, (?:please |also "
    rf"|then )?{_ASKED}\b"
    r"(?! (?:hesitate|worry))",
    rf"(?:when(?:ever)?|if|{_TIME}) I (?:ask|give you|paste|report|say|send you|tell you|type)\b(?! (?:{_IT}|my)\b)"
    rf"[^.]{{1,100}}?, (?!(?:I|{_IT}|we)\b)\w",
    r"(?:if|when|once|before|after|while) you [^,.]{1,60}, (?:please |you (?:must|should) )?(?:always|never)\b",
    rf"(?:when|before|after|while) {_DOING}(?: \w+)?(?: (?:changes|code|features|commits|tests))?,? (?:please )?"
    rf"(?:you (?:must|should) )?(?!{_IT}\b){_ASKED}\b(?! {_IT}\b)",
    r"(?:before|when) (?:committing|pushing|opening (?:an? )?prs?)(?: \w+)?,? (?:please )?"
    r"(?:always|check|format|lint|make sure|never|run|test|use|verify)\b",
    r"(?:.{0,60} )?(?:check|review|audit|test|update|documentation|sync|backup|lint)\w* (?:needs? to|must|should"
    r"|has to)"
    rf" (?:happen|be (?:done|run)) (?:after|before|with|on) (?:each|every|any)(?: \w+)? {_UNIT}\W*$",
    r"(?:please )?(?:commit|push|lint|format|type-?check|deploy|rebase|back ?up"
    rf"|run (?:the |all |a )?(?:\w+ )?(?:{_TESTS}|lint\w*|checks?|formatters?|build)|update (?:the )?(?:{_DOCS}"
    rf"|tests))\b"
    rf".{{0,60}}?\b(?:after|before|with|on|at the end of) (?:each|every|any)(?: \w+)? (?:{_UNIT}|step|turn)\W*$",
)

# How the agent answers, and what it leaves out: of a first prompt this is of the task.
_SHORT = r"(?:brief|concise|short(?:er)?|simple|terse|succinct|punchy|to the point|direct|blunt|plain)"
_LANGUAGE = r"(?:english|french|german|spanish|chinese|japanese|portuguese|italian|russian|korean|polish|dutch)"
_ANSWERS = (
    r"(?:keep|make) (?:all )?(?:your |the )?(?:answers?|responses?|repl(?:y|ies)|explanations?|messages|summaries"
    r"|output)"
    rf" (?:as )?(?:more )?{_SHORT}(?: (?:and|as) \w+)*(?:\W*$|[,.;])",
    rf"(?:be|answer|reply|respond)(?: me)?(?: in an?)? (?:more |very )?{_SHORT}(?:ly)?(?: (?:way|manner|please"
    rf"|and \w+))?\W*$",
    rf"(?:always )?(?:answer|reply|respond|speak|talk|write to me)(?: to)?(?: me)? (?:only )?in {_LANGUAGE}\b"
    r"(?!.*\b(?:bot|user|page|app)s?\b)",
    rf"(?:no|no more|{_NOT} (?:add|put|use|write)(?: any)?|avoid|without|stop (?:using|adding)) (?:emojis?"
    rf"|em[- ]?dash(?:es)?)\b"
    r"(?:\W*$|,? (?:ever|anywhere|please|pls)\b| in (?:code|commits?|docs|anything|the code|your \w+|comments"
    r"|commit messages)\b)",
    r"no (?:\w+ ){0,2}?(?!changes?|errors?|bugs?|issues?|problems?|differences?|need|idea|longer|one|more)\w+"
    r" (?:in|within|inside|on|to) (?:the |our |any )?(?:code|methods?|functions?|commits|commit messages?|prs|tests"
    r"|comments"
    r"|main|master|production code|code ?base)\W*$",
    r"no (?:code |inline )?(?:comments|docstrings|mocks|magic numbers|console\.logs?|print statements|placeholders"
    r"|type hints"
    r"|abbreviations|one-?liners|force[- ]push(?:es|ing)?)(?: (?:please|pls|ever|anywhere))?\W*$",
)
_PREFERS = re.compile(
    r"prefer (?:using |to use )?(?!(?:option|the (?!\w+ (?:cli|helpers?|library|mcp|scripts?|skills?|tools?)\b)|this"
    r"|that|it|an?"
    r"|your|[a-d])\b)(?!.*\b(?:if|when)\b)\w",
    re.IGNORECASE,
)

_SAYS_SO = re.compile(_either(*_FROM_NOW, *_ASKED_FIRST, *_WANTS, *_UNNAMED, *_REMEMBERED), re.IGNORECASE)
_FOR_ALL_WORK = re.compile(_either(*_KEEPS, *_OF_AGENTS, *_CONVENTIONS, *_EACH), re.IGNORECASE)
_STEERING = re.compile(_either(*_ANSWERS), re.IGNORECASE)
_OF_PRODUCT = re.compile(
    r"\b(?:for|from|in|of|on|to) (?:the|this|an?) (?:\w+ ){0,2}(?:api|app|button|card|cart|chart|column|dashboard"
    r"|dialog|faq"
    r"|footer|form|game|generator|grid|header|input|json|list|menu|modal|name|page|payload|popup|product|readme"
    r"|response|row"
    r"|screen|section|sidebar|table|text|title|toolbar|ui|user|view|website|widget|worker)s?\b",
    re.IGNORECASE,
)
# Where a clause may begin that stands for itself, and what it would depend on.
_JOINT = re.compile(
    r"\s(?<!\bI\s)(?<!we\s)(?<!you\s)(?<!they\s)(?<!users\s)(?<!that\s)(?<!which\s)(?<!who\s)(?<!\bto\s)(?<!it\s)"
    r"(?<!and\s)(?<!or\s)(?=(?:do not|don'?t|dont|stop)\s)"
    r"|(?:,|;|\s[-\u2013\u2014]+|\))\s+(?:(?:and|but|also|so|then|please)\s+){0,3}"
    r"|\s(?:and|but)\s+(?:(?:also|please|then)\s+)*",
    re.IGNORECASE,
)
_BELONGS = re.compile(
    r"(?:if|when|whenever|for|after|before|in|on|while|once|I|we|you|every|each|any|all|since|because)\b", re.IGNORECASE
)


def clauses(sentence: str) -> Iterator[int]:
    """Where the clauses of ``sentence`` begin that may stand for themselves, behind its first."""
    if not _BELONGS.match(sentence):
        yield from (joint.end() for joint in _JOINT.finditer(sentence))


def lasting(sentence: str, *, steers: bool) -> int:
    """Where in ``sentence`` what says that it holds for good begins; -1 where nothing does.

    A later clause counts alone, but for what it depends on: "when you finish, never push" begins at 0. Some forms hold
    of a prompt that ``steers`` work alone, since of a task's first prompt they say how that task is done.
    """
    for begin in (0, *(joint.end() for joint in _JOINT.finditer(sentence))):
        if _is_lasting(sentence, begin, steers=steers):
            return 0 if _BELONGS.match(sentence) else begin
    return -1


def _is_lasting(sentence: str, begin: int, *, steers: bool) -> bool:
    if _SAYS_SO.match(sentence, begin):
        return True
    if _OF_PRODUCT.search(sentence, begin):
        return False
    if _FOR_ALL_WORK.match(sentence, begin):
        return True
    return steers and bool(_STEERING.match(sentence, begin) or (not begin and _PREFERS.match(sentence)))
