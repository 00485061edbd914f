"""Forms of what holds for all work: what the agent does always, which conventions hold, how it is to answer."""

from __future__ import annotations

import re

from prowess.learning.memories.form_words import (
    ALL,
    ALWAYS,
    AS_USER,
    ASKED,
    DOCS,
    IT,
    NOT,
    PIECE,
    TESTS,
    TIME,
    UNIT,
    WORK,
    either,
    words,
)

__all__ = ["FOR_ALL_WORK", "PREFERS", "STEERING"]

# What it need not ask about: of a thing that is named, since "don't ask, just do it" is of the moment.
_OF_FORM = (
    r"(?!(?:an?|her|his|the|their|users?|customers?|emails?|names?|passwords?|input|confirmation (?:before|when|if))\b)"
)
_NOT_ASKED_ABOUT = (
    rf"(?:{NOT}|stop|no need to|you (?:do not|don'?t|dont) (?:need|have) to) ask(?:ing)?(?: me)?(?: again)?"
    rf" (?:for {_OF_FORM}|before \w+ing\b|if you\b|if i want\b|whether|to (?:commit|continue|proceed|push|run)\b"
    r"|(?:any |so many |such |more )?(?:\w+ )?questions\b)",
)

# What the agent keeps doing.
_TALKING = words(
    r"""
    apologi[sz]ing asking assuming complimenting explaining flattering guessing hallucinating inventing mentioning
    over-?engineering praising saying suggesting summari[sz]ing making\s(?:assumptions|stuff\sup|things\sup)
    """
)
_OFTEN = r"(?:all the time|always|constantly|every ?time|each time)"
_KEEPS = (
    rf"stop {_TALKING}\b(?! (?:about )?(?:(?:{IT}|users?)\b|\W))",
    rf"(?:{NOT}|no need to|stop) ask(?:ing)? (?:me )?.{{0,60}}\b{_OFTEN}",
    rf"{NOT} (?:ask|commit|mention|push|say|suggest|restart (?:\w+ ){{0,2}}(?:servers?|services?|backend|frontend"
    rf"|containers?))\b.{{0,60}}\bany ?more\b",
    r"you (?:should|must|need to|have to) (?!(?:be|find|get|have|know|land|see)\b)\w+ .{0,60}\b(?:all the time"
    r"|every ?time|always)\W*$",
    r"we(?:'re| are| will) never (?:going to |gonna )?.{1,80}\bagain\b",
    rf"(?:never|do not ever|don'?t ever) (?:{WORK}|say|mention|suggest|call|try)\b.{{1,60}}\bagain\W*$",
    r"(?:do not|don'?t|dont) (?:do|mention|say|suggest|touch|try|use)\b.{1,60}\bagain\W*$",
    rf"{ALWAYS} (?:assume|guess|hallucinate|invent|fabricate|make (?:things|stuff) up|over-?engineer|double[- ]check"
    r"|self[- ]review)\b",
    rf"(?:do not|don'?t|dont) {WORK} .{{1,60}}\bever\W*$",
    rf"{ALWAYS} do (?:it|so|that|this)\b(?! (?:for|if|in|on|when)\b)",
    r"you(?:'re| are) supposed to (?:always|ask|commit|follow|never|push|tell me|verify|wait)\b",
    r"stop using .{1,60}, (?:and )?(?:use the \w+ (?:cli|mcp|scripts?|skills?|tools?)|we(?:'re| are) (?:on|using)"
    r"|we use)\b",
    r"stop (?:add|chang|commit|creat|delet|do|edit|mak|modify|push|put|remov|runn|us|writ)\w*ing\b.{0,60}"
    r"\b(?:all the time|any|constantly|every ?(?:time|where)|every \d+|so (?:many|much|often)|unnecessar\w+|without)\b",
    r"how many times (?:do I (?:have|need) to|must I|should I) (?:tell|say|ask|repeat)\b.{0,20}\b(?:not|never|to"
    r"|don'?t) \w",
    r"(?:please )?(?:push back|challenge (?:me (?:if|when)|my)|call me out|disagree with me)\b",
)

