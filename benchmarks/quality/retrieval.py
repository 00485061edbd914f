"""Does find_skill find the right skill? Beside BM25, the dense model and reciprocal-rank fusion of both.

    python benchmarks/quality/retrieval.py --data DATA [--part build|report] [--cache DIR] [--json FILE]

Each set's skills are saved in a store of their own, and each query goes through ``ask``, ``search`` and ``rank`` as in
``find_skill``, floor included: a query that is refused has found nothing. The baselines see name and description, as
one text. The order of the pool decides nothing: where a baseline's scores are equal, its measures are the mean over 25
orders drawn by lot (no two skills have the same texts, so that find_skill's own scores are not equal).

"Nothing fits" asks queries that no skill answers: of another domain (LoCoMo's questions about private life, and
requests: ScienceWorld's tasks in a house of rooms and things), and each query again without its right skills.
"""

from __future__ import annotations

import json
import random
import sys
from collections.abc import Callable, Iterator, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, NamedTuple

import anyio
import numpy as np

sys.path.insert(0, str(Path(__file__).parent))
sys.path.insert(0, str(Path(__file__).parent.parent))

from _baselines import BM25, best, reciprocal_rank_fusion
from _command import command
from _common import scratch
from _metrics import hit, interval, mean, paired, recall, reciprocal_rank
from _sets import Query, RetrievalSet, load_sets
from _splits import in_build, parts
from _vectors import Vectors, default_cache

from prowess.learning.ranking.evidence import gather, parts_of
from prowess.learning.ranking.fusion import fused
from prowess.learning.ranking.order import document, rank
from prowess.learning.ranking.views import blended, model_name, views
from prowess.storage.catalog.words import words
from prowess.storage.events import SkillSaved
from prowess.storage.models import Origin, Skill
from prowess.storage.store import Store
from prowess.tools.context import Context
from prowess.tools.searching import ask, search

NOW = datetime(2026, 1, 1, tzinfo=UTC)
FOREIGN = 300
DRAWS = 25
MEASURES: dict[str, Callable[[Sequence[str], frozenset[str]], float]] = {
    "hit@1": hit,
    "recall@1": lambda ranked, gold: recall(ranked, gold, 1),
    "recall@3": lambda ranked, gold: recall(ranked, gold, 3),
    "recall@5": lambda ranked, gold: recall(ranked, gold, 5),
    "MRR": reciprocal_rank,
}
JUDGED = ("recall@3", "MRR")
BASELINES = ("BM25", "dense", "RRF")
ALL_TEXT = "BM25, all text"  # parameters and steps as well, which find_skill sees and the other three do not

Ranking = list[str]


class _Answers(NamedTuple):
    """To the queries, to them without their right skills, to foreign ones: what is shown, and the unfloored first."""

    asked: list[tuple[Ranking, str]]
    removed: list[tuple[Ranking, str]]
    foreign: list[tuple[Ranking, str]]
    requests: list[tuple[Ranking, str]]


class Foreign(NamedTuple):
    """What no skill answers."""

    questions: list[str]
    requests: list[str]


class _Cached:
    """An index whose query vectors come from the benchmarks' cache."""

    state = "ready"

    def __init__(self, vectors: Vectors) -> None:
        self._vectors = vectors

    async def queries(self, texts: Sequence[str]) -> Any:
        return self._vectors(list(texts))

    async def refresh(self, *, wait: bool = True) -> None:
        return None


class _Asker(NamedTuple):
    """Asks as find_skill does."""

    context: Context

    async def __call__(self, text: str, without: frozenset[str] = frozenset()) -> tuple[Ranking, str]:
        """The ids that are shown, best first, and which would be first without a floor; ``without`` are left out."""
        found = search(await ask(text, None, self.context))
        kept = [place for place, skill in enumerate(found.skills) if skill.id not in without]
        skills = [found.skills[place] for place in kept]
        cosines = None if found.cosines is None else found.cosines[:, kept]
        shown = [item.id for item in rank(found.asked, skills, cosines=cosines, now=NOW)]
        scores = fused(gather(found.asked.parts, [document(skill) for skill in skills], cosines, found.asked.rare))
        return shown, skills[int(np.argmax(scores))].id


