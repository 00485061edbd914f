"""Do mined skills tell an agent more than past episodes do? Tasks that were never fed are the judges.

    python benchmarks/quality/skills.py --data DATA                        # the reported splits of all sets
    python benchmarks/quality/skills.py --data DATA --part build --sets bfcl
    python benchmarks/quality/skills.py --sets tau2-retail                 # the packaged runs need no folder

DATA has bfcl-multi-turn, tau2-bench and intercode. Episodes are fed, scored and evolved through the tools, as an agent
would; then each question is put to ``find_skill`` with its words alone. Beside it, from the same store: the nearest
successful episodes by words, by meaning and fused (also without what is particular in the question, which suits them
better), the most frequent sequences, nothing, and what an oracle would choose of each. Of episodes the first three are
taken that differ in their tools. Beside the best of three tries stands the best of what fits into so many tokens
(``_budget.py``). docs/quality-skills.md has the measures and the results.
"""

from __future__ import annotations

import argparse
import sys
from collections import Counter, defaultdict
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

sys.path.insert(0, str(Path(__file__).parent.parent))
sys.path.insert(0, str(Path(__file__).parent))

import _bfcl
import _budget
import _intercode
import _tau2
import anyio
from _common import emit, scratch
from _measures import MEASURES, Scored, compared, scored, summary
from _shared import Answer, Question, Split, Step, Tools

from prowess.learning.ranking.views import model_name
from prowess.learning.rendering import count_tokens
from prowess.learning.synthesis.calls import key_of, succeeded
from prowess.learning.synthesis.evidence import particular_free
from prowess.providers.embedding import EmbeddingSettings, load
from prowess.server.index import KINDS
from prowess.server.runtime import Runtime, open_runtime
from prowess.server.settings import Settings
from prowess.tools.examples import examples
from prowess.tools.find_skill import FindOutput
from prowess.tools.registry import call, find
from prowess.tools.skills import SkillCard
from prowess.tools.text import to_json

PROJECT = "bench"
WAIT = 60.0  # seconds for the embedding model
NEAREST = 50  # of each retriever
TRIES = 3
LEXICAL_SHARE = 0.4  # of the fused nearness; the best of .3 to .7 on the build part
MOST_TOKENS = 4_000
REPORT_SEEDS, BUILD_SEEDS = (0, 1, 2, 3, 4, _bfcl.SEED_OF_PARTS), (100, 101, 102, 103, 104)
SETS = ("bfcl", "tau2-retail", "tau2-airline", "tau2-telecom", "intercode")

FORMS = ("whole", "short")  # of an episode: task, calls and observations; and the text of find_skill's examples

Episodes = dict[str, Answer]  # raw successful episodes by id
Sizes = dict[str, dict[str, int]]  # tokens of episodes by form and id


class Found(NamedTuple):
    """Each method's scores of its tries, and of what fits into budgets of tokens."""

    given: dict[str, list[Scored]]
    within: dict[str, list[Scored]]


def splits(name: str, data: Path | None, cache: Path, part: str, seeds: Sequence[int]) -> list[Split]:
    if name == "tau2-retail":
        return [_tau2.retail(seed) for seed in seeds]
    if data is None:
        raise SystemExit(f"{name} needs --data")
    if name == "bfcl":
        turns = _bfcl.load(data / "bfcl-multi-turn", _bfcl.Simulators(cache))
        return [turns.build(seed) if part == "build" else turns.report(seed) for seed in seeds]
    if name == "intercode":
        return [_intercode.load(data / "intercode", seed) for seed in seeds]
    return [_tau2.load_runs(data / "tau2-bench", name.partition("-")[2], seed) for seed in seeds]


async def feed(runtime: Runtime, split: Split) -> None:
    for number, episode in enumerate(split.fed):
        context = runtime.context(session=f"run-{number}")
        about = {"task_id": episode["task_id"], "task": episode["task"]}
        await call(find("track_execution"), {**about, "steps": episode["steps"]}, context)
        ended = {"task_id": episode["task_id"], "reward": 10, "final": True}
        await call(find("score_reward"), ended, context)
    await call(find("evolve_skills"), {"mode": "auto"}, runtime.context())
    await runtime.index.query("")  # waits for the model
    model = load(EmbeddingSettings())
    assert model is not None
    await runtime.index.refresh(wait=False)
    for kind in KINDS:
        while await runtime.store.unembedded(kind, model_name(model.name), 1):  # noqa: ASYNC110 - no event tells it
            await anyio.sleep(0.1)


async def skills(runtime: Runtime, question: Question, tries: int = TRIES) -> tuple[list[Answer], int]:
    """The answer's skills and then its examples, and the size of its text in tokens."""
    asked = {"query": question.text, "limit": tries, "max_tokens": MOST_TOKENS}
    answer = await call(find("find_skill"), asked, runtime.context())
    assert isinstance(answer, FindOutput)
    assert answer.mode == "hybrid"
    past = [Answer(tuple(map(_of_step, example.steps)), {}) for example in answer.examples]
    return [*(_of_card(card) for card in answer.skills), *past], count_tokens(answer.text())


