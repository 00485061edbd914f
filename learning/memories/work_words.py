"""Whether words are of the work on software, or of what the software is to do.

The same verbs serve both: who writes "never push to main" means the work, who writes "never push empty values" a
program. What they name beside tells them apart.
"""

from __future__ import annotations

import re

from prowess.learning.memories.form_words import words
from prowess.learning.synthesis.commands import PROJECT_TOOLS

__all__ = ["ADDS_THAT", "OF_PRODUCT", "is_of_product", "names_work", "of_product_alone"]

# What is to be made now. "Always lint, and fix it" is none, nor what holds under a condition or forbids.
ADDS_THAT = re.compile(
    r"(?!.*\b(?:do not|don'?t|if|never|no|once|when(?:ever)?)\b)"
    r".*[,;] (?:please )?(?:add|build|implement) (?:that|this)\W*$",
    re.IGNORECASE,
)

# What the work has to do with, and no product.
_OF_WORK = re.compile(
    r"\b(?:(?:always|never|ever|don'?t|do not|we|only|stop) "
    r"(?:amend|commit|deploy|force[- ]push|push|rebase|squash)(?:ing)?"
    r"(?:\W*$|[,;.]|(?= (?:after|anything|before|by|develop|directly|from|main|master|on|onto|secrets"
    r"|straight|unless|without)\b))"
    r"|(?:to|on|from|into|against) (?:origin/)?(?:main|master|develop|trunk)\b|branch(?:es)?|worktrees?"
    r"|(?:apply|connect|deploy|push|run|test|touch|write)\w* .{0,30}\bprod(?:uction)?"
    r"|PRs?|MRs?|(?:pull|merge) requests?|commit messages?|conventional commits|commits|changelog"
    r"|(?:before|you) (?:commit|push)|git-?ignore|sudo|by hand|\.env|no-verify|CI|emojis?"
    r"|dependencies|lock ?files?|migrations?|(?:generated|vendored) (?:code|files?|clients?|sources?)"
    r"|(?:unit |integration )?tests|(?:e2e|entire|full|integration|whole) suite"
    r"|squash[- ]merges?|test (?:files?|suite|cases?)|mocks"
    r"|mock the (?:db|database)"
    r"|snapshots|fixtures"
    r"|(?:snake|camel|kebab|pascal)[_ -]?case|semicolons|inline styles|hard-?cod\w+|magic numbers|ts-ignore"
    r"|eslint-disable|noqa"
    r"|default exports|arrow functions|console\.logs?|print statements|virtual ?envs?|\.?venv|sub-?agents?|stubs"
    r"|test doubles"
    r"|coverage|lint\w*|formatters?|type hints|docstrings?|(?:add|writ)\w* (?:\w+ )?comments|code comments"
    r"|tabs\b.{0,20}\bspaces|spaces\b.{0,20}\btabs|in (?!the |this |that |your |my )\w+ code"
    r"|in (?:css|java(?:script)?|kotlin|python|rust|sql|typescript)|any type|type: ?ignore"
    r"|(?:answer|reply|respond|write|comment)\w* .{0,20}\bin (?:english|french|german|spanish|chinese|japanese))(?!\w)",
    re.IGNORECASE,
)
_TOOLS = PROJECT_TOOLS - frozenset(
    "dart go hatch helm just make mix next node nx rake rye swift task tofu turbo".split()  # noqa: SIM905
)  # which are words as well
_TOOLS |= frozenset("argocd eksctl goreleaser helmfile kustomize opentofu terraform-docs tflint".split())  # noqa: SIM905

_THING = words(
    r"""
    account api app bank(?:ing)? banner basket blog board bot box bucket button card cart catalog(?:ue)? cdn chart
    chatbot checkout column customer(?:'s)? dashboard device dialog editor email faq feed field fight footer form
    game generator grid header inbox input json landing ledger list map menu modal name page panel payload payment
    pipeline player(?:'s)? popup post product profile readme resolver response row screen search section shop
    sidebar stack survey table tenant text title toast toolbar tooltip ui user(?:'s)? view web(?:site)? widget
    window wizard workflow
    """
)
# Words of work that are part of a product's name: "the changelog table", "the branch office".
_NAME_OF_THING = (
    r"(?:branch|changelog|commits?|coverage|docs?|fixtures?|migrations?|prs?|release|snapshots?|tests?) "
    r"(?:button|card|column|field|index|list|manager|office|page|queue|record|row|table|view|widget)s?"
)
_WHILE_IT_RUNS = (
    r"(?:after|at|before|during|on) (?:boot|clos(?:e|ing)|exit|load|log(?:in|out)|open|reload|save|shut ?down|start-?up"
    r"|submit|sync|unload|update|upgrade)"
    rf"|when (?:sync\w+|(?:an?|the) (?:\w+ )?(?:{_THING}|date|extension|plugin)s?)"
)
# What a rule for the work is not about: what some part of a product shows or does.
OF_PRODUCT = re.compile(
    rf"\b(?:(?:across|between|for|from|in|of|on|to) (?:the|this|an?|all|any|both|each|every|our|two)"
    rf" (?:\w+ ){{0,2}}{_THING}s?|{_NAME_OF_THING}|{_WHILE_IT_RUNS})\b"
    r"(?! (?:branch|class(?:es)?|clients?|code|config|directory|endpoints?|errors?|files?|folder|module|package|repo"
    r"|routes?|schemas?|tests?|types?)\b)",
    re.IGNORECASE,
)

_SHOWN = re.compile(r"\b(?:display|hide|render|show)\b", re.IGNORECASE)
_TO_ME = re.compile(r"\b(?:me|us|your|without asking)\b", re.IGNORECASE)
_IT_DOES = re.compile(
    rf"(?:an?|every|our|the|this) (?:\w+ )?{_THING} (?:can|has to|must|needs to|should|will)\b", re.IGNORECASE
)
_NAMES_THING = re.compile(rf"\b{_NAME_OF_THING}\b", re.IGNORECASE)


def is_of_product(sentence: str) -> bool:
    """Whether what it asks for is done by the product: it neither names the work nor is told to whoever does it."""
    of_product = OF_PRODUCT.search(sentence) or _SHOWN.search(sentence)
    return of_product is not None and not (names_work(sentence) or _TO_ME.search(sentence))


def of_product_alone(clause: str) -> bool:
    """Whether it says what some part of a product does: so does what stands behind it."""
    return _IT_DOES.match(clause) is not None


def names_work(sentence: str) -> bool:
    """Whether it names a tool of software projects, a branch, tests, migrations and the like."""
    plain = _NAMES_THING.sub("", sentence)
    return _OF_WORK.search(plain) is not None or not _TOOLS.isdisjoint(re.findall(r"[\w-]+", sentence.lower()))