# What the agent is to do always or never, by what only an agent does.
_FOR_READING = words(
    r"""
    (?:claude|agents|readme|contributing)(?:\.md)? docs? documentation memor(?:y|ies) skills? sub-?agents? mcps?
    guidelines conventions? style\s?guide web\ssearch the\s(?:web|internet) online code\s?base source\scode
    every\sstep each\sstep benchmarks? assumptions type\s?check(?:er|s)? git\s(?:log|history|status|diff)
    existing\s(?:code|components|helpers|functions|patterns|tests|utils)
    """
)
_OF_DATA = r"(?!.*\b(?:batch|chunk|insert|offset|record|row|transaction)(?:es|s)?\b)"
_PUSHED = _OF_DATA + either(
    r"\W*$|[,;.]| (?:after|all|any|anything|as|automatically|before|by|code|changes|directly|each|everything|from"
    r"|in small)\b",
    r" (?:on|only|secrets|straight|unless|when|with|without|yourself|your)\b",
    r" to (?:\w+ )?(?:origin|upstream|remote|github|gitlab|main|master|dev\w*|trunk|prod\w*|the (?:remote|repo))\b",
)
# Where what is named is all of its name: not "the tests table", "the docs index", "the tests of the patient".
_ENDS = (
    r"(?=\W*$|\s*[,.;:()]| (?:after|always|and|as|at|before|by|carefully|during|each|every|first|for|from|here|if|in"
    r"|instead|is|on|online|or|since|so|that|to|too|unless|until|when|whenever|where|which|while|with|without|you"
    r"|your\w*)\b(?! (?:an?|the) (?:\w+ )?(?:field|index|queue|table)\b))"
)
_OWN = r"(?:any |existing |my own |my |old |other |unrelated )"
_ALWAYS_DONE = either(
    r"(?:build|commit|deploy|document|double[- ]check|lint|plan|push|research|review|test|verify)"
    r"(?: (?:everything|first|it all|twice|your \w+|yourself))*\W*$",
    r"(?:do (?:an? )?)?(?:\w+ )?(?:build|commit|deploy|lint|push|test)(?:,? (?:and |or )?(?:build|commit|deploy|lint"
    r"|push|test))+\b",
    r"do (?:an? )?(?:code review|commit|pull|push|review)\b",
    r"use (?:the )?(?:bash|cli|cmd|command (?:line|prompt)|docker|power ?shell|terminal|wsl|zsh)(?:\W*$|,| (?:and|for"
    r"|instead|to)\b)",
    r"(?:check|consult|follow|ignore|load|look (?:at|in|into|up|through)|read|refer to|respect|review|search|skip"
    r"|trust|use"
    rf"|verify|work from)\b.{{0,50}}?\b{_FOR_READING}\b(?! (?:field|index|link|of the|table)\b)",
    rf"(?:commit|force[- ]push|push|rebase|squash|stage)\b(?: (?:and|or) (?:commit|push)\b)?{_PUSHED}",
    r"(?:document|log|record|save|store|write(?: down| up)?|keep|note)\b.{0,30}?\b(?:decisions|plans?|learnings"
    r"|progress"
    r"|findings|lessons|your (?:work|changes|reasoning|steps|thoughts))\b",
    r"(?:write|add|create|update|run|include|fix|execute)\b (?:the |a |an |any |all |new |failing |corresponding )*"
    rf"(?:{TESTS}|{DOCS}|type hints|types|docstrings|lint\w*|formatters?|build|code comments){_ENDS}",
    r"(?:explain|plan|research|think|summari[sz]e|reply|answer|respond|report|tell me|ask|show me)\b.{0,40}"
    r"\b(?:before|first|me\b|to me|your|what you)\b",
    rf"(?:edit|modify|touch|change|rewrite|delete|remove|overwrite)\b {_OWN}*(?:the )?(?:{TESTS}|migrations?"
    rf"|prod\w*){_ENDS}",
    rf"(?:edit|modify|touch|change|rewrite|delete|remove|overwrite)\b {_OWN}+(?:branch\w*|code|commits|configs?"
    rf"|files?|work)\b",
    r"(?:install|upgrade|downgrade|add) (?:a |any |new |an? )*(?:packages?|dependenc\w+|librar\w+|deps)\b",
)
_SECRET = either(
    r"secrets?|api keys?|keys|credentials|passwords?|tokens?|\.env\w*|personal (?:data|info\w*)",
    r"private (?:data|keys?|code)|research",
)
_FOREIGN = either(
    r"generated(?! (?:image|output|page|pdf|report|text|video)s?\b)",
    r"official|upstream|vendor(?:ed)?|third[- ]party|node_modules|lock ?files?|unrelated",
    r"(?:old|existing|applied) migrations?",
)
_OF_AGENTS = (
    r"(?:please |make sure (?:that )?(?:to |you |we )?|remember to |you (?:must|should|need to|have to) )?"
    rf"{ALWAYS} (?:\w+ly )?{_ALWAYS_DONE}",
    r"(?:please )?(?:ask|auto-?\w+|commit|deploy|document|format|lint|push|rebase|test|write (?:unit )?(?:docs|tests?)"
    rf"|run (?:the |all )*(?:build|checks?|lint\w*|{TESTS})|update (?:the )?{DOCS})\b"
    r".{0,60}?\b(?:always|at all times|(?:every|each) (?:single )?time)\W*$",
    r"(?:please )?use my (?:own |personal |private |work |company |other )+"
    r"(?:account|aws|email|git|github|gitlab|gmail|google|ssh key|user(?:name)?)\b",
    rf"{NOT} (?:ever )?(?:touch|edit|modify|change|alter|patch|overwrite)\b (?:any |the |any of the "
    rf"|an? )*(?:auto[- ]?)?"
    rf"{_FOREIGN}\b",
    rf"{NOT} (?:ever )?(?:change|delete|edit|modify|overwrite|remove|revert|rewrite|touch|undo) (?:any of )?my"
    r" (?:own )?(?:branch(?:es)?|changes|code|comments|commits|config|docs|edits|files|logs|notes|settings|to-?dos"
    r"|work)\b",
    r"(?:do|make) (?:the )?changes only (?:if|when(?:ever)?|where(?:ver)?) (?:asked|necessary|needed|required)\b",
    rf"always \w+ .{{0,60}}?\b(?:after|before|with) (?:each|every) (?:build|{UNIT})\b",
    rf"{NOT} (?:ever )?(?:commit|publish|push|upload) (?:any |my |our |your )*(?:\w+ ){{0,2}}?{_SECRET}\b",
    rf"{NOT} (?:ever )?(?:expose|leak|post|share) (?:my|our) (?:\w+ ){{0,2}}?{_SECRET}\b",
)

