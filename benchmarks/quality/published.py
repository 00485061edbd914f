"""Does find_skill find published Agent Skills by the prompts that their authors test them with?

    python benchmarks/quality/published.py --data DATA --prompts FILE [--part build|report] [--collection 1|2|3]
        [--cache DIR] [--json FILE]

FILE has a JSON object in each line: name, description, body and queries of a skill. From which files of which
repositories they are is in published_skills.json, and which were used to fit the ranking; the texts are their authors'
and not part of this repository. Measured as in retrieval.py, in the pool of SkillsBench with all of them. They were
collected three times; the reported parts of the second and third had no share in any choice before they were reported.
"""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path
from typing import Any

import anyio

sys.path.insert(0, str(Path(__file__).parent))
sys.path.insert(0, str(Path(__file__).parent.parent))

from _sets import published
from _vectors import Vectors, default_cache
from retrieval import Foreign, foreign_to_all, measured, table_of

SOURCES = Path(__file__).with_name("published_skills.json")


def run(
    data: Path, prompts: Path, *, part: str = "report", collection: int | None = None, cache: Path | None = None
) -> dict[str, Any]:
    """The tables of one part, of one collection or all, with 95 % intervals as [mean, low, high].

    Pairs are queries.
    """
    sources = json.loads(SOURCES.read_text(encoding="utf-8"))
    wanted = [source for source in sources if collection in (None, source["collection"])]
    chosen = {source["name"] for source in wanted if source["part"] == part}
    one = published(data, prompts)
    queries = [query for query in one.queries if query.id in chosen]
    foreign: Foreign = foreign_to_all(data, part)
    found = anyio.run(measured, one, queries, foreign, Vectors(cache or default_cache()))
    told = {"benchmark": "quality_published", "part": part, "collection": collection, "skills": len(chosen)}
    return {**told, one.name: found}


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--data", type=Path, required=True, help="the folder of the data sets")
    options.add_argument("--prompts", type=Path, required=True, help="the skills and their prompts")
    options.add_argument("--part", choices=("build", "report"), default="report")
    options.add_argument("--collection", type=int, choices=(1, 2, 3), help="which; all without")
    options.add_argument("--cache", type=Path, help="where vectors are kept between runs")
    options.add_argument("--json", type=Path, help="where the result is written")
    given = options.parse_args()
    result = run(given.data, given.prompts, part=given.part, collection=given.collection, cache=given.cache)
    print("\n".join(table_of("Published skills", result["Published skills"])))
    if given.json:
        given.json.write_text(json.dumps(result, indent=1), encoding="utf-8")


if __name__ == "__main__":
    main()
