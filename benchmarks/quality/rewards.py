"""Outcomes that the rules infer from transcripts, against what is known of them.

Steps: the Claude Code transcripts' tool results against the client's own ``is_error``, which the rules are not told.
Episodes: 50 turns labelled by hand (``labels/README.md``), and SWE-agent runs with a report of the evaluation. Sessions
are split in halves by a hash; rules may be changed by what the first shows, and the second is reported.
"""

from __future__ import annotations

import argparse
import json
from collections import Counter
from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from hashlib import blake2b
from pathlib import Path
from typing import Any

from prowess.learning.reward import from_evidence, outcome_of
from prowess.server.transcripts import claude_code
from prowess.server.transcripts.evidence import command_of, evidence_of
from prowess.server.transcripts.model import Call, Notes, Prompt, Session, Task
from prowess.storage import scoring
from prowess.storage.models import NewReward, NewStep, Outcome, Reward

__all__ = ["run"]

LABELS = Path(__file__).parent / "labels" / "claude_code_tasks.jsonl"
DATA = Path("data")
SEED = "prowess-quality-1"
OUTCOMES: tuple[Outcome, ...] = ("success", "failure", "unknown")


def run(data: Path | None = None, part: str = "both") -> dict[str, Any]:
    """Confusion tables of steps, turns and SWE runs, of one part or both. ``data`` is the folder of the data sets."""
    folder = data or DATA
    sessions = list(_sessions(folder / "claude-code-sessions"))
    build = _first_half(session.id for session in sessions)
    result: dict[str, Any] = {"benchmark": "quality_rewards"}
    for name in ("build", "report") if part == "both" else (part,):
        chosen = [session for session in sessions if (session.id in build) == (name == "build")]
        result[name] = {
            "sessions": len(chosen),
            "steps": _measured((_truth(call), _hidden(call)) for session in chosen for call in _answered(session)),
            "turns": _measured((label["label"], _episode(task)) for label, task in _turns(chosen)),
        }
    result["swe"] = _measured(_swe(folder / "swe-trajectories"))
    return result


