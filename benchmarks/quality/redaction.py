"""How many secrets are masked, and how much else is.

    python -I benchmarks/quality/redaction.py [--data DIR] [--part build|report] [--show 20]

Secrets are made by their issuers' formats. The part "build" has what was looked at while rules were mended, "report"
formats, places and look-alikes written down afterwards, and other files. Clean code is this environment's standard
library and installed packages, and with ``--data`` the transcripts and trajectories there.
"""

from __future__ import annotations

import argparse
import json
import re
import sys
import sysconfig
import tempfile
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent))

import anyio
from _secrets import Sample, lookalikes, samples, split

from prowess.learning.redaction.masking import mask, mask_fields, mask_many, mask_value
from prowess.storage.models import NewStep, Origin, Where
from prowess.storage.store import Store

__all__ = ["run"]

SEEDS = {"build": 1, "report": 2}
EACH = {"build": 2, "report": 4}  # of each format in each place
STORED = 400  # samples that go through a real store
CODE_BYTES = 30_000_000  # of clean code that is read at most
MARK = re.compile(r"\[masked:([\w.-]+)\]")


def run(data: Path | None, *, part: str = "report", show: int = 0) -> dict[str, Any]:
    """Recall by kind of secret, alarms on look-alikes and per megabyte of clean code, and what a store keeps."""
    made = list(samples(part, SEEDS[part], EACH[part]))
    masked = mask_many([sample.text for sample in made])
    hits = [not _shown(sample.secret, text) for sample, text in zip(made, masked, strict=True)]
    clean = list(lookalikes(part, SEEDS[part], 25 * EACH[part]))
    alarms = [sample for sample in clean if mask(sample.text) != sample.text]
    true, false = sum(hits), len(alarms)
    results = {
        "part": part,
        "secrets": _counted(made, hits),
        "recall": round(true / len(made), 4),
        "lookalikes": len(clean),
        "false_alarms": dict(Counter(sample.provider for sample in alarms)),
        "precision": round(true / (true + false), 4),
        "kept_of_the_rest": _kept(made, masked),
        "stable": all(mask(text) == text for text in masked),
        "store": anyio.run(_through_a_store, made),
        "code": [_code(name, files, part, show) for name, files in _corpora(data)],
    }
    for sample, hit in [*zip(made, hits, strict=True)][: len(made) if show else 0]:
        if not hit:
            print("missed", sample.provider, "/", sample.context, repr(sample.text[:160]))
    for sample in alarms[:show]:
        print("alarm", sample.provider, repr(mask(sample.text)[:160]))
    return results


def _shown(secret: str, text: str) -> bool:
    """Whether the secret, or twelve characters in a row of it, can still be read."""
    if secret in text:
        return True
    lines = [line for line in secret.split("\n") if "-----" not in line]
    return any(line[at : at + 12] in text for line in lines for at in range(len(line) - 11))


def _counted(made: Iterable[Sample], hits: Iterable[bool]) -> dict[str, Any]:
    by: dict[str, list[bool]] = defaultdict(list)
    places: dict[str, list[bool]] = defaultdict(list)
    for sample, hit in zip(made, hits, strict=True):
        by[sample.provider].append(hit)
        places[sample.context].append(hit)
    return {
        "samples": sum(map(len, by.values())),
        "providers": len(by),
        "places": len(places),
        "below_all": {name: f"{sum(found)}/{len(found)}" for name, found in by.items() if not all(found)},
        "places_below_all": {name: f"{sum(found)}/{len(found)}" for name, found in places.items() if not all(found)},
    }


def _kept(made: list[Sample], masked: list[str]) -> float:
    """The share of the words around secrets that is still there."""
    words = there = 0
    for sample, text in zip(made, masked, strict=True):
        if "\n" in sample.secret:
            continue  # a key of several lines may be escaped in its place, and then its own letters would be counted
        around = re.findall(r"[A-Za-z]{3,}", sample.text.replace(sample.secret, " "))
        words += len(around)
        there += sum(word in text for word in around)
    return round(there / words, 4)


