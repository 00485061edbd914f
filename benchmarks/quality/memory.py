"""Does the ranking find the turn of a long conversation that answers a question? LoCoMo, several views of a turn.

    python benchmarks/quality/memory.py --data DATA [--part build|report] [--cache DIR] [--json FILE]

Views: the turn, the turn with the one before, the observations that the data has of it, and its session's summary.
Each view is ranked as ``find_skill`` ranks: the fused score of ``learning.ranking.fusion``, here over the candidates of
both retrievers; scores of several views, being logarithms of odds, are added up. Beside each view stand BM25, the dense
model and reciprocal-rank fusion of both. Conversations are split, and drawn as wholes for the intervals.
"""

from __future__ import annotations

import json
import re
import sys
from collections import defaultdict
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

sys.path.insert(0, str(Path(__file__).parent))

from _baselines import BM25, best, reciprocal_rank_fusion
from _command import command
from _metrics import interval, mean, paired, recall, reciprocal_rank
from _splits import in_build
from _vectors import Vectors, default_cache

from prowess.learning.ranking.evidence import Document, gather, parts_of, rarity
from prowess.learning.ranking.fusion import fused
from prowess.learning.text import terms
from prowess.storage.catalog.words import words

CANDIDATES = 50  # of each retriever and view, as find_skill takes them
CATEGORIES = {1: "several turns", 2: "time", 3: "open domain", 4: "one turn", 5: "unanswerable"}
COMBINED = ("turn", "with previous", "observations")
MEASURES = ("recall@3", "recall@5", "recall@10", "MRR")
BASELINES = ("BM25", "dense", "RRF")


class Turn(NamedTuple):
    id: str
    views: dict[str, str]


class Question(NamedTuple):
    text: str
    category: int
    gold: frozenset[int]


class View(NamedTuple):
    """One text of each turn, searchable; turns without such a text are never found by it."""

    documents: list[Document]
    lexical: BM25
    matrix: NDArray[np.float32]
    counts: dict[str, int]
    told: NDArray[np.bool_]
    lots: NDArray[np.int64]  # which turn comes first where scores are equal


def _turns(one: dict[str, Any]) -> list[Turn]:
    turns = []
    for number in _sessions(one["conversation"]):
        before = ""
        noted = _noted(one["observation"].get(f"session_{number}_observation", {}))
        summary = one["session_summary"].get(f"session_{number}_summary", "")
        for said in one["conversation"][f"session_{number}"]:
            caption = f" [{said['blip_caption']}]" if said.get("blip_caption") else ""
            text = f"{said['speaker']}: {said['text']}{caption}"
            seen = " ".join(noted.get(said["dia_id"], []))
            views = {"turn": text, "with previous": f"{before}\n{text}".strip(), "observations": seen}
            turns.append(Turn(said["dia_id"], {**views, "summary": summary}))
            before = text
    return turns


def _sessions(conversation: dict[str, Any]) -> list[int]:
    named = [re.fullmatch(r"session_(\d+)", name) for name in conversation]
    return sorted(int(match[1]) for match in named if match)


def _noted(observation: dict[str, Any]) -> dict[str, list[str]]:
    """What was observed of each turn."""
    noted: dict[str, list[str]] = defaultdict(list)
    for items in observation.values():
        for text, where in items:
            for key in re.findall(r"D\d+:\d+", str(where)):
                noted[key].append(text)
    return noted


def _questions(one: dict[str, Any], turns: Sequence[Turn]) -> Iterator[Question]:
    places = {turn.id: place for place, turn in enumerate(turns)}
    for item in one["qa"]:
        named = re.findall(r"D\d+:\d+", " ".join(item["evidence"]))
        if gold := frozenset(places[key] for key in named if key in places):
            yield Question(str(item["question"]), item["category"], gold)


def _view(texts: Sequence[str], vectors: Vectors) -> View:
    counts: dict[str, int] = defaultdict(int)
    for text in texts:
        for stem in terms(text):
            counts[stem] += 1
    documents = [Document(str(place), "", text) for place, text in enumerate(texts)]
    told = np.array([bool(text) for text in texts])
    lots = np.random.default_rng(0).permutation(len(texts))
    return View(documents, BM25(texts, words), vectors([text or "-" for text in texts]), counts, told, lots)


class Searched(NamedTuple):
    """One question in one view: all scores by word, and cosines of each part of it."""

    words: NDArray[np.float64]
    cosines: NDArray[np.float64]


def _search(view: View, parts: Sequence[str], vectors: NDArray[np.float32]) -> Searched:
    cosines = np.where(view.told, vectors @ view.matrix.T, 0.0)
    return Searched(view.lexical.scores(parts[0]), cosines.astype(np.float64))


def _by_word_and_meaning(view: View, found: Searched) -> tuple[list[int], list[int]]:
    return best(found.words, view.lots, above=0.0), best(found.cosines[0], view.lots)


def _candidates(view: View, found: Searched) -> set[int]:
    return {place for places in _by_word_and_meaning(view, found) for place in places[:CANDIDATES]}