# What everybody here keeps to.
_COMMITTED = words(
    r"""
    commits? commit\smessages? prs? pull\srequests? branch\snames? migrations? scripts source\sfiles code
    documentation docs docstrings comments tests test\sfiles infra(?:structure)? dependencies secrets configs?
    """
)
_GUIDE = r"(?:conventions?|style(?: ?guide)?|guidelines|(?:coding )?standards?|claude\.md|agents\.md)"
# What they keep to, other than what is to be done to them at once ("all tests must pass").
_KEPT_TO = either(
    r"(?:always |never |only )?(?:avoid|carry|come with|contain|cover|end with|follow|go|have|include|link|live|mention"
    r"|reference|start with|stay|use)\b",
    r"(?:always |never |only )?be (?:accompanied|approved|atomic|backed|based|covered|documented|formatted|generated|in"
    r"|kept|linted|named|pinned|placed|prefixed|put|rebased|reproducible|short|signed|small|squashed|stored|typed"
    r"|under|versioned|written)\b",
)
_CONVENTIONS = (
    rf"(?:please )?(?:adhere|conform|stick|keep) to (?:\S+ ){{0,4}}?(?:{_GUIDE}|rules)\b",
    r"(?:please )?(?:always )?(?:follow|honou?r|respect|obey) (?:the |our |my |all )?(?:rules? (?:in|of) "
    r"|instructions in )?"
    rf"(?:the )?(?:\S+ ){{0,2}}?(?!guidelines|style\b){_GUIDE}(?:\W*$|,| file\W*$)",
    rf"(?:all|every|any|each)(?: new| of (?:the|our))? {_COMMITTED} (?:(?:must|should|has to|have to|needs? to)"
    rf" {_KEPT_TO}|needs? (?:an?|no) \w|goes? (?:in|into|through|to|under)\b|lives? in|belongs? (?:in|to|under)"
    r"|gets? (?:an?|its|no|one)\b)",
    r"everything (?:must|should|needs? to|has to) be (?:reproducible|typed|tested|documented|committed|in git"
    r"|versioned)\b",
    r"(?:use|write|keep|make|prefix|sign|format|start) (?!the |this |that )(?:\w+ ){0,2}?"
    r"(?:commit messages|commits|branch names|pr titles|prs)\b"
    r"(?! (?:format|for (?:the|this|these|both|each|all)|above|below|list|page|history|table|view|tab|count"
    r"|as an?|as the|in the (?!imperative|past|present)|into|on|to))",
    r"(?:no|ignore|we (?:do not|don'?t) need|(?:do not|don'?t) (?:add|care about|keep"
    r"|worry about)) (?:any )?backwards?[- ]compat\w*\b(?!.*\bthis\b)",
    r"everything in (?:this|the|our) (?:code ?base|project|repo(?:sitory)?) (?:must|should|needs? to|has to)\b",
    rf"(?:the |our |your )?(?:{_COMMITTED}|changelog|plans?|readme|specs?) (?:must|should|has to|have to"
    rf"|needs? to) (?=always|never){_KEPT_TO}",
    rf"keep (?:the |your |our )?(?:{DOCS}|files?|notes|specs?) (?:always )?(?:current|in sync|up[- ]to[- ]date"
    rf"|updated)\b"
    r"(?!.*\b(?:these|this)\b| (?:across|between|in|on|with the (?:backend|client|cloud|db|database|server)))",
    r"(?:conventional|atomic|small|separate|signed) commits(?:\W*$|[,.;])",
    rf"(?:all|any|each|every) (?:new )?{PIECE}s? (?:must|should|needs? to|has to|have to) (?:come with|have|include)"
    rf" (?:an? |its |new |their )*(?:{TESTS}|docs|docstrings?|type hints|types)(?:\W*$|[,.;])",
    r"we (?:do not|don'?t|dont|never) use (?!(?:it|that|the|these|this|those)\b)\S+(?: \S+)?"
    r" (?:here|in (?:our|this) (?:code ?base|package|project|repo(?:sitory)?))(?:\W*$|,)",
)