async def _through_a_store(made: list[Sample]) -> dict[str, Any]:
    """Secrets as text and under a field's name, written to a store: what its files say, and what is read back."""
    chosen = [sample for sample in made if "\0" not in sample.text][:: max(len(made) // STORED, 1)]
    left = unmasked = 0
    with tempfile.TemporaryDirectory(prefix="prowess-bench-") as folder:
        async with Store.open(Path(folder), mask_many=mask_many, mask_fields=mask_fields) as store:
            where = Where(task_id="t", project="p", session="s")
            steps = [NewStep(action="run", tool="Bash", args={"text": s.text}, error=s.text[-2_000:]) for s in chosen]
            for at in range(0, len(steps), 50):
                tracked = await store.track(where, steps[at : at + 50], origin=Origin())
            told = await store.steps(tracked.episode_id)
            catalog = store.catalog_path
        files = b"".join(path.read_bytes() for path in catalog.parent.glob("catalog*")).decode("utf-8", "replace")
    for sample, step in zip(chosen, told, strict=True):
        text = json.dumps([step.args, step.error], ensure_ascii=False)
        left += _shown(sample.secret, text) and not _shown(sample.secret, mask(sample.text))
        left += sample.secret in files and not _shown(sample.secret, mask(sample.text))
    for sample in chosen:  # what an older program stored unmasked is masked when it is read
        shown = json.dumps(mask_value({"text": sample.text}), ensure_ascii=False)
        unmasked += _shown(sample.secret, shown) and not _shown(sample.secret, mask(sample.text))
    return {"samples": len(chosen), "masked_alone_but_stored": left, "masked_alone_but_read": unmasked}


def _corpora(data: Path | None) -> Iterator[tuple[str, list[Path]]]:
    yield "standard library", _files(Path(sysconfig.get_path("stdlib")), "*.py", without="site-packages")
    yield "installed packages", _files(Path(sysconfig.get_path("purelib")), "*.py")
    if data is not None:
        yield "Claude Code transcripts", _files(data / "claude-code-sessions", "*.jsonl")
        yield "SWE trajectories", _files(data / "swe-trajectories", "*.*")


def _files(folder: Path, pattern: str, without: str = "\0") -> list[Path]:
    return [path for path in sorted(folder.rglob(pattern)) if without not in str(path.relative_to(folder))]


def _code(name: str, files: list[Path], part: str, show: int) -> dict[str, Any]:
    """Alarms per megabyte; a file's name decides its part. Some alarms are right: see docs/quality-redaction.md."""
    size, alarms, shown = 0, Counter[str](), []
    for path in files:
        if split(path.name) != part or size > CODE_BYTES:
            continue
        text = path.read_text(encoding="utf-8", errors="replace")
        size += len(text)
        found = MARK.findall(masked := mask(text)) if "[masked:" not in text else []
        alarms.update(found)
        shown += [f"{path.name}: {line.strip()[:200]}" for line in masked.split("\n") if found and MARK.search(line)]
    for line in shown[:show]:
        print("code", name, line)
    return {
        "corpus": name,
        "megabytes": round(size / 1e6, 2),
        "alarms": sum(alarms.values()),
        "per_megabyte": round(sum(alarms.values()) / max(size / 1e6, 1e-9), 2),
        "by_rule": dict(alarms.most_common(8)),
    }


def table(results: dict[str, Any]) -> Iterator[str]:
    """The results as Markdown."""
    found = results["secrets"]
    yield "| part | secrets | formats | places | recall | look-alikes | false alarms | precision | other words kept |"
    yield "|---|---|---|---|---|---|---|---|---|"
    yield (
        f"| {results['part']} | {found['samples']} | {found['providers']} | {found['places']} | {results['recall']} "
        f"| {results['lookalikes']} | {sum(results['false_alarms'].values())} | {results['precision']} "
        f"| {results['kept_of_the_rest']} |"
    )
    yield ""
    yield f"below all: {found['below_all']}; by place: {found['places_below_all']}"
    yield f"false alarms: {results['false_alarms']}; store: {results['store']}; stable: {results['stable']}"
    yield ""
    yield "| clean text | MB | alarms | per MB | by rule |"
    yield "|---|---|---|---|---|"
    for row in results["code"]:
        yield "| " + " | ".join(str(value) for value in row.values()) + " |"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, help="folder of the shared sets")
    parser.add_argument("--part", choices=("build", "report"), default="report")
    parser.add_argument("--show", type=int, default=0, help="print what was missed and so many false alarms")
    asked = parser.parse_args()
    results = run(asked.data, part=asked.part, show=asked.show)
    print("\n".join(table(results)))
    print(json.dumps({"benchmark": "quality-redaction", **results}))


if __name__ == "__main__":
    main()