async def _filled(store: Store, skills: Sequence[Skill], vectors: Vectors) -> _Asker:
    for begin in range(0, len(skills), 500):
        events = [SkillSaved(skill=skill, change="imported") for skill in skills[begin : begin + 500]]
        await store.append(events, origin=Origin(actor="person"))
    names, told = zip(*(views(f"{skill.name}. {skill.description}") for skill in skills), strict=True)
    matrix = blended(vectors(names), vectors(told))
    await store.save_embeddings("skill", model_name(vectors.model), [skill.id for skill in skills], matrix)
    index: Any = _Cached(vectors)
    return _Asker(Context(store=store, compute=index, index=index, origin=Origin()))


def _baselines(
    skills: Sequence[Skill], vectors: Vectors, queries: Sequence[Query]
) -> Iterator[tuple[Query, dict[str, list[Ranking]]]]:
    """For each query what each baseline finds, once for each of the orders that decide where scores are equal."""
    texts = [f"{skill.name}. {skill.description}" for skill in skills]
    lexical, matrix = BM25(texts, words), vectors(texts)
    document_of = [document(skill) for skill in skills]
    everything = BM25([f"{one.name}. {one.text} {one.more}" for one in document_of], words)
    drawn = np.random.default_rng(0)
    orders = [drawn.permutation(len(skills)) for _ in range(DRAWS)]
    for query, vector in zip(queries, vectors([query.text for query in queries]), strict=True):
        said, meant, all_said = lexical.scores(query.text), matrix @ vector, everything.scores(query.text)
        found: dict[str, list[Ranking]] = {name: [] for name in (*BASELINES, ALL_TEXT)}
        for lots in orders:
            by_word, by_meaning = best(said, lots, above=0.0), best(meant, lots)
            both = reciprocal_rank_fusion(by_word, by_meaning, lots=lots)
            lists = (by_word, by_meaning, both, best(all_said, lots, above=0.0))
            for name, places in zip(found, lists, strict=True):
                found[name].append([skills[place].id for place in places])
        yield query, found


async def _asked(one: RetrievalSet, queries: Sequence[Query], foreign: Foreign, vectors: Vectors) -> _Answers:
    texts = [*(query.text for query in queries), *foreign.questions, *foreign.requests]
    vectors([part for text in texts for part in parts_of(text)])
    with scratch() as home:
        async with Store.open(home) as store:
            asker = await _filled(store, one.skills, vectors)
            return _Answers(
                [await asker(query.text) for query in queries],
                [await asker(query.text, query.gold) for query in queries],
                [await asker(text) for text in foreign.questions],
                [await asker(text) for text in foreign.requests],
            )


Measured = dict[str, list[float]]


def _measured(drawn: Sequence[Ranking], gold: frozenset[str]) -> dict[str, float]:
    """Each measure, as the mean over rankings of which none is more right than another."""
    return {name: mean([measure(ranked, gold) for ranked in drawn]) for name, measure in MEASURES.items()}


def _column(rows: Sequence[dict[str, float]]) -> Measured:
    return {name: [row[name] for row in rows] for name in MEASURES}


def _compared(ours: Measured, theirs: dict[str, Measured]) -> dict[str, Any]:
    """Of each judged measure the best baseline, and the paired difference to it."""
    compared = {}
    for name in (*JUDGED, "hit@1"):
        rival = max(BASELINES, key=lambda baseline: mean(theirs[baseline][name]))
        compared[name] = {"rival": rival, "difference": paired(ours[name], theirs[rival][name]).rounded()}
    for name in JUDGED:
        difference = paired(ours[name], theirs[ALL_TEXT][name]).rounded()
        compared[f"{name} over {ALL_TEXT}"] = {"difference": difference}
    compared["hit@1 over RRF"] = {"difference": paired(ours["hit@1"], theirs["RRF"]["hit@1"]).rounded()}
    return compared


def _refusals(answers: _Answers, queries: Sequence[Query]) -> dict[str, Any]:
    """Shares that were refused; a true hit is a query whose first answer would be right without a floor."""
    hits = [shown for (shown, first), query in zip(answers.asked, queries, strict=True) if first in query.gold]
    return {
        "foreign refused": interval([float(not shown) for shown, _ in answers.foreign]).rounded(),
        "foreign requests refused": interval([float(not shown) for shown, _ in answers.requests]).rounded(),
        "gold removed, refused": interval([float(not shown) for shown, _ in answers.removed]).rounded(),
        "true hits lost": interval([float(not shown) for shown in hits]).rounded(),
        "true hits": len(hits),
    }