# In this code and no other, so that no work needs to be named: "never use select * in this repo".
_CODE = r"(?:this|our) (?:code ?base|mono ?repo|repo(?:sitory)?)"
_FOR_NOW = (
    r"(?!.*\b(?:never mind|any\w*|it|that|them|these|those|there|yet|now|today|tonight|so far|until|till|but"
    r"|for the moment|the (?:bug|change|error|feature|fix|issue|new|problem|task)s?)\b)"
)
_KEPT_THERE = either(
    rf"(?:please )?(?:always|{NOT}|we (?:always|only|{NOT}))"
    rf" (?:{WORK}|call|depend|expose|introduce|rely|swallow|throw)\b",
    r"we use (?!(?:an?|our|the|this)\b)\S+",
)
_IN_THIS_CODE = (
    rf"(?:no(?: more)?|{NOT} (?:add|put|use|write)(?: any)?|avoid|stop (?:using|adding)) emojis? in"
    r" (?:any |the |your )?(?:commits?(?: messages?)?|pr (?:descriptions?|titles?))(?: (?:please|pls))?\W*$",
    rf"{_FOR_NOW}{_KEPT_THERE}.{{1,100}}? (?:across|for|in|throughout) {_CODE}(?:\W*$|[,;:])",
    rf"{_FOR_NOW}(?:for|in) {_CODE},? {_KEPT_THERE}",
    rf"{_FOR_NOW}use \S+ (?:for|in) {_CODE}(?:\W*$|[,;:])",
    rf"{_FOR_NOW}(?!.*\bthis\b)we (?:never (?:hard-?code|import|install|mock|skip)"
    r"|(?:never|only) (?:commit|force[- ]push|merge|push|rebase|squash|use)) .{1,60} here(?:\W*$|[,;:])",
    rf"{NOT} (?:ever )?(?:touch|edit|modify|change) (?:any |the )*files? (?:in|inside|under) (?:the )?{_FOREIGN}\b",
    r"(?:the |all |our |your )?(?:branch names|commit messages|pr titles) (?:are|must be|should be|have to be"
    r"|need to be) (?:always )?(?:in|kept|lower ?case|short|written)\b",
)