def _first_half(ids: Iterable[str]) -> frozenset[str]:
    """Half of the ids, drawn by a hash."""
    drawn = sorted(ids, key=lambda name: blake2b(f"{SEED}/{name}".encode()).digest())
    return frozenset(drawn[: len(drawn) // 2])


def _sessions(folder: Path) -> Iterator[Session]:
    seen: set[int] = set()
    for source in claude_code.find(folder):
        yield claude_code.read(source, Notes(), seen)


def _answered(session: Session) -> Iterator[Call]:
    return (call for call in session.calls() if call.observation is not None)


def _truth(call: Call) -> Outcome:
    return "failure" if call.is_error else "success"


def _hidden(call: Call) -> Outcome:
    """What the rules say of a call by its answer alone."""
    command = command_of(call)
    args = {**call.args, "command": command} if command else call.args
    return outcome_of(NewStep(action=call.tool, tool=call.tool, args=args, observation=call.observation))


def _turns(sessions: Sequence[Session]) -> Iterator[tuple[dict[str, Any], Task]]:
    """The labelled turns: a prompt, the calls until the next, and what the user said then."""
    labels = {label["prompt"]: label for label in map(json.loads, LABELS.read_text(encoding="utf-8").splitlines())}
    for session in sessions:
        yield from ((labels[turn.id], turn) for turn in _cut(session, labels) if turn.id in labels)


def _cut(session: Session, labelled: Container[str]) -> Iterator[Task]:
    """A turn for each prompt; a command such as /exit is one of its own and no reaction.

    What was typed while the agent worked, and is not labelled, is said of the turn at work.
    """
    turns: list[Task] = []
    said: list[Task] = []
    for event in session.events:
        if isinstance(event, Prompt) and event.amid and event.id not in labelled:
            for at_work in turns[-1:]:
                at_work.reactions.append(event.text)
        elif isinstance(event, Prompt):
            turns.append(Task(id=event.id, prompts=[event]))
            if not event.command:
                for before in said[-1:]:
                    before.reactions.append(event.text)
                said.append(turns[-1])
        elif isinstance(event, Call) and turns:
            turns[-1].calls.append(event)
    yield from turns


def _episode(task: Task) -> Outcome:
    """The outcome as the importer would store it."""
    return scoring.outcome_of(scoring.combine(_rewards(from_evidence(evidence_of(task)))))


def _rewards(found: Iterable[NewReward]) -> Iterator[Reward]:
    for number, reward in enumerate(found):
        yield Reward(id=str(number), episode_id="", at="", value=reward.value, source=reward.source)


def _swe(folder: Path) -> Iterator[tuple[str, Outcome]]:
    """Runs with a report; their own test runs are all that the rules see."""
    for report in sorted(folder.glob("*.report.json")):
        traj = json.loads(report.with_name(report.name.removesuffix(".report.json") + ".traj").read_text("utf-8"))
        calls = [
            Call(str(number), "Bash", {"command": step["action"]}, None, observation=_text(step["observation"]))
            for number, step in enumerate(traj["trajectory"])
        ]
        resolved = json.loads(report.read_text("utf-8"))["resolved"]
        yield "success" if resolved else "failure", _episode(Task(id=report.name, calls=calls))


def _text(content: Any) -> str:
    if isinstance(content, list):
        return "\n".join(str(part.get("text", "")) for part in content)
    return str(content or "")


def _measured(pairs: Iterable[tuple[str, Outcome]]) -> dict[str, Any]:
    """Counts of (truth, inferred), and what they come to; None where nothing is there to divide by."""
    counts = Counter(pairs)
    rows = ((str(truth), {str(said): counts[truth, said] for said in OUTCOMES}) for truth in OUTCOMES)
    table: dict[str, Mapping[str, int]] = {truth: row for truth, row in rows if any(row.values())}
    told = sum(row["success"] + row["failure"] for row in table.values())
    right = sum(table.get(name, {}).get(name, 0) for name in ("success", "failure"))
    return {
        "n": sum(counts.values()),
        "table": table,
        "told": _ratio(told, sum(counts.values())),
        "right_where_told": _ratio(right, told),
        **{f"{name}_precision": _precision(table, name) for name in ("success", "failure")},
        **{f"{name}_recall": _recall(table, name) for name in ("success", "failure")},
    }


def _precision(table: Mapping[str, Mapping[str, int]], name: str) -> float | None:
    return _ratio(table.get(name, {}).get(name, 0), sum(row[name] for row in table.values()))


def _recall(table: Mapping[str, Mapping[str, int]], name: str) -> float | None:
    return _ratio(table.get(name, {}).get(name, 0), sum(table.get(name, {}).values()))


def _ratio(part: int, whole: int) -> float | None:
    return round(part / whole, 3) if whole else None


def _printed(name: str, found: Mapping[str, Any]) -> str:
    lines = [f"{name}: {found['n']}", "", "| truth | " + " | ".join(OUTCOMES) + " |", "|---|---|---|---|"]
    lines += [
        f"| {truth} | " + " | ".join(str(row[said]) for said in OUTCOMES) + " |"
        for truth, row in found["table"].items()
    ]
    told = ", ".join(f"{key} {value}" for key, value in found.items() if key not in ("n", "table"))
    return "\n".join([*lines, "", told, ""])


def main() -> None:
    """Tables and one JSON line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, default=DATA, help="folder of the data sets")
    parser.add_argument("--part", choices=("build", "report", "both"), default="both")
    asked = parser.parse_args()
    found = run(asked.data, asked.part)
    for name in ("build", "report"):
        for kind in ("steps", "turns") if name in found else ():
            print(_printed(f"{name}, {kind}", found[name][kind]))
    print(_printed("SWE runs", found["swe"]))
    print(json.dumps(found))


if __name__ == "__main__":
    main()
