"""The retrieval sets: what is asked, what is searched, what is right."""

from __future__ import annotations

import csv
import json
import random
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

from _shared import read_rows

from prowess.storage.models import Parameter, Skill, SkillStep

__all__ = ["Query", "RetrievalSet", "load_sets", "published"]

METATOOL_QUERIES = 3_000
LONGEST_NOTE = 200
NOTES = 40


class Query(NamedTuple):
    id: str
    text: str
    gold: frozenset[str]


class RetrievalSet(NamedTuple):
    """``skills`` are searched for each of ``queries``; ids are names."""

    name: str
    skills: list[Skill]
    queries: list[Query]


def load_sets(data: Path) -> list[RetrievalSet]:
    """SkillsBench, MetaTool, and Seal-Tools' dev and in-domain sets."""
    tools = [_api(row) for row in read_rows(data / "seal-tools/tool.jsonl")]
    return [
        _skillsbench(data),
        _metatool(data / "metatool"),
        RetrievalSet("Seal-Tools dev", tools, list(_calls(data / "seal-tools/dev.jsonl"))),
        RetrievalSet("Seal-Tools in-domain", tools, list(_calls(data / "seal-tools/test_in_domain.jsonl"))),
    ]


def _skillsbench(data: Path) -> RetrievalSet:
    """Agent skills and distractors. Tasks without any gold skill whose text is given cannot be answered; left out."""
    rows = read_rows(data / "skillsbench/skills.jsonl")
    skills = {row["skill_id"]: _document(row, row["skill_id"]) for row in rows if row["description"]}
    for path in sorted((data / "skill-distractors").glob("*.jsonl")):
        others = [_document(row, f"{path.stem}/{row['path']}") for row in read_rows(path) if row["description"]]
        skills |= {skill.id: skill for skill in others}
    queries = []
    for task in read_rows(data / "skillsbench/tasks.jsonl"):
        gold = frozenset(task["gold_skills"]) & skills.keys()
        if gold:
            queries.append(Query(task["task_id"], task["instruction"], gold))
    return RetrievalSet("SkillsBench", list(skills.values()), queries)


def published(data: Path, prompts: Path) -> RetrievalSet:
    """Agent Skills with the prompts that they are tested with, in the pool of SkillsBench.

    ``prompts`` has a JSON object in each line: name, description, body and queries.
    """
    pool, queries = list(_skillsbench(data).skills), []
    for row in read_rows(prompts):
        pool.append(_document(row, f"published/{row['name']}"))
        queries += [Query(row["name"], text, frozenset([pool[-1].id])) for text in row["queries"]]
    return RetrievalSet("Published skills", pool, queries)


def _document(row: dict[str, Any], key: str) -> Skill:
    """A SKILL.md as a skill; the headings and list items of its body are the notes of its steps."""
    lines = re.findall(r"^(?:#+|[-*]|\d+\.)\s+(.{3,})$", row.get("body") or "", re.MULTILINE)
    notes = [re.sub(r"[*`_]{1,3}", "", line)[:LONGEST_NOTE] for line in lines[:NOTES]]
    steps = tuple(SkillStep(tool="read", note=note) for note in notes)
    return Skill(id=key, name=row["name"], description=row["description"], steps=steps, status="active")


def _metatool(folder: Path) -> RetrievalSet:
    told = json.loads((folder / "plugin_des.json").read_text(encoding="utf-8"))
    told |= json.loads((folder / "big_tool_des.json").read_text(encoding="utf-8"))
    with (folder / "all_clean_data.csv").open(encoding="utf-8", newline="") as file:
        asked = sorted({row["Query"]: row["Tool"] for row in csv.DictReader(file)}.items())
    used = {tool for _, tool in asked}
    skills = [Skill(id=name, name=name, description=told[name], steps=(), status="active") for name in sorted(used)]
    chosen = random.Random(0).sample(asked, METATOOL_QUERIES)
    return RetrievalSet("MetaTool", skills, [Query(text, text, frozenset([tool])) for text, tool in chosen])


def _api(row: dict[str, Any]) -> Skill:
    parameters = tuple(
        Parameter(name=name, description=details.get("description", "")) for name, details in row["parameters"].items()
    )
    step = SkillStep(tool=row["api_name"], args_template={name: f"{{{name}}}" for name in row["parameters"]})
    return Skill(
        id=row["api_name"],
        name=row["api_name"],
        description=row["api_description"],
        steps=(step,),
        parameters=parameters,
        status="active",
    )


def _calls(path: Path) -> Iterator[Query]:
    for row in read_rows(path):
        yield Query(row["id"], row["query"], frozenset(call["api"] for call in row["calling"]))
