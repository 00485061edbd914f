"""Words of which the forms of rules are made: what agents do, and what their work comes in."""

from __future__ import annotations

__all__ = [
    "ALL",
    "ALWAYS",
    "ASKED",
    "AS_USER",
    "DOCS",
    "GIT",
    "IT",
    "NOT",
    "PIECE",
    "TESTS",
    "TIME",
    "UNIT",
    "WORK",
    "either",
    "words",
]


def either(*alternatives: str) -> str:
    """A pattern for one of several."""
    return f"(?:{'|'.join(alternatives)})"


def words(listed: str) -> str:
    """A pattern for one of the words that blanks stand between, each of them a pattern."""
    return either(*listed.split())


WORK = either(
    r"add|amend|apply|ask|build|bump|change|check|check out|clean|commit|create|delete|deploy|disable|do|document"
    r"|edit|fix",
    r"follow|force[- ]push|format|git-?ignore|hand-?edit|hard-?code|import|install|keep|lint|log|make|merge|mock"
    r"|modify",
    r"name|open|prefer|prefix|publish|push|put|read|rebase|refactor|release|remove|rename|restart|revert|review|run"
    r"|save",
    r"sign|skip|squash|stage|start|stub|test|touch|update|upgrade|use|verify|write",
)
ASKED = either(
    WORK,
    r"always|answer|avoid|be|call|confirm|consider|consult|don'?t|do not|double[- ]check|explain|give|include|let me"
    r"|let's",
    r"list|look|make sure|mention|never|notify|only|please|provide"
    r"|re-?(?:build|generate|run)|refer|remember|reply|report|respond|respect|search"
    r"|send",
    r"show|speak|stick|stop|suggest|summari[sz]e|talk|tell|think|throttle|treat|try|wait|warn|work",
)
# What somebody does with the product: "every time you click on a row".
AS_USER = words(
    "click drag hover log\\s(?:in|on|out) play press refresh scroll select sign\\s(?:in|out|up) swipe tap visit"
)
NOT = r"(?:never|do not|don'?t|dont)"
ALL = r"(?:all|any|each|every)"
ALWAYS = r"(?:always|never)"
TIME = r"(?:every ?time|each time|any ?time)"
IT = r"(?:it|that|the|these|this|those)"

# What work comes in.
PIECE = words(
    r"""
    agents? api branch(?:es)? bug chat class(?:es)? change commit component doc endpoint feature file fix(?:es)?
    function hook issue migration model module package page phase plan pr project prompt release route screen script
    service session skill spec task test ticket view work
    """
)
UNIT = (
    words(
        r"""
        change checkpoint commit deploy\w* edit feature (?:bug\s?)?fix iteration merge milestone phase pr prompt
        push refactor release session sprint task (?:pull\srequest)
        """
    )
    + "s?"
)
TESTS = r"(?:unit |integration |regression |e2e |end-to-end )*(?:tests?|test (?:cases?|files?|suite)|suite)"
DOCS = r"(?:changelog|docs|documentation|memory|plan|readme|to-?dos?)"
GIT = r"(?:amend|commit|deploy|force[- ]push|merge|open (?:an? )?pr|publish|push|rebase|release|tag)"
