"""The main job on real input, from end to end: ``prowess demo``.

Starts the real server as a process over an empty store and talks to it through the MCP SDK's client: recorded
tau2-bench runs are tracked and scored, reflected upon and evolved into skills, which are then asked for tasks of users
that were never fed. After the server has left, the same questions are asked of the raw episodes in the same store: the
nearest successful ones answer. Both sides have the same tries: one, and the best of three. Three rounds, each with a
store of its own, until every task was asked once. ``demo_score`` says what is counted.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import anyio

from prowess.server.demo_score import NO_ANSWER, TRIES, Answer, Answers, Split, Task, hit, load_rounds, mutating, rates
from prowess.storage.errors import InvalidInput, StoreError

if TYPE_CHECKING:
    from mcp import Client

    from prowess.server.runtime import Runtime

__all__ = ["PATTERNS", "PROJECT", "DemoFailed", "Report", "run_demo"]

PROJECT = "tau2-retail"
PATTERNS = 200  # asked for in each round
CALL_SECONDS = 60.0  # far beyond any call; a demo that hangs must end
_MODEL_SECONDS = 30.0
_POLL_SECONDS = 0.1
_CANDIDATES = 50  # of each retriever, as find_skill takes them
_PAGE = 4_000
_COUNTED = ("episodes", "steps", "patterns", "skills")

Say = Callable[[str, float, float], None]  # what is done, how much of it, of how much


class DemoFailed(StoreError):
    """A call of the demo was answered with an error."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Report:
    """What the demo found: ``cases`` has for each unseen task the skills and the raw episodes found, best first.

    ``episodes``, ``steps``, ``patterns`` and ``skills`` are sums over the ``rounds``.
    """

    rounds: int
    episodes: int
    steps: int
    patterns: int
    skills: int
    mode: str
    seconds: float
    cases: tuple[tuple[Task, Answers, Answers], ...]

    def summary(self) -> dict[str, Any]:
        """The one JSON object of ``prowess demo --json``."""
        tasks = [task for task, _, _ in self.cases]
        skills = rates([found for _, found, _ in self.cases], tasks)
        raw = rates([found for _, _, found in self.cases], tasks)
        unseen: dict[str, float] = {"tasks": len(tasks)}
        for name in skills:
            unseen |= {f"skills_{name}": skills[name], f"raw_{name}": raw[name]}
        cases = [_case(*case) for case in self.cases]
        for name, other in (("skill", "raw"), ("raw", "skill")):
            unseen[f"only_{name}_hits"] = sum(case[name]["hit"] and not case[other]["hit"] for case in cases)
        counts = {name: getattr(self, name) for name in _COUNTED}
        return {
            "rounds": self.rounds,
            **counts,
            "unseen": unseen,
            "search": self.mode,
            "seconds": round(self.seconds, 1),
            "cases": cases,
        }


def _case(task: Task, skills: Answers, raw: Answers) -> dict[str, Any]:
    def told(answers: Answers) -> dict[str, Any]:
        best = answers[0] if answers else NO_ANSWER
        others = [answer.name for answer in answers[1:]]
        return {
            "name": best.name,
            "mutating": sorted(mutating(best.tools or ())),
            "hit": hit(best, task),
            "others": others,
            "hit_in_3": any(hit(answer, task) for answer in answers),
        }

    return {"task_id": task.id, "gold": sorted(mutating(task.gold)), "skill": told(skills), "raw": told(raw)}


async def run_demo(store: Path, say: Say) -> Report:
    """Run it in the empty folder ``store``, a store for each round. Raises InvalidInput where that is not empty."""
    _check_empty(store)
    began = time.monotonic()
    rounds = load_rounds()
    learnt: list[dict[str, int]] = []
    modes: set[str] = set()
    cases: list[tuple[Task, Answers, Answers]] = []
    for number, split in enumerate(rounds, 1):

        def tell(what: str, done: float, total: float, number: int = number) -> None:
            say(f"round {number}: {what}", done, total)

        folder = store / f"round-{number}"
        counts, mode, skills = await _through_the_server(folder, split, tell)
        raw = await _from_raw_episodes(folder, split.unseen, tell)
        learnt.append(counts)
        modes.add(mode)
        cases.extend(zip(split.unseen, skills, raw, strict=True))
    sums = {name: sum(counts[name] for counts in learnt) for name in _COUNTED}
    seconds = time.monotonic() - began
    return Report(rounds=len(rounds), mode="/".join(sorted(modes)), seconds=seconds, cases=tuple(cases), **sums)


def _check_empty(store: Path) -> None:
    if store.exists() and any(store.iterdir()):
        raise InvalidInput(f"{store} is not empty", hint="the demo wants a folder of its own; leave --store out")


