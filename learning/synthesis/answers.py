"""Which skill, or which skills together, answer a question, given how well each fits and what past tasks took.

A task often asks for two things that no past task had together. So beside the skills themselves, unions of them are
weighed: sets of moves that precedents suggest and that skills make up without overlap. What no skills make up, because
it succeeded once only, the past task itself is an example of; an example is never the first answer.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from itertools import combinations
from math import fsum
from typing import NamedTuple

import msgspec

from prowess.learning.synthesis.calls import OPEN_COMMAND, key_of
from prowess.learning.synthesis.evidence import Moves, Outlook, moves_of
from prowess.learning.synthesis.rewording import moves_told
from prowess.learning.synthesis.templates import is_open
from prowess.storage.models import Parameter, Skill, SkillStep

__all__ = ["JOINT", "Answer", "answers", "joined", "key_of_step", "moves_of_skill"]

JOINT = "+"  # between the ids, and the names, of skills that are one answer

OF_FIT = 1.8  # weight of the ranking's score, the best being 1, beside the outlook's log-odds
OF_EXAMPLE = 0.6  # in the place of fit: less than a skill that fits well, more than parts that do not
MOST_EXAMPLES = 2
UNTOLD_EXAMPLE = 2  # its place (from 0) where precedents do not tell which of them fits
LIKELY_SETS = 25  # of those that precedents had together
LIKELY_MOVES = 6  # that are added to a set, or paired
VARIED = 3  # sets that are varied by one move
MOST_PARTS = 3  # skills of one answer; more are no procedure any more, and their names must fit score_reward

DIGITS = 9  # of scores that are compared: products of matrices differ behind them from one machine to the next


class Answer(NamedTuple):
    """Skills (ids) to be followed in this order, and how well they answer; higher is better.

    Without skills, ``example`` is the id of a past episode that succeeded.
    """

    skills: tuple[str, ...]
    score: float
    example: str = ""


def moves_of_skill(skill: Skill) -> Moves:
    """The moves that a flat skill makes."""
    return frozenset(moves_of([key_of_step(step) for step in skill.steps if step.tool]))


def key_of_step(step: SkillStep) -> str:
    """The key of the call that a flat step makes; where its command is open, by the programs that its note tells."""
    tool, args = step.tool or "", step.args_template or {}
    if step.note.startswith(OPEN_COMMAND) and any(map(is_open, args.values())):
        programs = step.note.removeprefix(OPEN_COMMAND).partition(";")[0]
        return f"{tool}:{programs.replace(' | ', '|')}"
    return key_of(tool, args)


def answers(outlook: Outlook, skills: Mapping[str, Moves], fit: Mapping[str, float]) -> list[Answer]:
    """The best answers first: each of ``skills`` (moves by id) that ``fit`` has, unions and examples of precedents.

    ``fit`` is the ranking's score by id, with the best first; a skill that it lacks fits no words of the question and
    only serves as a part. Where the outlook tells nothing, the order is that of ``fit``, nothing is joined, and the
    nearest past success that made other moves than the first answers comes behind these.
    """
    if not outlook.strength:
        return _untold(outlook, skills, fit)
    top = max(fit.values(), default=0.0) or 1.0
    scaled = {key: score / top for key, score in fit.items()}
    best = _best_of_each(skills, scaled)
    known = {moves: (key,) for moves, key in best.items()}
    wanted = {moves: parts for moves in _suggested(outlook) if moves not in known and (parts := _made_up(moves, best))}
    made = {
        Answer(_in_order(parts, skills, outlook), _score(moves, parts, outlook, scaled)): moves
        for moves, parts in {**known, **wanted}.items()
    }
    typical = sorted(answer.score for answer in made)[len(made) // 2] if made else 0.0
    rest = [key for key in fit if not outlook.speaks_of(skills.get(key, frozenset()))]
    made |= {Answer((key,), typical + OF_FIT * scaled[key]): skills.get(key, frozenset()) for key in rest}
    made |= _examples(outlook, {**known, **wanted})
    return _varied(made, outlook)


def _untold(outlook: Outlook, skills: Mapping[str, Moves], fit: Mapping[str, float]) -> list[Answer]:
    found = [Answer((key,), score) for key, score in fit.items()]
    first = found[:UNTOLD_EXAMPLE]
    shown = frozenset[str]().union(*(skills.get(answer.skills[0], frozenset()) for answer in first))
    example = outlook.beyond(shown) if found else None
    return found if example is None else [*first, Answer((), first[-1].score, example.id), *found[UNTOLD_EXAMPLE:]]


def _examples(outlook: Outlook, covered: Collection[Moves]) -> dict[Answer, Moves]:
    """The best past successes whose sets of moves are not ``covered``, with those."""
    scored = [(OF_EXAMPLE + outlook.score(moves), moves) for moves in outlook.sets() if moves not in covered]
    best = sorted(scored, key=lambda one: (-round(one[0], DIGITS), sorted(one[1])))[:MOST_EXAMPLES]
    nearest = [(score, moves, outlook.nearest(moves)) for score, moves in best]
    return {Answer((), score, found.id): moves for score, moves, found in nearest if found is not None}


def _varied(made: Mapping[Answer, Moves], outlook: Outlook) -> list[Answer]:
    """The best first, a skill at their head, and behind the others those that tell what a better one told."""
    ranked = sorted(made, key=lambda answer: (-round(answer.score, DIGITS), answer.skills, answer.example))
    head = [answer for answer in ranked if answer.skills][:1]
    seen: set[tuple[tuple[str, ...], str]] = set()
    told: set[Moves] = set()
    fresh: list[Answer] = []
    again: list[Answer] = []
    for answer in head + ranked:
        if (answer.skills, answer.example) not in seen:
            outcome = outlook.outcome(made[answer])
            (again if outcome in told else fresh).append(answer)
            told.add(outcome)
        seen.add((answer.skills, answer.example))
    return fresh + again


def _best_of_each(skills: Mapping[str, Moves], fit: Mapping[str, float]) -> dict[Moves, str]:
    """For each set of moves the skill that fits best; the outlook cannot tell them apart."""
    best: dict[Moves, str] = {}
    for key in sorted(skills, key=lambda key: (-fit.get(key, 0.0), key)):
        if skills[key]:
            best.setdefault(skills[key], key)
    return best


def _suggested(outlook: Outlook) -> list[Moves]:
    """Sets of moves that the task may take."""
    likely = outlook.likely()[:LIKELY_MOVES]
    sets = outlook.sets()[:LIKELY_SETS]
    found = [outlook.expected(), *sets, *map(frozenset, combinations(likely, 2))]
    for base in (outlook.expected(), *sets[: VARIED - 1]):
        found += [base | {move} for move in likely]
        found += [base - {move} for move in base if len(base) > 1]
    return list(dict.fromkeys(found))


def _made_up(moves: Moves, best: Mapping[Moves, str]) -> tuple[str, ...]:
    """Skills that together make exactly these moves, none of them twice, the largest first; none where they cannot."""
    inside = sorted((part for part in best if part < moves), key=lambda part: (-len(part), sorted(part)))
    left, parts = set(moves), []
    for part in inside:
        if part <= left:
            parts.append(best[part])
            left -= part
    return tuple(parts) if not left and len(parts) <= MOST_PARTS else ()


def _score(moves: Moves, parts: Sequence[str], outlook: Outlook, fit: Mapping[str, float]) -> float:
    return OF_FIT * sum(fit.get(key, 0.0) for key in parts) / len(parts) + outlook.score(moves)


def _in_order(parts: Sequence[str], skills: Mapping[str, Moves], outlook: Outlook) -> tuple[str, ...]:
    """The parts as their moves usually follow each other."""
    if len(parts) < 2:
        return tuple(parts)
    place = outlook.order(frozenset().union(*(skills[key] for key in parts)))
    mean = {key: round(fsum(place[move] for move in skills[key]) / len(skills[key]), DIGITS) for key in parts}
    return tuple(sorted(parts, key=lambda key: (mean[key], key)))


def joined(parts: Sequence[Skill]) -> Skill:
    """The skills one after the other as one, which refers to them. Its id and name are theirs, with ``+`` between.

    A placeholder that several parts have under one name is theirs in common where its type is the same in all and each
    has it as an argument's value: parts of one task speak of the same things. It is not stored, so it is pinned: nobody
    may withhold or change it.
    """
    parameters: dict[str, Parameter] = {}
    steps = []
    for part in parts:
        whole = {value for step in part.steps for value in (step.args_template or {}).values() if is_open(value)}
        names = {one.name: _name(one, parameters, whole="{" + one.name + "}" in whole) for one in part.parameters}
        changed = {name: "{" + new + "}" for name, new in names.items() if new != name}
        steps.append(SkillStep(skill=part.id, args_template=changed or None))
        for one in part.parameters:
            parameters.setdefault(names[one.name], msgspec.structs.replace(one, name=names[one.name]))
    return Skill(
        id=JOINT.join(part.id for part in parts),
        name=JOINT.join(part.name for part in parts),
        description=" Then: ".join(f"{moves_told(part.description)}." for part in parts),
        steps=tuple(steps),
        parameters=tuple(parameters.values()),
        status="active" if all(part.status == "active" for part in parts) else "draft",
        project=parts[0].project,
        trust="untrusted" if any(part.trust == "untrusted" for part in parts) else parts[0].trust,
        pinned=True,
        support=min(part.support for part in parts),
    )


def _name(parameter: Parameter, taken: Mapping[str, Parameter], *, whole: bool) -> str:
    """The placeholder's name, or the first numbered one that is free or, for a ``whole`` value, of its type."""
    name, number = parameter.name, 2
    while name in taken and not (whole and taken[name].type == parameter.type):
        name, number = f"{parameter.name}_{number}", number + 1
    return name
