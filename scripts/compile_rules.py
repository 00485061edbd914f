"""Compile a maintained detector's rules into ``learning/redaction/rules.py``.

    pip install kingfisher-secret-scanner==1.5.0
    python scripts/compile_rules.py            # writes the same bytes every time

Kingfisher's catalogue holds the rules of Betterleaks (the successor of Gitleaks) and of Google's Veles in RE2 syntax.
Each becomes a ``bytes`` pattern of Python's ``re`` whose repetitions are all bounded, the literals of which one must
occur wherever it matches (so that most rules never run), the group of the secret, and the least entropy of a match.
"""

from __future__ import annotations

import hashlib
import importlib
import importlib.metadata
import json
import re
import sys
import warnings
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from re import _constants as ops  # type: ignore[attr-defined]
from re import _parser as parser  # type: ignore[attr-defined]
from typing import Any, NamedTuple

__all__ = ["TARGET", "bounded", "digest", "keywords"]

PACKAGE = "kingfisher-secret-scanner"
TARGET = Path(__file__).parents[1] / "learning" / "redaction" / "rules.py"
PREFIXES = ("betterleaks.", "veles.secrets/")

REPEATS = 512  # bound of "*" and "+" on one character: longer than any token but a certificate
GROUP_REPEATS = 16  # bound of "*" and "+" on a group, where backtracking multiplies
# Betterleaks lets a token end only at a quote, blank or semicolon; in prose it also ends at a comma or a bracket.
TOKEN_END = r"""(?:\\?['"\x60]|[\s;]|\\[nr]|$)"""  # noqa: S105 - a pattern
LOOSE_END = r"(?![0-9A-Za-z_-])"
POSIX = {"[:alnum:]": "0-9A-Za-z", "[:alpha:]": "A-Za-z", "[:digit:]": "0-9", "[:xdigit:]": "0-9A-Fa-f"}

# Hidden rules are mostly public halves of a pair (ids, hosts); these are secrets all the same.
HIDDEN_SECRETS = {
    "alibaba-sts-security-token", "aws-secret-access-key", "exoscale-api-secret", "ovh-consumer-key",
    "packagistsecret-api-key", "polymarket-api-secret", "polymarket-passphrase",
}  # fmt: skip
# Replaced by the general rules in redaction.py, which need no unbounded context.
REPLACED = {
    "bitbucketcredentials", "codecatalystcredentials", "codecommitcredentials", "curl-auth-header", "curl-auth-user",
    "generic-credential-uri", "hashicorp-tf-password", "kubernetes-secret-yaml", "nuget-config-password", "private-key",
}  # fmt: skip
# Words that ordinary text is full of: a rule should be woken by something rarer where it has the choice.
COMMON = (
    "access", "account", "api", "auth", "client", "code", "cursor", "http", "https", "key", "live", "password",
    "private", "public", "secret", "service", "test", "token", "user",
)  # fmt: skip
WIDEST = 4096  # longest match that is looked for, bytes
LITERALS = 64  # most alternatives that a rule may be woken by
SHORTEST = 3  # a literal under three characters wakes its rule everywhere

# Name, keywords, pattern, group of the secret (0: the first that took part), least entropy, and how far before a
# keyword a match may begin (0: it begins with the keyword).
Rule = tuple[str, tuple[str, ...], str, int, float, int]


def bounded(pattern: str) -> str:
    """``pattern`` (RE2) in the syntax of ``re``, every repetition bounded, flags scoped."""
    return _Rewriter(pattern.replace(TOKEN_END, LOOSE_END)).run()


