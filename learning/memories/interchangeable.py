"""Tools of which a project has one for each purpose: who says "we use npm here" takes back "we use pnpm here".

Only what stands for the same work is in a row. Linters are not, nor what formats and lints: these are used together.
"""

from __future__ import annotations

import re

from prowess.learning import text
from prowess.learning.text import stems_of

__all__ = ["ROLE_TOOLS", "contradicts", "forbidden_by", "given_up_by", "prefers", "role_of", "swaps"]

_ROLES = tuple(
    frozenset(row.split())
    for row in (
        "bun npm pnpm yarn",
        "pdm pip pipenv poetry uv",
        "jasmine jest mocha vitest",
        "nose pytest unittest",
        "cypress playwright",
        "gradle maven",
        "terraform tofu",
        "spaces tabs",
        "chinese dutch english french german italian japanese korean polish portuguese russian spanish",
    )
)
ROLE_TOOLS = frozenset().union(*_ROLES)
_OPENTOFU = re.compile(r"\bopentofu\b", re.IGNORECASE)  # whose program is tofu
_AGAINST = frozenset(("avoid", "instead", "never", "no", "not", "over", "rather", "stop", "t", "than", "without"))
# Between those and the tool: "never use", "instead of"; and between two tools.
_BETWEEN = frozenset(
    """
    any back deps dependencies dependency ever have install installing longer more move need of package packages
    run running switch test testing tests the to unit use using want with
    """.split()  # noqa: SIM905 - a list of quoted words would be no easier to read
)
_OR = frozenset(("and", "nor", "or"))
# What a rule says beside the tool without saying for what.
_PLAIN = frozenset(
    stems_of(
        """
        actually again always back base code codebase company dependencies dependency deps don forward from
        going here install installing instead longer migrated module moved must need never now only our over package
        please prefer project rather repo repository run service should stop switched team test testing tests
        unit use using want
        """.split()  # noqa: SIM905 - a list of quoted words would be no easier to read
    )
)
# What a rule that gives a tool up may say beside: of whom, how far and when.
_WHOLLY = _PLAIN | frozenset(
    stems_of(
        """
        anymore avoid everyone everything everywhere finally last month recently re team ve week year yesterday
        """.split()  # noqa: SIM905 - a list of quoted words would be no easier to read
    )
)
_MOVED = re.compile(
    r"\b(?:chang|migrat|mov|switch)(?:ed|ing) (?:(?:back|over) )?(?:from (\w+) )?to (\w+)", re.IGNORECASE
)
_CLAUSE_END = re.compile(r"[,.;:!?()\n]|\b(?:as|because|but|cause|since|so)\b", re.IGNORECASE)
# "For releases, ...", "npm -g", "pytest without asking"
_CONDITION = re.compile(r"\s*(?:for|if|in|on|when|while)\b", re.IGNORECASE)
# The last: who need not use it may.
_IN_PART = re.compile(
    r"\s-{1,2}\w|\b(?:after|before|except|if|on|unless|until|when|while|without)\b"
    r"|(?:longer|n'?t|not) (?:have|need) to\b",
    re.IGNORECASE,
)
_ASKS_FOR = re.compile(
    rf"(?:please )?(?:(?:always|only) )?(?:(?:prefer|run|use)\b|(?:{'|'.join(sorted(ROLE_TOOLS))})\b)", re.IGNORECASE
)
_ONCE = re.compile(r"\b(?:it|now|that|these|this|those|today)\b", re.IGNORECASE)
_DENIALS = frozenset(("avoid", "never", "no", "not", "stop", "t"))


def words(said: str) -> list[str]:
    """The words of ``said``, with a tool by the name of its program."""
    return text.words(_OPENTOFU.sub("tofu", said))


def swaps(newer: str, older: str) -> bool:
    """Whether two rules want one tool each, of the same role but not the same one, and for the same thing."""
    for role in _ROLES:
        mine, theirs = (_wanted(rule, role) for rule in (newer, older))
        if len(mine) == len(theirs) == 1 and mine != theirs:
            return _purpose(newer, role) == _purpose(older, role)
    return False


