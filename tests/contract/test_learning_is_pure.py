"""learning/ thinks: no files, no clock, no network, no chance without a seed; the same episodes, the same answers."""

from __future__ import annotations

import ast
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]

# What reaches outside of the process, tells the time or draws lots. ``random.Random(seed)`` is allowed, and to count
# with a moment that one was given.
OUTSIDE = {
    "asyncio", "anyio", "calendar", "ctypes", "fileinput", "ftplib", "glob", "http", "locale",
    "logging", "mmap", "multiprocessing", "os", "pathlib", "platform", "resource", "sched", "secrets", "select",
    "selectors", "shelve", "shutil", "signal", "smtplib", "socket", "sqlite3", "ssl", "subprocess", "tempfile",
    "threading", "time", "timeit", "urllib", "webbrowser", "zoneinfo",
}  # fmt: skip
CALLED = {"open", "print", "input", "exec", "eval", "compile", "__import__", "breakpoint", "hash"}
# Attributes that read or write, look at a clock, or draw from a generator nobody seeded.
ATTRIBUTES = {
    "read_text", "read_bytes", "write_text", "write_bytes", "now", "utcnow", "today", "fromtimestamp", "urandom",
    "getrandom", "uuid1", "uuid4", "uuid7", "FileIO", "tofile", "fromfile", "memmap", "loadtxt", "savetxt",
}  # fmt: skip
ONLY = {"random": {"Random"}, "uuid": {"UUID"}, "io": {"BytesIO", "StringIO"}}  # what may be imported from these
UNSEEDED = {"choice", "choices", "normal", "permutation", "rand", "randint", "randn", "random", "sample", "shuffle"}


def modules() -> list[Path]:
    return sorted((ROOT / "learning").rglob("*.py"))


def offences(tree: ast.AST) -> Iterator[str]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (f"imports {alias.name}" for alias in node.names if _top(alias.name) in OUTSIDE)
        elif isinstance(node, ast.ImportFrom) and node.level == 0 and _top(node.module or "") in OUTSIDE:
            yield f"imports from {node.module}"
        elif isinstance(node, ast.ImportFrom) and node.module in ONLY:
            others = (alias.name for alias in node.names if alias.name not in ONLY[node.module])
            yield from (f"imports {node.module}.{name}" for name in others)
        elif isinstance(node, ast.Call):
            yield from _called(node)


def _top(module: str) -> str:
    return module.partition(".")[0]


def _called(node: ast.Call) -> Iterator[str]:
    match node.func:
        case ast.Name(id=name) if name in CALLED:
            yield f"calls {name}"
        case ast.Name(id="Random" | "default_rng") | ast.Attribute(attr="Random" | "default_rng" | "SeedSequence"):
            if not node.args and not node.keywords:
                yield "makes a generator without a seed"
        case ast.Attribute(value=owner, attr=name) if name in UNSEEDED and ast.unparse(owner) in (
            "random",
            "np.random",
            "numpy.random",
        ):
            yield f"draws from the shared generator: {name}"
        case ast.Attribute(value=ast.Name(id="np" | "numpy"), attr="load" | "save" as name):
            if not (node.args and ast.unparse(node.args[0]).startswith("io.BytesIO(")):
                yield f"calls numpy.{name}"
        case ast.Attribute(attr=name) if name in ATTRIBUTES:
            yield f"calls .{name}"


@pytest.mark.parametrize("path", modules(), ids=lambda path: str(path.relative_to(ROOT)))
def test_a_module_of_learning_reaches_nothing_outside(path: Path) -> None:
    assert list(offences(ast.parse(path.read_text(encoding="utf-8")))) == []


@pytest.mark.parametrize(
    "code",
    [
        "import os",
        "import os.path",
        "datetime.now(UTC)",
        "from random import shuffle",
        "open('x')",
        "Path('x').read_text()",
        "import random\nrandom.shuffle(a)",
        "random.Random()",
        "np.random.default_rng()",
        "np.random.rand(3)",
        "np.load('x')",
        "uuid.uuid4()",
        "from uuid import uuid4",
        "hash('x')",
    ],
)
def test_what_reaches_outside_is_noticed(code: str) -> None:
    assert list(offences(ast.parse(code))) != []


@pytest.mark.parametrize(
    "code",
    [
        "import re",
        "random.Random(7).shuffle(a)",
        "np.random.default_rng(3)",
        "a.sample(b)",
        "from random import Random",
    ],
)
def test_what_stays_inside_is_not(code: str) -> None:
    assert list(offences(ast.parse(code))) == []


# Everything that learning/ makes of one set of episodes, told in an order that the first argument seeds.
ANSWERS = """
import random, sys
import msgspec
from prowess.learning.mining.patterns import find
from prowess.learning.mining.corpus import Corpus
from prowess.learning.redaction.masking import mask_many
from prowess.learning.synthesis.drafts import propose
from prowess.learning.synthesis.answers import answers
from prowess.learning.synthesis.evidence import Outlook, Precedent
from prowess.storage.models import Episode, Step, Trajectory

def made(number):
    chance = random.Random(number)
    tools = [chance.choice(["get_user", "get_order", "cancel_order", "refund_order", "close"]) for _ in range(6)]
    steps = tuple(
        Step(episode_id=f"e{number}", number=at, action=tool, at="", tool=tool, args={"order_id": f"#W{number}"},
             observation=f"order #W{number}", error="no such order 17" if chance.random() < 0.15 else None,
             outcome="success")
        for at, tool in enumerate(tools, 1)
    )
    task = f"cancel order #W{number} of " + " ".join(chance.sample(["anna", "red", "shoe", "blue", "lamp"], 2))
    episode = Episode(id=f"e{number:03}", project="shop", session="s", task_id=f"t{number % 40}", attempt=1,
                      opened_at="", task=task, agent=chance.choice(["codex", "cursor"]),
                      reward=chance.choice([None, -8.0, 8.0, 1 / 3]), outcome="success")
    return Trajectory(episode=episode, steps=steps)

order = list(range(80))
random.Random(sys.argv[1]).shuffle(order)
size = 5 + len(sys.argv[1]) * 7
corpus = Corpus()
for at in range(0, len(order), size):
    corpus.update([made(number) for number in order[at : at + size]])
    find(corpus, limit=5)
skills = propose([made(number) for number in sorted(order)], existing=(), min_support=2)
texts = mask_many(["password = correct-horse7", "x-api-key: " + "a1" * 12, "plain"])
past = []
for number in range(80):
    moves = tuple(dict.fromkeys(step.tool for step in made(number).steps))
    past.append(Precedent(f"t{number}", " ".join(moves), moves, number % 7 / 7, f"e{number}"))
outlook = Outlook("get the user, refund the order and close", past)
assert outlook.strength > 0
parts = {f"{at}": frozenset(past[at].moves[:size]) for at, size in zip(range(20), [1, 2, 3, 4] * 5)}
told = answers(outlook, parts, {key: 1 / (3 + int(key)) for key in parts})
print(msgspec.json.encode([find(corpus, limit=200), skills, texts, told]).decode())
"""


def test_the_same_store_gives_the_same_answers_whatever_the_hashes_and_the_order_of_arrival() -> None:
    told = {
        subprocess.run(
            [sys.executable, "-c", ANSWERS, order],
            env={"PYTHONHASHSEED": seed, "PYTHONSAFEPATH": "1"},
            capture_output=True,
            text=True,
            check=True,
            timeout=120,
        ).stdout
        for seed, order in (("0", "a"), ("1", "bc"), ("4242", "def"))
    }
    assert len(told) == 1
    assert len(next(iter(told))) > 10_000