class _Rewriter:
    """One pass over the pattern's tokens; ``scopes`` holds, for each open group, the flag groups opened inside it."""

    def __init__(self, pattern: str) -> None:
        self.tokens = list(_tokens(pattern))
        self.out: list[str] = []
        self.scopes: list[list[str]] = [[]]

    def run(self) -> str:
        for before, token in zip(["", *self.tokens], self.tokens, strict=False):
            self.out.append(self._rewritten(token, before))
        return "".join(self.out) + self._closing()

    def _rewritten(self, token: str, before: str) -> str:
        if re.fullmatch(r"\(\?[a-z]+\)", token):
            self.scopes[-1].append(f"{token[:-1]}:")
            return self.scopes[-1][-1]
        if token.startswith("("):
            self.scopes.append([])
            return token
        if token == ")":  # noqa: S105 - a token of a pattern
            return self._closing() + token
        if token == "|":  # noqa: S105 - a token of a pattern
            return ")" * len(self.scopes[-1]) + "|" + "".join(self.scopes[-1])
        return _bounded_repeat(token, GROUP_REPEATS if before == ")" else REPEATS)

    def _closing(self) -> str:
        return ")" * len(self.scopes.pop())


def _bounded_repeat(token: str, most: int) -> str:
    lazy = token[-1:] if len(token) > 1 and token[0] in "*+{" and token[-1] == "?" else ""
    if token[0] in "*+":
        return f"{{{'01'[token[0] == '+']},{most}}}{lazy}"
    if match := re.fullmatch(r"\{(\d+),\}\??", token):
        least = int(match[1])
        return f"{{{least},{max(most, 4 * least)}}}{lazy}"
    return token


def _tokens(pattern: str) -> Iterator[str]:
    """Escapes, classes, group openings, quantifiers and single characters, with RE2's own spellings translated."""
    syntax = re.compile(
        r"(?P<escape>\\x[0-9A-Fa-f]{2}|\\.)|(?P<set>\[\^?\]?(?:\[:\w+:\]|\\.|[^\]\\])*\])"
        r"|(?P<flags>\(\?[a-z]+\))|(?P<open>\((?:\?(?:P<\w+>|[a-z]*(?:-[a-z]+)?:|<?[=!]))?)"
        r"|(?P<repeat>\{\d+(?:,\d*)?\}\??|[*+?]\??)|.",
        re.DOTALL,
    )
    for match in syntax.finditer(pattern):
        token = match[0]
        if match["set"]:
            for name, characters in POSIX.items():
                token = token.replace(name, characters)
            token = token[0] + token[1:].replace("[", r"\[")
        yield r"\Z" if token == r"\z" else token  # noqa: S105 - a token of a pattern


class Wakers(NamedTuple):
    """Lower-case literals of which one occurs in every match; ``first``: a match begins with it."""

    literals: frozenset[str]
    first: bool


# Where the pattern's literals are too short to find: what all but a few of its tokens hold.
CHOSEN = {
    "azure-ad-client-secret": Wakers(frozenset({"q~"}), first=False),
    "ibm-cloud-user-api-key": Wakers(frozenset({"ibm"}), first=True),
    "snowflake-programmatic-access-token.1": Wakers(
        frozenset({"snowflake", "sf_", "sf.", "sf ", "sf-", "sftoken"}), first=True
    ),
    "vault-service-token": Wakers(frozenset({"hvs."}), first=True),
}

# The same secrets without optional words in front: then a match begins with its keyword, and no stretch of text around
# each "key" has to be searched. Alibaba's have no shape of their own: behind any "key" or "secret" they would be every
# longer name and hash, and what is assigned to a secret's name the general rules mask anyhow.
_ALIBABA = r"(?i:(?:alibaba|aliyun)(?:[ \t\w.-]{0,20})[\s'\"]{0,3}(?:=|>|:{1,3}=|\|\||:|=>|\?=|,)[\x60'\"\s=]{0,5}"
SHORTENED = {
    "alibaba-secret-key": _ALIBABA + r"([A-Za-z0-9]{30})(?![0-9A-Za-z_-]))",
    "alibaba-sts-access-key-secret": _ALIBABA + r"([A-Za-z0-9]{30,64})(?![0-9A-Za-z_-]))",
    # No digit before the value: what follows "DNSKEY 257 3 13" is public.
    "azure-storage-account-key": r"(?i:key[\t-\r -/:-@][\t-\r -/:-~]{0,23}?([A-Za-z0-9+/]{86}==))",
}