def contradicts(newer: str, older: str) -> bool:
    """Whether one of two rules wants the tool that the other forbids, without another in its place."""
    for role in _ROLES:
        for one, other in ((newer, older), (older, newer)):
            wanted = _wanted(one, role)
            against = {word for word in forbidden_by(other) if word in role}
            if len(wanted) == 1 and wanted <= against and not _wanted(other, role):
                return _purpose(newer, role) == _purpose(older, role)
    return False


def role_of(tool: str) -> frozenset[str]:
    """All tools of the role of ``tool``; empty where it has none."""
    return next((role for role in _ROLES if tool in role), frozenset())


def forbidden_by(rule: str) -> frozenset[str]:
    """The tools that a rule forbids: npm of "we use pnpm here, not npm"."""
    said = words(rule)
    against = {
        word for role in _ROLES for place, word in enumerate(said) if word in role and _is_against(said[:place], role)
    }
    return frozenset(against - {word for role in _ROLES for word in _wanted(rule, role)})


def prefers(sentence: str) -> bool:
    """Whether it asks for one of two tools of one role, and for nothing in particular: "use uv, not pip"."""
    against = forbidden_by(sentence) if _ASKS_FOR.match(sentence) else frozenset()
    roles = [role for role in _ROLES if role & against and len(_wanted(sentence, role)) == 1]
    return len(roles) == 1 and not (_purpose(sentence, roles[0]) or _ONCE.search(sentence))


def given_up_by(rule: str) -> frozenset[str]:
    """The tools that a rule takes from all work: yarn of "we use pnpm, not yarn", and of "we moved to pnpm".

    Not what it forbids in part: "never run npm publish", "no pytest in parallel".
    """
    rule = _OPENTOFU.sub("tofu", rule)
    clauses = _CLAUSE_END.split(rule)
    if _CONDITION.match(clauses[0]) and frozenset(stems_of(words(clauses[0]))) - _WHOLLY - ROLE_TOOLS:
        return frozenset()
    forbidden = {tool for tool in forbidden_by(rule) if all(_is_whole(one, tool) for one in clauses)}
    left, to = set[str](), set[str]()
    stay = {word for role in _ROLES for word in _wanted(rule, role)}
    for moved in _MOVED.finditer(rule):
        tool, before = moved[2].lower(), (moved[1] or "").lower()
        to.add(tool)
        clause = next((one for one in clauses if moved[0] in one), "")
        if clause and _is_whole(clause, tool) and _DENIALS.isdisjoint(words(clause)):
            left |= role_of(tool) - (stay - {before})
    return frozenset((forbidden | left) - to)  # "over to uv" forbids no uv


def _is_whole(clause: str, tool: str) -> bool:
    """Whether what a clause says of ``tool``, if anything, is said of it for whatever purpose."""
    if tool not in words(clause):
        return True
    return _IN_PART.search(clause) is None and not (_purpose(clause, role_of(tool)) - _WHOLLY)


def _wanted(rule: str, role: frozenset[str]) -> set[str]:
    """The tools of a role that a rule names, but not to forbid them."""
    said = words(rule)
    return {word for place, word in enumerate(said) if word in role and not _is_against(said[:place], role)}


def _is_against(before: list[str], role: frozenset[str]) -> bool:
    """Whether what stands before a tool forbids it, be it with others of the role: "never use npm or"."""
    for beside in (role | _OR, _BETWEEN):
        while before and before[-1] in beside:
            before = before[:-1]
    if before and before[-1] == "without" and not _DENIALS.isdisjoint(before):
        return False  # "never commit without pytest" demands it
    return bool(before) and before[-1] in _AGAINST


def _purpose(rule: str, role: frozenset[str]) -> frozenset[str]:
    """What else it says, by stem."""
    return frozenset(stems_of(word for word in words(rule) if word not in role)) - _PLAIN
