"""Which prompts state how work is done for good, and which of these the rules of standing_rules.py find.

    python -I benchmarks/quality/rules.py --prompts FILE [--part PART] [--show] [--data DATA]

rules_prompts.json names what was read: pages of public prompt histories by repository, path, commit and offset in
characters; how many prompts a page has; which of them state a rule and why; and which others were read closely. A
prompt's position counts those that a person typed in that page from 1, without commands of the client ("/clear"). FILE
has these prompts, a JSON object in each line with repository, offset, position and text: they are their authors' and
not part of this repository. Its peer is a list of keywords. With DATA the requests of MetaTool are gone through too,
none of which states a rule.
"""

from __future__ import annotations

import argparse
import csv
import json
import math
import re
import sys
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent.parent))

from _common import emit

from prowess.learning.memories.standing_rules import only_lifts, rules_in

__all__ = ["false_alarms", "run"]

SOURCES = Path(__file__).with_name("rules_prompts.json")
PARTS = ("build", "first report", "second report")
KEYWORDS = re.compile(r"\b(?:always|never|from now on)\b", re.IGNORECASE)
NORMAL = 1.959964  # of a standard normal distribution, what 95 % lie within


@dataclass(frozen=True, slots=True)
class Prompt:
    """One that was read closely; ``reason`` is empty where it states no rule."""

    repository: str
    text: str
    reason: str


def run(prompts: Path, *, part: str = PARTS[-1]) -> dict[str, Any]:
    """Precision and recall by prompts, with Wilson's 95 % intervals as [share, low, high].

    A prompt is found where a rule would be kept of it. As "first" it is what a task begins with, as "steering" one
    that came while work went on, of which more counts.
    """
    pages = [page for page in json.loads(SOURCES.read_text("utf-8")) if page["part"] == part]
    labelled = list(_labelled(pages, prompts))
    ways = {"first": _kept, "steering": _steers, "keywords": _has_keyword}
    return {
        "part": part,
        "repositories": len({page["repository"] for page in pages}),
        "prompts": sum(page["prompts"] for page in pages),
        "read closely": len(labelled),
        "with a rule": sum(bool(prompt.reason) for prompt in labelled),
        "of repositories": len({prompt.repository for prompt in labelled if prompt.reason}),
        **{name: _measured(labelled, finds) for name, finds in ways.items()},
    }


def _labelled(pages: Iterable[dict[str, Any]], prompts: Path) -> Iterable[Prompt]:
    texts = {
        (said["repository"], said["offset"], said["position"]): said["text"]
        for said in map(json.loads, prompts.read_text("utf-8").splitlines())
    }
    for page in pages:
        repository, rules = page["repository"], {rule["position"]: rule["reason"] for rule in page["rules"]}
        for position in sorted([*rules, *page["others"]]):
            text = texts.get((repository, page["offset"], position))
            if text is None:
                raise SystemExit(f"no text of prompt {position} of {repository} at {page['offset']}")
            yield Prompt(repository, text, rules.get(position, ""))


def _kept(task: str) -> bool:
    """Whether a rule is kept: what only allows something is not, where nobody had forbidden it."""
    return any(not only_lifts(rule) for rule in rules_in(task))


def _steers(text: str) -> bool:
    return _kept("Go on\n\n" + re.sub(r"\n{2,}", "\n", text))


def _has_keyword(text: str) -> bool:
    return KEYWORDS.search(text) is not None


def _measured(labelled: Iterable[Prompt], finds: Callable[[str], bool]) -> dict[str, Any]:
    pairs = [(bool(prompt.reason), finds(prompt.text)) for prompt in labelled]
    right, wrong, missed = (pairs.count(pair) for pair in ((True, True), (False, True), (True, False)))
    precision, recall = _wilson(right, right + wrong), _wilson(right, right + missed)
    return {"right": right, "wrong": wrong, "missed": missed, "precision": precision, "recall": recall}


def false_alarms(data: Path) -> dict[str, Any]:
    """How many requests to a product's assistant are kept, or found by keywords, with the share as in ``run``."""
    with (data / "metatool" / "all_clean_data.csv").open(encoding="utf-8", newline="") as rows:
        requests = {row["Query"] for row in csv.DictReader(rows)}
    ways = {"first": _kept, "steering": _steers, "keywords": _has_keyword}
    counts = {name: sum(map(finds, requests)) for name, finds in ways.items()}
    return {"requests": len(requests), **{name: [n, _wilson(n, len(requests))] for name, n in counts.items()}}


def _wilson(hits: int, of: int) -> list[float] | None:
    """The share and its interval; None of nothing."""
    if not of:
        return None
    share, weight = hits / of, NORMAL**2 / of
    middle = (share + weight / 2) / (1 + weight)
    spread = math.sqrt(share * (1 - share) * weight + weight**2 / 4) / (1 + weight)
    return [round(value, 3) for value in (share, max(0.0, middle - spread), min(1.0, middle + spread))]


def table(result: dict[str, Any]) -> list[str]:
    """The result as Markdown."""
    rows = ["| | right | wrong | missed | precision | recall |", "|---|---|---|---|---|---|"]
    for name in ("first", "steering", "keywords"):
        one = result[name]
        shares = (f"{x[0]} [{x[1]}, {x[2]}]" if x else "-" for x in (one["precision"], one["recall"]))
        rows.append(f"| {name} | {one['right']} | {one['wrong']} | {one['missed']} | {' | '.join(shares)} |")
    return rows


def _shown(prompts: Path, part: str) -> Iterable[str]:
    """What is found wrongly and what is missed, to read."""
    pages = [page for page in json.loads(SOURCES.read_text("utf-8")) if page["part"] == part]
    for prompt in _labelled(pages, prompts):
        if bool(prompt.reason) != _steers(prompt.text):
            yield f"{'missed' if prompt.reason else 'wrong'}: {' '.join(prompt.text.split())[:200]}"


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--prompts", type=Path, required=True, help="the prompts that the index names")
    options.add_argument("--data", type=Path, help="folder of the shared sets")
    options.add_argument("--part", choices=PARTS, default=PARTS[-1])
    options.add_argument("--show", action="store_true", help="print what is found wrongly or missed")
    given = options.parse_args()
    result = run(given.prompts, part=given.part)
    if given.data:
        result["other requests"] = false_alarms(given.data)
    print("\n".join([*(_shown(given.prompts, given.part) if given.show else ()), *table(result)]))
    emit("quality-rules", result)


if __name__ == "__main__":
    main()
