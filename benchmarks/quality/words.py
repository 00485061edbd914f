"""What a person says next of what was done before, in public histories: by the rules, and by words alone.

    python benchmarks/quality/words.py --prompts FILE [--part build|report] [--show]

FILE has a JSON object in each line: repository, position and text of a prompt that follows another one of its session,
long ones by their beginning. Where they are from and their labels are in words.json, by repository: file, commit, part,
and for each position (its time in the file) why it has its label. The texts are their authors' and not part of this
repository. The rules see the text alone. By words alone: any word of a list anywhere in the beginning.
"""

from __future__ import annotations

import argparse
import json
import math
import re
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from prowess.learning.reward import from_evidence
from prowess.learning.verdict import verdict_of

__all__ = ["run"]

INDEX = Path(__file__).with_name("words.json")
SAID = ("failure", "success", "unknown")
LABELS = {
    "error": "failure",  # told or pasted
    "still": "failure",
    "not working": "failure",
    "not meant": "failure",  # or not done in the way that was wanted
    "missing": "failure",
    "again": "failure",  # the same request once more
    "taken back": "failure",
    "thanks": "success",
    "works": "success",
    "praise": "success",
    "both": "both",
    "something else": "unknown",  # fails, as far as can be seen
    "to be committed": "unknown",
    "nothing": "unknown",
}
_BLAME = re.compile(r"(?i)\b(?:not|\w+n'?t|no|wrong|still|error|fail\w*|broken?|bug|issue|problem|revert|undo)\b")
_PRAISE = re.compile(r"(?i)\b(?:thanks?|works?|worked|working|great|good|perfect|nice|fixed|awesome|excellent)\b")


class Prompt(NamedTuple):
    """A prompt, why it has its label, and the label."""

    text: str
    reason: str
    label: str


def run(prompts: Path, part: str = "report") -> dict[str, Any]:
    """Counts and shares of the two ways, the shares as [share, low, high] with Wilson's 95 % intervals."""
    index = json.loads(INDEX.read_text(encoding="utf-8"))
    chosen = list(_prompts(index, prompts, part))
    ways = {"rules": verdict, "evidence": told, "words": by_words}
    return {
        "benchmark": "quality_words",
        "part": part,
        "repositories": sum(source["part"] == part for source in index),
        "prompts": len(chosen),
        "labels": Counter(prompt.label for prompt in chosen),
        **{name: _measured(chosen, way) for name, way in ways.items()},
    }


def verdict(text: str) -> str:
    """As a transcript's next prompt is read."""
    return {"negative": "failure", "positive": "success", None: "unknown"}[verdict_of(text)]


def told(text: str) -> str:
    """As the same words count when an agent hands them over as evidence."""
    (reward,) = from_evidence({"user": text})
    return "unknown" if reward.value is None else "success" if reward.value > 0 else "failure"


def by_words(text: str) -> str:
    """Blame before praise."""
    beginning = text[:240]
    return "failure" if _BLAME.search(beginning) else "success" if _PRAISE.search(beginning) else "unknown"


def _prompts(index: Sequence[dict[str, Any]], prompts: Path, part: str) -> list[Prompt]:
    read = map(json.loads, prompts.read_text(encoding="utf-8").splitlines())
    texts = {(prompt["repository"], prompt["position"]): prompt["text"] for prompt in read}
    return [
        Prompt(texts[source["repository"], position], reason, LABELS[reason])
        for source in index
        if source["part"] == part
        for position, reason in source["prompts"].items()
    ]


def _measured(prompts: Sequence[Prompt], way: Callable[[str], str]) -> dict[str, Any]:
    counts = Counter((prompt.label, way(prompt.text)) for prompt in prompts)
    reasons = Counter(prompt.reason for prompt in prompts if way(prompt.text) == prompt.label)
    table = {label: {said: counts[label, said] for said in SAID} for label in (*SAID, "both")}
    result: dict[str, Any] = {"table": table}
    for name in ("failure", "success"):
        claimed = sum(row[name] for row in table.values())
        result[f"{name}_precision"] = _wilson(table[name][name], claimed)
        result[f"{name}_recall"] = _wilson(table[name][name], sum(table[name].values()))
    of = Counter(prompt.reason for prompt in prompts)
    return {**result, "by_reason": {reason: [reasons[reason], of[reason]] for reason in LABELS if of[reason]}}


def _wilson(hits: int, of: int, z: float = 1.96) -> list[float] | None:
    if not of:
        return None
    share, spread = hits / of, z * z / of
    middle = (share + spread / 2) / (1 + spread)
    half = z * math.sqrt(share * (1 - share) / of + spread / (4 * of)) / (1 + spread)
    return [round(value, 3) for value in (share, middle - half, middle + half)]


def _table(name: str, found: dict[str, Any]) -> str:
    lines = [f"{name}", "", "| label | " + " | ".join(f"said {said}" for said in SAID) + " |", "|---|---|---|---|"]
    lines += [
        f"| {label} | " + " | ".join(str(row[said]) for said in SAID) + " |" for label, row in found["table"].items()
    ]
    shares = [f"{key} {value}" for key, value in found.items() if key.endswith(("precision", "recall"))]
    return "\n".join([*lines, "", ", ".join(shares), str(found["by_reason"]), ""])


def main() -> None:
    """Tables and one JSON line; with ``--show`` what was said wrongly, or not at all, before them."""
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--prompts", type=Path, required=True, help="the prompts' texts")
    options.add_argument("--part", choices=("build", "report"), default="report")
    options.add_argument("--show", action="store_true", help="print the prompts that the rules take otherwise")
    given = options.parse_args()
    if given.show:
        for prompt in _prompts(json.loads(INDEX.read_text(encoding="utf-8")), given.prompts, given.part):
            if verdict(prompt.text) != prompt.label:
                print(f"{prompt.reason} -> {verdict(prompt.text)}: {prompt.text[:150]!r}")
    found = run(given.prompts, given.part)
    for name in ("rules", "evidence", "words"):
        print(_table(name, found[name]))
    print(json.dumps(found))


if __name__ == "__main__":
    main()