def _scores(view: View, found: Searched, parts: Sequence[str], places: Sequence[int]) -> NDArray[np.float64]:
    asked = {stem: view.counts.get(stem, 0) for part in parts for stem in terms(part)}
    documents = [view.documents[place] for place in places]
    return fused(gather(parts, documents, found.cosines[:, places], rarity(asked, len(view.documents))))


def _ordered(places: Sequence[int], scores: NDArray[np.float64], lots: NDArray[np.int64]) -> list[int]:
    return [places[row] for row in np.lexsort((lots[places], -scores))]


def _answers(question: Question, views: dict[str, View], vectors: Vectors) -> dict[str, list[int]]:
    """The turns that each method finds, best first."""
    parts = parts_of(question.text)
    embedded = vectors(parts)
    found = {name: _search(view, parts, embedded) for name, view in views.items()}
    answers: dict[str, list[int]] = {}
    for name, hits in found.items():
        by_word, by_meaning = _by_word_and_meaning(views[name], hits)
        lists = (by_word, by_meaning, reciprocal_rank_fusion(by_word, by_meaning, lots=views[name].lots))
        answers |= {f"{name}, {baseline}": places for baseline, places in zip(BASELINES, lists, strict=True)}
        near = sorted(_candidates(views[name], hits))
        answers[f"{name}, fused"] = _ordered(near, _scores(views[name], hits, parts, near), views[name].lots)
    near = sorted(set().union(*(_candidates(views[name], found[name]) for name in COMBINED)))
    summed = sum(_scores(views[name], found[name], parts, near) for name in COMBINED)
    answers["all views, fused"] = _ordered(near, np.asarray(summed), views[COMBINED[0]].lots)
    return answers


def _measured(found: Sequence[int], gold: frozenset[int]) -> dict[str, float]:
    keys, wanted = [str(place) for place in found], {str(place) for place in gold}
    measures = {f"recall@{k}": recall(keys, wanted, k) for k in (3, 5, 10)}
    return {**measures, "MRR": reciprocal_rank(keys, wanted)}


def run(data: Path, *, part: str = "report", cache: Path | None = None) -> dict[str, Any]:
    """The tables of one part of the conversations; [mean, low, high] are 95 % intervals."""
    vectors = Vectors(cache or default_cache())
    told = json.loads((data / "locomo/locomo.json").read_text(encoding="utf-8"))
    chosen = [one for one in told if in_build(f"locomo {one['sample_id']}") == (part == "build")]
    rows: list[tuple[str, int, dict[str, dict[str, float]]]] = []
    for one in chosen:
        turns = _turns(one)
        views = {name: _view([turn.views[name] for turn in turns], vectors) for name in turns[0].views}
        questions = list(_questions(one, turns))
        vectors([text for question in questions for text in parts_of(question.text)])
        for question in questions:
            answers = _answers(question, views, vectors)
            measured = {method: _measured(places, question.gold) for method, places in answers.items()}
            rows.append((one["sample_id"], question.category, measured))
    return {"benchmark": "quality_memory", "part": part, "conversations": len(chosen), **_tables(rows)}


def _tables(rows: Sequence[tuple[str, int, dict[str, dict[str, float]]]]) -> dict[str, Any]:
    methods = list(rows[0][2])
    groups = [sample for sample, _, _ in rows]

    def values(method: str, measure: str) -> list[float]:
        return [measured[method][measure] for _, _, measured in rows]

    ours, compared = "all views, fused", {}
    for measure in MEASURES:
        rivals = [method for method in methods if not method.endswith("fused")]
        rival = max(rivals, key=lambda method: mean(values(method, measure)))
        gain = paired(values(ours, measure), values(rival, measure), groups)
        compared[measure] = {"rival": rival, "difference": gain.rounded()}
    return {
        "questions": len(rows),
        "methods": {
            method: {measure: interval(values(method, measure), groups).rounded() for measure in MEASURES}
            for method in methods
        },
        "by category": {
            method: {
                CATEGORIES[category]: {
                    measure: round(mean([row[2][method][measure] for row in rows if row[1] == category]), 4)
                    for measure in ("recall@5", "recall@10")
                }
                for category in CATEGORIES
            }
            for method in methods
        },
        "compared": compared,
    }


def table(result: dict[str, Any]) -> str:
    """The result as Markdown."""
    named = list(CATEGORIES.values())
    lines = ["| method | " + " | ".join(MEASURES) + " | " + " | ".join(f"{name} @5/@10" for name in named) + " |"]
    lines.append("|---" * (1 + len(MEASURES) + len(named)) + "|")
    for method, found in result["methods"].items():
        cells = [f"{found[measure][0]:.3f}" for measure in MEASURES]
        told = result["by category"][method]
        cells += [f"{told[name]['recall@5']:.2f}/{told[name]['recall@10']:.2f}" for name in named]
        lines.append(f"| {method} | " + " | ".join(cells) + " |")
    for measure, said in result["compared"].items():
        gain, low, high = said["difference"]
        lines.append(f"\n{measure}: {gain:+.3f} [{low:+.3f}, {high:+.3f}] over {said['rival']}")
    return "\n".join(lines)


if __name__ == "__main__":
    command(__doc__, run, table)