async def _through_the_server(store: Path, split: Split, say: Say) -> tuple[dict[str, int], str, list[Answers]]:
    """What was fed and learned, how was searched, and the answers to each unseen task."""
    from mcp import Client, StdioServerParameters

    arguments = ["-I", "-m", "prowess.server", "serve", "--in-process", "--store", str(store)]
    # Both sides answer from all they have: nothing is withheld here to be measured.
    environment = {"PROWESS_PROJECT": PROJECT, "PROWESS_WITHHOLD": "0"}
    server = StdioServerParameters(command=sys.executable, args=arguments, env=environment)
    async with Client(server, read_timeout_seconds=CALL_SECONDS) as client:
        steps = await _feed(client, split.fed, say)
        say("reflecting", 0, 1)
        patterns = (await _call(client, "reflect", {"limit": PATTERNS}))["patterns"]
        say("evolving skills", 0, 1)
        await _call(client, "evolve_skills", {"mode": "auto"})
        skills = await _skills(client)
        await _index_is_ready(client)
        answers, mode = await _ask(client, split.unseen, say)
    learnt = {"episodes": len(split.fed), "steps": steps, "patterns": len(patterns), "skills": skills}
    return learnt, mode, answers


async def _call(client: Client, tool: str, arguments: dict[str, Any]) -> dict[str, Any]:
    result = await client.call_tool(tool, arguments)
    if result.is_error or result.structured_content is None:
        text = " ".join(getattr(part, "text", "") for part in result.content)
        raise DemoFailed(f"{tool} failed: {text}", hint="see `prowess doctor`")
    answer: dict[str, Any] = result.structured_content
    return answer


async def _feed(client: Client, episodes: Sequence[dict[str, Any]], say: Say) -> int:
    """Track and score each episode as an agent would; how many steps were stored."""
    stored = 0
    for number, episode in enumerate(episodes):
        say("feeding recorded episodes", number, len(episodes))
        about = {"task_id": episode["task_id"], "project": PROJECT}
        tracked = await _call(client, "track_execution", {**about, "task": episode["task"], "steps": episode["steps"]})
        stored += int(tracked["stored"])
        score = {"reward": episode["reward"], "reason": episode["reason"], "final": True}
        await _call(client, "score_reward", {**about, **score})
    return stored


async def _skills(client: Client) -> int:
    status = (await _call(client, "evolve_skills", {"mode": "status"}))["status"]
    return sum(count for name, count in status["skills"].items() if name in ("draft", "active"))


async def _index_is_ready(client: Client) -> None:
    """Until every skill has its vector, which takes a busy machine longer than a call waits; within a bound."""
    with anyio.move_on_after(CALL_SECONDS):
        while True:
            status = (await _call(client, "evolve_skills", {"mode": "status"}))["status"]
            if status["embedding"] not in ("loading", "catching up"):
                return
            await anyio.sleep(_POLL_SECONDS)


async def _ask(client: Client, tasks: Sequence[Task], say: Say) -> tuple[list[Answers], str]:
    """The best skills and examples for each task, and whether the search was hybrid or lexical."""
    answers: list[Answers] = []
    modes = set()
    for number, task in enumerate(tasks):
        say("asking for unseen tasks", number, len(tasks))
        question = {"query": task.text, "limit": TRIES, "max_tokens": _PAGE}
        found = await _call(client, "find_skill", question)
        modes.add(found["mode"])
        past = [example | {"name": "a past success"} for example in found.get("examples", ())]
        answers.append([_answer(one) for one in (*found["skills"], *past)])
    return answers, "/".join(sorted(modes))


def _answer(shown: dict[str, Any]) -> Answer:
    return Answer(shown["name"], tuple(step["tool"] for step in shown["steps"] if "tool" in step))


async def _from_raw_episodes(store: Path, tasks: Sequence[Task], say: Say) -> list[Answers]:
    """The same questions to the same store, opened here: the nearest successful episodes answer with what they did."""
    from prowess.server.runtime import open_runtime
    from prowess.server.settings import Settings

    answers = []
    async with open_runtime(Settings(home=store, project=PROJECT), patience=_MODEL_SECONDS) as runtime:
        await runtime.index.query("")  # waits for the model
        await runtime.index.refresh()
        for number, task in enumerate(tasks):
            say("asking the raw episodes", number, len(tasks))
            answers.append(await _nearest(runtime, task.text))
    return answers


async def _nearest(runtime: Runtime, text: str) -> Answers:
    """Only such as differ in what they changed, so that two runs of one task do not cost the episodes a try."""
    from prowess.learning.ranking.order import fuse

    store, vector = runtime.store, await runtime.index.query(text)
    lexical = await store.lexical("episode", text, limit=_CANDIDATES, project=PROJECT)
    dense = [] if vector is None else await store.dense("episode", vector, limit=_CANDIDATES, project=PROJECT)
    answers: dict[frozenset[str], Answer] = {}
    for found, _ in fuse(text, lexical, dense):
        episode = await store.episode(found)
        if episode.outcome == "success" and len(answers) < TRIES:
            tools = tuple(step.verb for step in await store.steps(found) if step.outcome != "failure")
            answers.setdefault(mutating(tools), Answer(episode.task_id, tools))
    return list(answers.values())