# Of each such piece of work.
_DOING = either(
    r"branching|coding|committ?ing|debugging|deploying|implementing|merging|naming|planning|pushing|refactoring"
    r"|reviewing",
    r"testing|writing (?:code|tests?|commits?|docs|migrations?|commit messages?)",
)
_EACH = (
    rf"(?:for|in|on|with) {ALL} (?:(?:new|future|coding"
    rf"|code) )+{PIECE}s?(?: or \w+)?[^,.]{{0,30}}?,? (?:please )?{ASKED}\b",
    rf"(?:for|in|on|with|after|before) {ALL} {UNIT}[^,.]{{0,30}},? (?:please )?(?:always|never|remember|make sure)\b",
    rf"(?:whenever|{TIME}) (?:you|we) (?!{AS_USER}\b|are\b|can\b|feel|have|like|want)[^,.]{{1,60}}, (?:please |also "
    rf"|then )?{ASKED}\b"
    r"(?! (?:hesitate|worry))",
    rf"(?:when(?:ever)?|if|{TIME}) I (?:ask|give you|paste|report|say|send you|tell you|type)\b(?! (?:{IT}|my)\b)"
    rf"[^.]{{1,100}}?, (?!(?:I|{IT}|we)\b)\w",
    rf"(?:if|when|once|before|after|while) you (?!{AS_USER}\b)[^,.]{{1,60}}, "
    r"(?:please |you (?:must|should) )?(?:always|never)\b",
    rf"(?:when|before|after|while) {_DOING}(?: \w+)?(?: (?:changes|code|features|commits|tests))?,? (?:please )?"
    rf"(?:you (?:must|should) )?(?!{IT}\b){ASKED}\b(?! {IT}\b)",
    r"(?:before|when) (?:committ?ing|pushing|opening (?:an? )?prs?)(?: \w+)?,? (?:please )?"
    r"(?:always|check|format|lint|make sure|never|run|test|use|verify)\b",
    r"(?:.{0,60} )?(?:check|review|audit|test|update|documentation|sync|backup|lint)\w* (?:needs? to|must|should"
    r"|has to)"
    rf" (?:happen|be (?:done|run)) (?:after|before|with|on) (?:each|every|any)(?: \w+)? {UNIT}\W*$",
    r"(?:please )?(?:commit|push|lint|format|type-?check|deploy|rebase|back ?up"
    rf"|run (?:the |all |a )?(?:\w+ )?(?:{TESTS}|lint\w*|checks?|formatters?|build)|update (?:the )?(?:{DOCS}"
    rf"|tests))\b"
    rf".{{0,60}}?\b(?:after|before|with|on|at the end of) (?:each|every|any)(?: \w+)? (?:{UNIT}|step|turn)\W*$",
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
    rf"(?:no|no more|{NOT} (?:add|put|use|write)(?: any)?|avoid|without|stop (?:using|adding)) (?:emojis?"
    rf"|em[- ]?dash(?:es)?)\b"
    r"(?:\W*$|,? (?:ever|anywhere|please|pls)\b| in (?:code|commits?|docs|anything|the code|your \w+|comments"
    r"|commit messages)\b)",
    r"no (?:\w+ ){0,2}?(?!changes?|errors?|bugs?|issues?|problems?|differences?|need|idea|longer|one|more)\w+"
    r" (?:in|within|inside|on|to) (?:the |our |any )?(?:code|methods?|functions?|commits|commit messages?|prs|tests"
    r"|comments"
    r"|main|master|production code|code ?base)\W*$",
    r"no (?:code |more )?(?:ai slop|assumptions|duplication|fluff|guessing|hacks|jargon|over-?engineering|shortcuts"
    r"|workarounds)(?:\W*$|[,.])",
    r"no (?:code |inline )?(?:comments|docstrings|mocks|magic numbers|console\.logs?|print statements|placeholders"
    r"|type hints|abbreviations|one-?liners|sub-?agents?|worktrees?|feature branches|latex|force[- ]push(?:es"
    r"|ing)?)(?: (?:please|pls|ever|anywhere))?\W*$",
)
PREFERS = re.compile(
    r"stop using (?!(?:it|that|the|these|this|those)\b)(?:(?!here|now)[\w.-]+ ?){1,2}\W*$|"
    r"prefer (?:using |to use )?(?!(?:option|the (?!\w+ (?:cli|helpers?|library|mcp|scripts?|skills?|tools?)\b)|this"
    r"|that|it|an?"
    r"|your|[a-d])\b)(?!.*\b(?:if|when)\b)\w",
    re.IGNORECASE,
)

FOR_ALL_WORK = re.compile(
    either(*_NOT_ASKED_ABOUT, *_KEEPS, *_OF_AGENTS, *_CONVENTIONS, *_IN_THIS_CODE, *_EACH), re.IGNORECASE
)
STEERING = re.compile(either(*_ANSWERS), re.IGNORECASE)
