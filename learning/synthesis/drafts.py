"""Skills from episodes: what several successes have in common, with the particulars turned into placeholders.

``propose`` finds shared sequences of tool calls (``search``), aligns the episodes that show them, unifies
their arguments (``unify``), words the result (``words``) and keeps only what replays on the
episodes it came from. Pure and deterministic: the same episodes give the same skills with the same ids anywhere.
"""

from __future__ import annotations

import hashlib
import heapq
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from typing import Any

from msgspec.structs import replace

from prowess.learning.synthesis.calls import OPEN_COMMAND, Call, Run, calls_of, is_lookup, is_of_project, key_of
from prowess.learning.synthesis.checks import AGAIN, checks
from prowess.learning.synthesis.clients import is_change
from prowess.learning.synthesis.coding import (
    changed_files,
    form_of,
    is_open_command,
    is_told_by,
    says_something,
    working_runs,
)
from prowess.learning.synthesis.commands import COMMAND_ARGUMENTS
from prowess.learning.synthesis.compose import compose
from prowess.learning.synthesis.naming import base_name, description_of, moves_in_words, name_of
from prowess.learning.synthesis.notes import CHANGE_FILES, EACH, JOINT, before_in_words
from prowess.learning.synthesis.optional import before_steps, least_of
from prowess.learning.synthesis.recoveries import spare_calls
from prowess.learning.synthesis.repeats import repeated
from prowess.learning.synthesis.replay import replays, replays_calls
from prowess.learning.synthesis.search import Candidate, Keys, Sketch, Weights, last_places, search
from prowess.learning.synthesis.templates import canonical, is_open, placeholders, rename
from prowess.learning.synthesis.unify import Support, Unifier
from prowess.learning.synthesis.variety import Variety
from prowess.learning.synthesis.words import EMPTY_OF_CODING, EMPTY_WORDS, Vocabulary
from prowess.learning.text import words
from prowess.storage.models import Parameter, Skill, SkillStep, Trajectory

__all__ = ["base_name", "compose", "identify", "propose", "replays"]

MAX_STEPS = 12
# Of a skill's tasks: a word that fewer say does not tell when to use it; of coding, where tasks are of all kinds, most.
SOME, MOSTLY = 0.2, 0.5
MOST_DRAFTS = 200  # of one call; what comes later is worth little, and the next call may still bring it
MOST_CHANGED = 0.8  # of the episodes that changed files before: then a procedure is told to come after changes
MAX_SUPPORTS = 40  # episodes that are unified; more would only make the templates emptier and the work longer


def propose(
    trajectories: Sequence[Trajectory],
    *,
    existing: Sequence[Skill] = (),
    min_support: int = 2,
    project: str = "",
    limit: int = MOST_DRAFTS,
) -> list[Skill]:
    """Draft skills from successful episodes that are whole, the most valuable first, at most ``limit``.

    Each is shown by at least ``min_support`` distinct episodes and replays on every one in its ``episodes``. It is for
    ``project``; without one for all projects, or for the one whose episodes alone show it. Ids are hashes of steps and
    scope; what ``existing`` already has (by id) is left out, and names avoid its names.
    """
    sketches = _sketches(_distinct(trajectories))
    weights = Weights(sketches)
    vocabulary = Vocabulary(_tasks(sketches, weights))
    variety = Variety((sketch.trajectory.episode.task_id, sketch.calls) for sketch in sketches)
    known = {skill.id for skill in existing}
    names = {skill.name for skill in existing}
    found: dict[str, tuple[Skill, Candidate]] = {}
    left = limit
    for candidate in _spread(_without_duplicates(search(sketches, weights, max(min_support, 1)), weights)):
        draft = _draft(candidate, sketches, weights, variety, min_support, project)
        if draft is not None and draft.id not in found:
            found[draft.id] = (draft, candidate)
            left -= draft.id not in known
        if not left:
            break
    fresh = [(draft, candidate) for draft, candidate in _closed(list(found.values())) if draft.id not in known]
    return [
        _named(draft, weights.telling(candidate.keys), vocabulary, sketches, candidate, names)
        for draft, candidate in fresh
    ]