def keywords(pattern: str) -> Wakers | None:
    """What to look for before ``pattern`` is tried; None where the pattern holds no literal long enough."""
    found = _best(parser.parse(pattern))
    return found._replace(literals=_shortest(found.literals)) if found else None


def _shortest(literals: frozenset[str]) -> frozenset[str]:
    """Without those that begin with another: where they occur, that one does too, at the same place."""
    return frozenset(text for text in literals if not any(text.startswith(other) for other in literals - {text}))


def _weight(literals: Iterable[str]) -> float:
    """How rare the most common of the literals is, roughly: its length, less where it is an everyday word."""
    return min(len(text) - 2.5 * any(word in text for word in COMMON) * (len(text) < 9) for text in literals)


def _best(items: Sequence[Any]) -> Wakers | None:
    """The rarest set of literals that ``items`` in sequence cannot match without one of."""
    candidates: list[Wakers | None] = []
    run: list[Any] = []
    for place, item in enumerate(items):
        if _exact([*run, item]) is not None:
            run.append(item)
            continue
        first = place == len(run)
        candidates += [_listed(run, first=first), *(_at(found, first=first) for found in _inside(run, item))]
        run = []
    candidates.append(_listed(run, first=len(run) == len(items)))
    usable = [found for found in candidates if found and min(map(len, found.literals)) >= SHORTEST]
    return max(usable, key=lambda found: (_weight(found.literals), found.first, -len(found.literals)), default=None)


def _listed(run: Sequence[Any], *, first: bool) -> Wakers:
    return Wakers(frozenset(_exact(run) or {""}), first)


def _at(found: Wakers | None, *, first: bool) -> Wakers | None:
    return found._replace(first=found.first and first) if found else None


def _inside(run: Sequence[Any], item: Any) -> Iterator[Wakers | None]:
    """Candidates within ``item``; ``run`` stands before it, as the parser moves common prefixes out of a branch."""
    kind, value = item
    if kind is ops.SUBPATTERN:
        yield _best([*run, *value[3]])
    if kind in (ops.MAX_REPEAT, ops.MIN_REPEAT) and value[0] > 0:
        yield _at(_best(value[2]), first=not run)
    if kind is ops.BRANCH:
        yield _union([_best([*run, *branch]) for branch in value[1]])


def _union(parts: Sequence[Wakers | None]) -> Wakers | None:
    known = [part for part in parts if part]
    literals = frozenset().union(*(part.literals for part in known))
    if len(known) < len(parts) or len(literals) > LITERALS:
        return None
    return Wakers(literals, all(part.first for part in known))


def _exact(items: Sequence[Any]) -> set[str] | None:
    """All texts, lower-cased, that ``items`` can match, or None when they are too many to list."""
    texts = {""}
    for kind, value in items:
        choices = _choices(kind, value)
        if choices is None or len(texts) * len(choices) > LITERALS:
            return None
        texts = {left + right for left in texts for right in choices}
    return texts


def _choices(kind: Any, value: Any) -> set[str] | None:
    if kind is ops.LITERAL:
        return {chr(value).lower()}
    if kind in (ops.AT, ops.ASSERT, ops.ASSERT_NOT):
        return {""}
    if kind is ops.SUBPATTERN:
        return _exact(value[3])
    if kind is ops.IN:
        return _members(value)
    if kind is ops.BRANCH:
        parts = [_exact(branch) for branch in value[1]]
        return None if None in parts else set().union(*(part or () for part in parts))
    if kind is ops.MAX_REPEAT and value[1] <= 3 and (once := _exact(value[2])) is not None:
        return _repeated(once, value[0], value[1])
    return None


def _repeated(once: set[str], least: int, most: int) -> set[str]:
    texts: set[str] = set()
    level = {""}
    for count in range(most + 1):
        texts |= level if count >= least else set()
        level = {left + right for left in level for right in once}
    return texts