def foreign_to_all(data: Path, part: str) -> Foreign:
    """Questions about two people's private lives, and requests of the tasks, of this part."""
    told = json.loads((data / "locomo/locomo.json").read_text(encoding="utf-8"))
    chosen = [one for one in told if in_build(f"locomo {one['sample_id']}") == (part == "build")]
    asked = sorted({str(item["question"]) for one in chosen for item in one["qa"]})
    lines = (data / "scienceworld-gold/gold_trajectories.jsonl").read_text(encoding="utf-8").splitlines()
    tasks = [one for one in map(json.loads, lines) if in_build(f"scienceworld {one['task']}") == (part == "build")]
    return Foreign(random.Random(0).sample(asked, FOREIGN), sorted({str(one["instruction"]) for one in tasks}))


async def measured(one: RetrievalSet, queries: Sequence[Query], foreign: Foreign, vectors: Vectors) -> dict[str, Any]:
    """The tables of one set for those of its queries that are given."""
    rows: dict[str, list[dict[str, float]]] = {name: [] for name in (*BASELINES, ALL_TEXT)}
    for query, found in _baselines(one.skills, vectors, queries):
        for name, drawn in found.items():
            rows[name].append(_measured(drawn, query.gold))
    theirs = {name: _column(of_queries) for name, of_queries in rows.items()}
    answers = await _asked(one, queries, foreign, vectors)
    asked = zip(answers.asked, queries, strict=True)
    ours = _column([_measured([shown], query.gold) for (shown, _), query in asked])
    methods = {**theirs, "find_skill": ours}
    return {
        "queries": len(queries),
        "skills": len(one.skills),
        "methods": {
            method: {name: interval(values).rounded() for name, values in found.items()}
            for method, found in methods.items()
        },
        "compared": _compared(ours, theirs),
        "nothing fits": _refusals(answers, queries),
    }


def _part(one: RetrievalSet, part: str) -> list[Query]:
    build, report = parts(one.queries, lambda query: query.id)
    return build if part == "build" else report


def run(data: Path, *, part: str = "report", cache: Path | None = None) -> dict[str, Any]:
    """The tables of one part of each set, with 95 % intervals as [mean, low, high]."""
    vectors, foreign = Vectors(cache or default_cache()), foreign_to_all(data, part)
    sets = {one.name: anyio.run(measured, one, _part(one, part), foreign, vectors) for one in load_sets(data)}
    gains = [one["compared"][name]["difference"][0] for one in sets.values() for name in JUDGED]
    refused = [one["nothing fits"]["foreign refused"][0] for one in sets.values()]
    lost = sum(one["nothing fits"]["true hits lost"][0] * one["nothing fits"]["true hits"] for one in sets.values())
    hits = sum(one["nothing fits"]["true hits"] for one in sets.values())
    return {
        "benchmark": "quality_retrieval",
        "part": part,
        "sets": sets,
        "mean gain over the best baseline": round(mean(gains), 4),
        "mean foreign refused": round(mean(refused), 4),
        "true hits lost": round(lost / max(hits, 1), 4),
    }


def table_of(name: str, one: dict[str, Any]) -> list[str]:
    """The lines of one set."""
    lines = ["", f"{name}: {one['queries']} queries, {one['skills']} skills", ""]
    lines += ["| method | " + " | ".join(MEASURES) + " |", "|---" * (len(MEASURES) + 1) + "|"]
    for method, found in one["methods"].items():
        lines.append(f"| {method} | " + " | ".join(f"{found[measure][0]:.3f}" for measure in MEASURES) + " |")
    for measure, said in one["compared"].items():
        gain, low, high = said["difference"]
        lines.append(f"\n{measure}: {gain:+.3f} [{low:+.3f}, {high:+.3f}] {said.get('rival', '')}")
    return [*lines, "\n" + ", ".join(f"{key} {value}" for key, value in one["nothing fits"].items())]


def table(result: dict[str, Any]) -> str:
    """The result as Markdown."""
    lines = [line for name, one in result["sets"].items() for line in table_of(name, one)]
    lines.append("\n" + ", ".join(f"{key} {value}" for key, value in result.items() if isinstance(value, float)))
    return "\n".join(lines)


if __name__ == "__main__":
    command(__doc__, run, table)