async def by_limit(runtime: Runtime, question: Question, split: Split) -> list[tuple[list[Tools], int]]:
    """What one try tells, two and so on, with its tokens, as far as they may fit into a budget."""
    found: list[tuple[list[Tools], int]] = []
    while len(found) < _budget.MOST_TRIES and (not found or found[-1][1] <= max(_budget.BUDGETS) or len(found) < TRIES):
        told, tokens = await skills(runtime, question, len(found) + 1)
        found.append(([split.core(keys_of(answer)) for answer in told], tokens))
    return found


def _of_step(step: dict[str, Any]) -> Step:
    return Step(str(step["tool"]), step.get("args") or {}, step.get("note", ""))


def _of_card(card: SkillCard) -> Answer:
    return Answer(tuple(map(_of_step, card.steps)), card.parameters)


async def raw_episodes(runtime: Runtime) -> tuple[Episodes, Sizes]:
    """Each successful episode's calls that worked, and its size: whole, and as ``find_skill`` shows an example."""
    found = [episode.id for episode in await runtime.store.episodes() if episode.outcome == "success"]
    told: Episodes = {}
    sizes: Sizes = {form: {} for form in FORMS}
    for item in await runtime.store.trajectories(found):
        steps = [
            Step(step.tool or "", step.args or {}, step.observation or "") for step in item.steps if succeeded(step)
        ]
        told[item.episode.id] = Answer(tuple(steps), {"": {"task": item.episode.task}})
        lines = [f"{step.tool} {to_json(step.args)} → {step.observation}" for step in steps]
        sizes["whole"][item.episode.id] = count_tokens("\n".join([item.episode.task, *lines]))
    for example in await examples(found, runtime.store):
        sizes["short"][example.episode_id] = count_tokens("\n".join(example.lines(1)))
    return told, sizes


async def nearest(
    runtime: Runtime, question: Question, done: Episodes, *, lexical: bool, dense: bool, bare: bool = False
) -> list[str]:
    """The ids of the nearest successful episodes."""
    words: list[tuple[str, float]] = []
    near: list[tuple[str, float]] = []
    if lexical:
        text = particular_free(question.text) if bare else question.text
        words = await runtime.store.lexical("episode", text, limit=NEAREST, project=PROJECT)
    if dense and (vector := await runtime.index.query(question.text)) is not None:
        near = await runtime.store.dense("episode", vector, limit=NEAREST, project=PROJECT)
    return [key for key in fused(dict(words), dict(near)) if key in done]


METHODS: dict[str, Callable[..., Any]] = {
    "episode, fused": partial(nearest, lexical=True, dense=True),
    "episode, fused, bare": partial(nearest, lexical=True, dense=True, bare=True),
    "episode, lexical": partial(nearest, lexical=True, dense=False),
    "episode, dense": partial(nearest, lexical=False, dense=True),
}


def fused(words: dict[str, float], near: dict[str, float]) -> list[str]:
    """By the weighted sum of both scores, each as a share of its best."""
    share = LEXICAL_SHARE if words and near else 1.0
    best, closest = max(words.values(), default=1.0) or 1.0, max(near.values(), default=1.0) or 1.0
    last = min(near.values(), default=0.0)
    score = {
        key: share * words.get(key, 0.0) / best + ((1 - share) if words else 1.0) * near.get(key, last) / closest
        for key in {**words, **near}
    }
    return sorted(score, key=lambda key: (-score[key], key))


def distinct(keys: Sequence[str], cores: dict[str, Tools]) -> list[str]:
    """Of those that make the same set of tools the first."""
    first: dict[Tools, str] = {}
    for key in keys:
        first.setdefault(cores[key], key)
    return list(first.values())


def keys_of(answer: Answer) -> list[str]:
    """Keys of the calls. Of a step whose command is open the note tells the programs."""
    return [_key(step) for step in answer.steps]


def _key(step: Step) -> str:
    opened, _, programs = step.observation.partition("a command of ")
    if programs and not opened and any(str(value).startswith("{") for value in step.args.values()):
        return f"{step.tool}:{programs.partition(';')[0].replace(' | ', '|')}"
    return key_of(step.tool, step.args)


