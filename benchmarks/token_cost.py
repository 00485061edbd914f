"""What Prowess adds to a session's context: the requests of real clients with and without it, from a loopback model.

Needs what `make test` installs: the clients (build/npm), and pytest, which they run. Tokens are counted as `find_skill`
counts them, without a tokenizer (learning/rendering.py). The peer is the same session of the client alone, in the same
run.
"""

from __future__ import annotations

import json
import sys
import tempfile
from importlib.util import find_spec
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT / folder) for folder in ("benchmarks", "tests/e2e", "tests/e2e/clients")]

from _common import emit, script  # noqa: E402
from agents import AGENTS, Agent, Codex, Task  # noqa: E402
from loopback import ModelServer, Turn  # noqa: E402
from person import Person, Worked  # noqa: E402
from tasks import CALCULATIONS, mended  # noqa: E402

from prowess.learning.rendering import count_tokens  # noqa: E402

INSTRUCTIONS = {"claude-code": ".claude/CLAUDE.md", "codex": ".codex/AGENTS.md"}
PROGRAMS = ROOT / "build" / "npm" / "clients" / "node_modules" / ".bin"


class DirectTools(Codex):
    """Codex with a model that it does not know: one that gets every tool's schema at once, and edits by the shell."""

    def arguments(self, url: str, prompt: str, *, again: bool = False) -> list[str]:
        return [*super().arguments(url, prompt, again=again)[:-1], "-c", 'model="unknown"', prompt]

    def edit(self, repository: Path, task: Task) -> list[Turn]:
        return [self.run(f"sed -i 's/{task.wrong}/{task.right}/' {task.file}")]


def said(worked: Worked) -> dict[str, list[str]]:
    """The texts of the last request: those of tools, and those of all else but the calls and their results."""
    conversation = worked.conversation
    tools = [json.dumps(tool, ensure_ascii=False) for tool in conversation.requests[-1]["tools"]]
    return {"tools": tools, "context": worked.agent.seen(conversation, -1)}


def size(texts: list[str]) -> dict[str, int]:
    return {"characters": sum(map(len, texts)), "tokens": sum(map(count_tokens, texts))}


def added(with_it: list[str], without: list[str]) -> dict[str, int]:
    more, less = size(with_it), size(without)
    return {name: more[name] - less[name] for name in more}


def measured(models: ModelServer, agent: Agent) -> dict[str, Any]:
    """The same three sessions without and with Prowess; a skill is learned from the first two."""
    # The paths in the requests have the same lengths.
    folders = (Path(tempfile.mkdtemp(prefix="cost-", dir=ROOT / "build")) for _ in range(2))
    alone, person = (Person(folder, PROGRAMS, models) for folder in folders)
    add, multiply, subtract = CALCULATIONS
    try:
        agent.prepare(alone.home)
        without = [said(mended(alone, agent, calculation)) for calculation in (add, subtract)]
        person.install(agent)
        first = said(mended(person, agent, add))
        mended(person, agent, multiply)
        person.prowess("evolve")
        learned = said(mended(person, agent, subtract))
        block = (person.home / INSTRUCTIONS[agent.name]).read_text()
    finally:
        for one in (alone, person):
            one.leave()
    return {
        "client_alone": {kind: size(texts) for kind, texts in without[0].items()},
        "tools": added(first["tools"], without[0]["tools"]),
        "context": added(first["context"], without[0]["context"]),
        "of_which_instructions": size([block]),
        "context_with_a_learned_skill": added(learned["context"], without[1]["context"]),
    }


def main() -> None:
    wanted = {"the clients (npm is missing)": PROGRAMS.is_dir(), "pytest": find_spec("pytest") is not None}
    if missing := [name for name, is_there in wanted.items() if not is_there]:
        print(f"token_cost: not measured, not installed: {', '.join(missing)}", file=sys.stderr)
        return
    agents = {agent.name: agent for agent in AGENTS} | {"codex without tool search": DirectTools()}
    with ModelServer() as models:
        emit("token_cost", {name: measured(models, agent) for name, agent in agents.items()})


if __name__ == "__main__":
    script(main)