def _closed(found: Sequence[tuple[Skill, Candidate]]) -> list[tuple[Skill, Candidate]]:
    """Without those of coding that are part of a longer one which as many episodes show."""
    having: dict[str, set[int]] = defaultdict(set)  # so that few are compared
    for place, (_, candidate) in enumerate(found):
        for key in candidate.keys:
            having[key].add(place)
    return [
        (draft, candidate)
        for draft, candidate in found
        if not any(
            is_told_by(candidate.keys, other.keys) and set(draft.episodes) <= set(longer.episodes)
            for longer, other in map(found.__getitem__, set.intersection(*(having[key] for key in candidate.keys)))
        )
    ]


def identify(steps: Sequence[SkillStep], project: str) -> str:
    """The id of a skill with these (flat) steps in this scope: 32 hex digits, whatever its placeholders are called."""
    order = list(dict.fromkeys(name for step in steps for name in placeholders(step.args_template or {})))
    names = {name: f"p{index}" for index, name in enumerate(order)}
    plain = [[step.tool, step.skill, rename(step.args_template, names)] for step in steps]
    return hashlib.sha256(canonical([project, plain])).hexdigest()[:32]


def _distinct(trajectories: Sequence[Trajectory]) -> list[Trajectory]:
    """One trajectory per episode, in an order that does not depend on how they were given."""
    return sorted({t.episode.id: t for t in trajectories}.values(), key=lambda t: (t.episode.task_id, t.episode.id))


def _sketches(trajectories: Sequence[Trajectory]) -> list[Sketch]:
    """Those that did anything."""
    calls = [tuple(calls_of(trajectory)) for trajectory in trajectories]
    sketches = []
    for trajectory, made, spare in zip(trajectories, calls, spare_calls(trajectories, calls), strict=True):
        runs = working_runs([call for call in made if call.position not in spare])
        if runs:
            sketches.append(Sketch(trajectory, made, runs, tuple(run.key for run in runs)))
    return sketches


def _tasks(sketches: Sequence[Sketch], weights: Weights) -> dict[str, tuple[str, set[str]]]:
    """Each task's text and what any of its successes did that is not mere looking."""
    tasks: dict[str, tuple[str, set[str]]] = {}
    for sketch in sketches:
        episode = sketch.trajectory.episode
        tasks.setdefault(episode.task_id, (episode.task, set()))[1].update(weights.telling(sketch.keys))
    return tasks


def _without_duplicates(candidates: list[Candidate], weights: Weights) -> list[Candidate]:
    """The best candidate for each outcome: those that differ by lookups alone are one."""
    best: dict[frozenset[str], Candidate] = {}
    for candidate in candidates:
        core = frozenset(weights.telling(candidate.keys))
        held = best.get(core)
        if held is None or (candidate.whole, candidate.score) > (held.whole, held.score):
            best[core] = candidate
    return sorted(best.values(), key=lambda candidate: (-candidate.score, candidate.keys))


def _spread(candidates: list[Candidate]) -> Iterator[Candidate]:
    """The candidates, each time the one that is worth most where earlier ones tell little: its score divided by how
    often its episodes have been told on average, so that one family of tasks does not fill the list."""
    told: Counter[int] = Counter()
    waiting = [(-candidate.score, place) for place, candidate in enumerate(candidates)]
    heapq.heapify(waiting)
    while waiting:
        _, place = heapq.heappop(waiting)
        candidate = candidates[place]
        worth = candidate.score / (1 + sum(told[index] for index in candidate.members) / len(candidate.members))
        if waiting and worth < -waiting[0][0]:
            heapq.heappush(waiting, (-worth, place))
            continue
        told.update(candidate.members)
        yield candidate


def _draft(
    candidate: Candidate,
    sketches: Sequence[Sketch],
    weights: Weights,
    variety: Variety,
    min_support: int,
    project: str,
) -> Skill | None:
    supports = [_support(sketches[index], candidate.keys) for index in _varied(candidate.members, sketches)]
    supports = _alike(supports, candidate.keys, min_support)
    steps, parameters = _unify(candidate, supports, sketches, variety)
    told = candidate.whole or weights.rare(candidate.keys[0])
    if any(is_open_command(key, step.args_template or {}) for key, step in zip(candidate.keys, steps, strict=True)):
        return None
    if len(steps) > MAX_STEPS or not _says_something(steps, candidate.keys, told=told):
        return None
    skill = Skill(id="", name="", description="", steps=steps, parameters=parameters)
    members = [sketches[index] for index in candidate.members]
    shown = [member.trajectory.episode for member in members if replays_calls(skill, member.calls)]
    if len(shown) < min_support:
        return None
    projects = {episode.project for episode in shown}
    home = project or (projects.pop() if len(projects) == 1 else "")
    ids = tuple(episode.id for episode in shown)
    return replace(skill, id=identify(steps, home), project=home, episodes=ids, support=len(shown))