async def answers(split: Split, home: Path, seed: int) -> Found:
    """For each method its scores, question by question: of so many tries, and of what fits into so many tokens."""
    given: dict[str, list[Scored]] = defaultdict(list)
    within: dict[str, list[Scored]] = defaultdict(list)
    async with open_runtime(Settings(home=home, project=PROJECT, withhold=0.0), patience=WAIT) as runtime:
        await feed(runtime, split)
        done, sizes = await raw_episodes(runtime)
        cores = {key: split.core(keys_of(one)) for key, one in done.items()}
        made = await runtime.store.skills(project=PROJECT, statuses=("draft", "active"))
        known = [
            Answer(tuple(Step(s.tool or "", s.args_template or {}, s.note) for s in one.steps), {}) for one in made
        ]
        counts = Counter(cores.values())
        often = distinct(sorted(done, key=lambda key: -counts[cores[key]]), cores)
        for question in split.asked:
            note = partial(scored, question=question, split=split, keys_of=keys_of, seed=seed)
            found, tokens = await skills(runtime, question)
            given["find_skill"].append(note(found, tokens=tokens))
            fitted = partial(_budget.fitted, own=tokens, golds=_golds(question, split), task=f"{seed}/{question.task}")
            within["find_skill"].append(fitted(_budget.asked(await by_limit(runtime, question, split))))
            ranked = {name: distinct(await method(runtime, question, done), cores) for name, method in METHODS.items()}
            for name, keys in ranked.items():
                size = sum(sizes["whole"][key] for key in keys[:TRIES])
                given[name].append(note([done[key] for key in keys[:TRIES]], tokens=size, raw=True))
            for name, keys in {**ranked, "most frequent": often}.items():
                for form in FORMS:
                    told = [(cores[key], sizes[form][key]) for key in keys]
                    within[f"{name}, {form}"].append(fitted(_budget.greedy(told)))
            given["most frequent"].append(note([done[key] for key in often[:TRIES]], tokens=0, raw=True))
            given["nothing"].append(note([], tokens=0))
            best = partial(_best, question=question, split=split)
            given["oracle: skill"].append(note(best(known), tokens=0, quick=True))
            given["oracle: episode"].append(note(best(list(done.values())), tokens=0, quick=True))
    return Found(given, within)


def _golds(question: Question, split: Split) -> list[Tools]:
    return [split.core(_key(step) for step in gold) for gold in question.gold]


def _best(known: Sequence[Answer], question: Question, split: Split) -> list[Answer]:
    golds = _golds(question, split)

    def fit(answer: Answer) -> float:
        mine = split.core(keys_of(answer))
        return max((len(mine & gold) / max(len(mine | gold), 1) for gold in golds), default=0.0)

    return [max(known, key=fit)] if known else []


async def measure(name: str, chosen: list[Split], seeds: Sequence[int]) -> dict[str, Any]:
    """Print the means over all seeds with intervals; the same are returned."""
    held = Found(defaultdict(list), defaultdict(list))
    untouched: Found | None = None
    for seed, split in zip(seeds, chosen, strict=True):
        with scratch() as home:
            found = await answers(split, home, seed)
        if seed == _bfcl.SEED_OF_PARTS:
            untouched = found
            continue
        for whole, part in zip(held, found, strict=True):
            for method, scores in part.items():
                whole[method] += scores
    told = {"all": _table(f"{name}, seeds {', '.join(map(str, seeds))}", held)} if held.given else {}
    if untouched:
        told["untouched"] = _table(f"{name}, seed {_bfcl.SEED_OF_PARTS}", untouched)
    return told


def _table(title: str, found: Found) -> dict[str, Any]:
    held = found.given
    print(f"\n{title}: {len(held['find_skill'])} questions about {len({s.task for s in held['find_skill']})} tasks")
    print(f"{'':22}" + "".join(f"{measure:>12}" for measure in MEASURES))
    means = {method: summary(scores) for method, scores in held.items()}
    for method, values in means.items():
        shown = ("—" if value is None else f"{value:.3f}" for value in values.values())
        print(f"{method:22}" + "".join(f"{value:>12}" for value in shown))
    against = compared(held)
    for measure, (method, difference) in against.items():
        mean, low, high = difference
        print(f"find_skill - {method}, {measure}: {mean:+.3f} [{low:+.3f}, {high:+.3f}]")
    within = _budget.table(found.within, FORMS)
    return {"questions": len(held["find_skill"]), "means": means, "paired": against, "within": within}


async def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, help="folder of the data sets")
    parser.add_argument("--sets", nargs="+", choices=SETS, default=SETS)
    parser.add_argument("--part", choices=("build", "report"), default="report")
    parser.add_argument("--seeds", type=int, nargs="+")
    parser.add_argument("--cache", type=Path, default=Path("build/bfcl"), help="folder for the simulators")
    chosen = parser.parse_args()
    results = {}
    for name in chosen.sets:
        seeds = chosen.seeds or (BUILD_SEEDS if chosen.part == "build" else REPORT_SEEDS)
        seeds = [seed for seed in seeds if name == "bfcl" or seed != _bfcl.SEED_OF_PARTS]
        picked = splits(name, chosen.data, chosen.cache.absolute(), chosen.part, seeds)
        results[name] = await measure(name, picked, seeds)
    emit("quality-skills", {"part": chosen.part, "results": results})


if __name__ == "__main__":
    anyio.run(main)