def _members(value: Sequence[Any]) -> set[str] | None:
    found: set[str] = set()
    for kind, item in value:
        if kind is ops.LITERAL:
            found.add(chr(item).lower())
        elif kind is ops.RANGE and item[1] - item[0] < 8:
            found |= {chr(code).lower() for code in range(item[0], item[1] + 1)}
        else:
            return None
    return found if len(found) <= 8 else None


def compile_rules(catalogue: Sequence[Mapping[str, Any]]) -> tuple[list[Rule], list[str]]:
    """The rules that can be used, by name, and the names of those that no keyword could wake."""
    rules: dict[str, Rule] = {}
    silent = []
    for detail in catalogue:
        name = _name(detail["id"])
        if name in REPLACED or not (detail["visible"] or name in HIDDEN_SECRETS):
            continue
        pattern = SHORTENED.get(name) or bounded(detail["detection_regex"])
        wakers = CHOSEN.get(name) or keywords(pattern)
        if not wakers:
            silent.append(name)
            continue
        width = 0 if wakers.first else min(parser.parse(pattern).getwidth()[1], WIDEST)
        least = _entropy(detail["betterleaks_filter"])
        rules[name] = (name, tuple(sorted(wakers.literals)), pattern, _group(detail, pattern), least, width)
    return sorted(rules.values()), sorted(silent)


def _name(identifier: str) -> str:
    for prefix in PREFIXES:
        identifier = identifier.removeprefix(prefix)
    return identifier


def _group(detail: Mapping[str, Any], pattern: str) -> int:
    named = re.compile(pattern.encode("latin-1")).groupindex.get("TOKEN")
    return named or int(detail["betterleaks_secret_group"])


def _entropy(node: Any) -> float:
    """The threshold of ``entropy(finding.secret) <= x`` in a rule's filter, 0 where it has none."""
    children: Any = node
    if isinstance(node, dict):
        callee = node.get("left", {}).get("callee", {}) if node.get("kind") == "binary" else {}
        if callee.get("value") == "entropy":
            return float(node["right"]["value"])
        children = list(node.values())
    if not isinstance(children, list):
        return 0.0
    return max((_entropy(child) for child in children), default=0.0)


def render(rules: Sequence[Rule], version: str) -> str:
    """The data file's text."""
    lines = [f"    {rule!r},\n" for rule in rules]
    return (
        '"""Rules of redaction.py: name, keywords, pattern, group (0: the first that matched), entropy, reach.\n'
        "\n"
        f"Generated by compile_rules.py from {PACKAGE} {version} (Apache-2.0, MongoDB, Inc.), whose catalogue comes\n"
        "from Betterleaks (MIT, Zachary Rice) and from Veles in OSV-SCALIBR (Apache-2.0, Google LLC). Do not edit.\n"
        '"""\n'
        "# ruff: noqa\n"
        "# fmt: off\n"
        f"SOURCE = {json.dumps(f'{PACKAGE} {version}')}\n"
        f"DIGEST = {json.dumps(digest(rules))}\n"
        "RULES: tuple[tuple[str, tuple[str, ...], str, int, float, int], ...] = (\n" + "".join(lines) + ")\n"
    )


def digest(rules: Sequence[Rule]) -> str:
    """SHA-256 of the rules, kept beside them so that a change by hand is noticed."""
    return hashlib.sha256(repr(tuple(rules)).encode()).hexdigest()


def _catalogue() -> list[Mapping[str, Any]]:
    rules = importlib.import_module("kingfisher_sdk").Rules(confidence="low", cache=False)
    return [rules.detail(entry["id"]) for entry in rules.metadata()]


def main() -> None:
    """Write the data file and say on stderr what was left out."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FutureWarning)  # "[[" is a plain bracket in RE2
        rules, silent = compile_rules(_catalogue())
    TARGET.write_text(render(rules, importlib.metadata.version(PACKAGE)), encoding="utf-8")
    sys.stderr.write(f"{len(rules)} rules; left out, as no literal tells them: {', '.join(silent)}\n")


if __name__ == "__main__":
    main()