def _varied(members: Sequence[int], sketches: Sequence[Sketch]) -> list[int]:
    """Members, one per task before any task's second, as many as are unified."""
    turn: Counter[str] = Counter()
    ranked = []
    for index in members:
        task = sketches[index].trajectory.episode.task_id
        ranked.append((turn[task], index))
        turn[task] += 1
    return [index for _, index in sorted(ranked)[:MAX_SUPPORTS]]


def _support(sketch: Sketch, keys: Keys) -> Support:
    runs = _embedded(sketch, keys)
    elsewhere = Counter(text for run in runs for text in {t for call in run.calls for t in _values(call)})
    return Support(sketch.trajectory, tuple(_representative(run, elsewhere) for run in runs))


def _alike(supports: list[Support], keys: Keys, least: int) -> list[Support]:
    """Of a move's command lines those in the form that most have, if ``least`` episodes have it: others only would
    leave the whole line open."""
    for at, key in enumerate(keys):
        forms = [form_of(support.calls[at].args, key) for support in supports]
        common = max(sorted(set(forms)), key=forms.count)
        if forms.count(common) >= least:
            supports = [support for support, form in zip(supports, forms, strict=True) if form == common]
    return supports


def _embedded(sketch: Sketch, keys: Keys) -> list[Run]:
    """The last runs that show ``keys`` in order."""
    return [sketch.runs[place] for place in last_places(sketch.keys, keys)]


def _representative(run: Run, elsewhere: Counter[bytes]) -> Call:
    """The call of a run whose values are used by other moves; the last one where none is."""
    return max(run.calls, key=lambda call: (sum(elsewhere[text] - 1 for text in _values(call)), call.position))


def _values(call: Call) -> set[bytes]:
    parts: list[Any] = []
    for value in call.args.values():
        parts.extend(value if isinstance(value, list | tuple) else [value])
    return {canonical(part) for part in parts}


def _unify(
    candidate: Candidate, supports: Sequence[Support], sketches: Sequence[Sketch], variety: Variety
) -> tuple[tuple[SkillStep, ...], tuple[Parameter, ...]]:
    unifier = Unifier(supports, variety)
    templates = [unifier.step(at) for at in range(len(candidate.keys))]
    embedded = [_embedded(sketches[index], candidate.keys) for index in candidate.members]
    repeats = [repeated(runs, template) for runs, template in zip(zip(*embedded, strict=True), templates, strict=True)]
    around = _around(candidate, supports, sketches, templates)
    steps = tuple(
        SkillStep(
            tool=supports[0].calls[at].tool,
            args_template=templates[at],
            note=JOINT.join(filter(None, (*_note(key, templates[at], repeats[at]), *around[at]))),
        )
        for at, key in enumerate(candidate.keys)
    )
    return steps, unifier.parameters()


def _around(
    candidate: Candidate, supports: Sequence[Support], sketches: Sequence[Sketch], templates: Sequence[dict[str, Any]]
) -> list[list[str]]:
    """For each move what is done before it, and what to do where it fails; each of these is told once."""
    calls = [call for index in candidate.members for call in sketches[index].calls]
    changes = frozenset(call.key for call in calls if is_change(call.tool, call.args))  # each is as good as another
    sequences = [sketches[index].keys for index in candidate.members]
    wrong = checks([support.trajectory for support in supports], candidate.keys)
    least = least_of(len(sequences))
    at_step = [
        [
            check
            for check in wrong.pop(key, [])
            # Not where enough did it from the start, nor where the step is told with it.
            if not (check.first and all(before.counts[move] - check.episodes >= least for move in check.first))
            and not (check.added and _has_words(template, check.added))
        ]
        for key, before, template in zip(
            candidate.keys, before_steps(sequences, candidate.keys), templates, strict=True
        )
    ]
    asked = [
        frozenset[str]().union(*(check.first for check in found)) | (changes if key in changes else frozenset[str]())
        for key, found in zip(candidate.keys, at_step, strict=True)
    ]
    plain = [
        tuple(CHANGE_FILES if key in changes else key for key in keys if key in candidate.keys or _tells_before(key))
        for keys in sequences
    ]
    own = [CHANGE_FILES if key in changes else key for key in candidate.keys]
    left_out = [frozenset(CHANGE_FILES if move in changes else move for move in moves) for moves in asked]
    return [
        [*before_in_words(before.every, before.some, before.share), *(check.words for check in found)]
        for before, found in zip(before_steps(plain, tuple(own), left_out=left_out), at_step, strict=True)
    ]


def _tells_before(key: str) -> bool:
    """Whether that it was done before a step says something: how a coding agent looks around is its own affair."""
    return not (is_lookup(key) and is_of_project(key))


def _has_words(template: dict[str, Any], words: Sequence[str]) -> bool:
    return set(words) <= set(_line(template).split())


def _line(template: dict[str, Any]) -> str:
    return next((str(template[name]) for name in COMMAND_ARGUMENTS if name in template), "")


def _note(key: str, template: dict[str, Any], varying: str) -> list[str]:
    """What the template cannot say: that the step repeats, or which programs an open command runs."""
    tool, _, programs = key.partition(":")
    run = f"{OPEN_COMMAND}{programs.replace('|', ' | ')}" if programs and key_of(tool, template) != key else ""
    names = placeholders(template[varying]) if varying in template else [varying] if varying else []
    if names or not varying:
        return [run, f"{EACH}{names[0]}" if names else ""]
    return [run, f"repeat with other values of {varying}"]


def _says_something(steps: Sequence[SkillStep], keys: Keys, *, told: bool) -> bool:
    """A single call whose arguments are all open is no more than the tool's own description, unless it was all that
    an episode did or few make it. What every agent knows of its client and the usual commands is no skill either."""
    if not says_something(keys, [step.args_template or {} for step in steps], [step.tool or "" for step in steps]):
        return False
    values = [value for value in (steps[0].args_template or {}).values() if value not in ("", None)]
    open_call = all(map(is_open, values))
    empty_call = not values and bool(steps[0].args_template)
    return len(steps) > 1 or not open_call or (told and not empty_call)


def _named(
    draft: Skill, keys: Keys, vocabulary: Vocabulary, sketches: Sequence[Sketch], candidate: Candidate, names: set[str]
) -> Skill:
    tasks = [sketches[index].trajectory.episode.task_id for index in candidate.members]
    salient = vocabulary.salient(tasks, keys)
    members = [sketches[index] for index in _varied(candidate.members, sketches)]
    lines = {key: _line(step.args_template or {}) for key, step in zip(candidate.keys, draft.steps, strict=True)}
    acts = moves_in_words(keys, draft.steps, vocabulary.usage, _files(keys, members), lines)
    commands = [key for key in keys if key not in {step.tool for step in draft.steps}]
    name = name_of(acts, salient, vocabulary.usage, names, commands)
    names.add(name)
    after, again = _moment(candidate.keys, members), any(AGAIN in step.note for step in draft.steps)
    coding = any(map(is_of_project, candidate.keys))
    least, empty = (
        MOSTLY if coding else SOME,
        EMPTY_WORDS.union(words(draft.project), EMPTY_OF_CODING if coding else ()),
    )
    typical = [word for word in salient if vocabulary.share(word, tasks) >= least and word not in empty]
    told = description_of(acts, commands, typical, vocabulary.usage, after=after, again=again)
    return replace(draft, name=name, description=told, keywords=tuple(salient))


def _files(keys: Keys, members: Sequence[Sketch]) -> dict[str, str]:
    """What kind of files those of ``keys`` change that change any."""
    calls = [call for member in members for run in member.runs for call in run.calls]
    changing = {call.key for call in calls if is_change(call.tool, call.args)}
    return {key: changed_files(call for call in calls if call.key == key) for key in keys if key in changing}


def _moment(keys: Keys, members: Sequence[Sketch]) -> str:
    """When coding agents did this, by what files they changed then: ``when changing Go files``, or ``after`` it where
    the procedure is one of commands alone; "" where most changed none."""
    calls = [call for member in members for call in member.calls if is_change(call.tool, call.args)]
    if not {call.key for call in calls}.isdisjoint(keys):
        files = changed_files(call for call in calls if call.key in keys)
        return f"when changing {files}" if files and keys[0] != keys[-1] else ""
    starts = [_embedded(member, keys)[0].calls[0].position for member in members]
    before = [
        [call for call in member.calls if call.position < start and is_change(call.tool, call.args)]
        for member, start in zip(members, starts, strict=True)
    ]
    if sum(map(bool, before)) < MOST_CHANGED * len(members):
        return ""
    return f"after changing {changed_files(call for calls in before for call in calls) or 'files'}"
