"""What becomes of skills by what they were worth: drafts promoted, skills retired, changed ones kept or rolled back.

While matches are withheld (``Context.withhold``), it is the measured uplift that decides, together with replays on past
episodes. Where nothing is withheld, nothing is measured: then a draft becomes active when it was followed successfully
(at least 2 uses, half of them successes) or rests on at least 5 successful episodes. Text of someone who is not trusted
is never promoted, and what a person wrote or pinned is left alone.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import anyio.to_thread
from msgspec.structs import replace

from prowess.learning.counting import counted
from prowess.learning.lifecycle import MAX_NAME
from prowess.learning.lift import Replay, Verdict, canary, lifts, verdict
from prowess.learning.synthesis.drafts import replays
from prowess.storage.models import EpisodeFilter, Skill, Trajectory, Trial
from prowess.tools.changes import Plan
from prowess.tools.evolution import changeable_of, restored
from prowess.tools.scope import Scope, load_skills, whole_trajectories
from prowess.tools.skills import flat_steps, one_line, versions_of

if TYPE_CHECKING:
    from prowess.learning.lift import Lift
    from prowess.tools.context import Context

__all__ = ["lifted", "measured", "settled"]

PROMOTE_USES = 2
PROMOTE_RATE = 0.5
PROMOTE_SUPPORT = 5
TOLD = 10  # skills whose uplift a status tells
QUESTIONS = 10_000  # the newest questions whose matches are compared; reading them takes a third of a second
REPLAYED = 250  # the newest successes, and as many failures, that a draft is tried on


async def settled(plan: Plan, scope: Scope, ctx: Context) -> None:
    """End the trials of changed skills that are decided: the new version stays, or the one before comes back whole."""
    trying = [skill for skill in changeable_of(plan) if skill.trial_of is not None]
    if not trying:
        return
    trials = await ctx.store.trials(project=scope.filter, limit=QUESTIONS)
    for skill in trying:
        old = skill.trial_of or 0
        told = canary([trial for trial in trials if trial.skill_id == skill.id], skill.version, old)
        if told is not None:
            await _settle(plan, skill, old, told, ctx)


async def _settle(plan: Plan, skill: Skill, old: int, told: Verdict, ctx: Context) -> None:
    before = [known.skill for known in await versions_of(skill, ctx.store) if known.version == old]
    if told.action == "back" and before:
        plan.add("rollback", restored(skill, before[0]), told.reason)
    else:
        plan.add("keep", replace(skill, trial_of=None), told.reason)


async def lifted(plan: Plan, scope: Scope, ctx: Context) -> None:
    """Promote drafts and retire skills, as far as what is known of them says so."""
    found = await _lifts(scope, plan.skills, ctx)
    past: Sequence[Trajectory] | None = None
    for skill in changeable_of(plan):
        lift = found.get(skill.id)
        told = verdict(skill, lift) if lift is not None else None
        if lift is not None and told is not None and told.action == "promote":
            past = await _past(scope, ctx) if past is None else past
            told = verdict(skill, lift, await anyio.to_thread.run_sync(_replay, skill, plan.skills, past))
        if told is not None:
            _carry_over(plan, skill, told)
        elif ctx.withhold <= 0 and (reason := _proof(skill)):
            plan.add("promote", replace(skill, status="active"), reason)


async def measured(scope: Scope, ctx: Context) -> dict[str, str]:
    """What is known of the uplift of skills with matches on both sides, in words; the most often matched first."""
    found = await _lifts(scope, await load_skills(scope, ctx), ctx)
    told = {key: lift for key, lift in found.items() if lift.reward is not None}
    ranked = sorted(told, key=lambda key: (-told[key].tally.shown - told[key].tally.withheld, key))[:TOLD]
    skills = await ctx.store.skills_by_id(ranked)
    words: dict[str, str] = {}
    for skill in (skills[key] for key in ranked if key in skills):
        name = f"{one_line(skill.name, MAX_NAME)} ({skill.status})"
        words[name if name not in words else f"{name} {skill.id}"] = told[skill.id].words()
    return words


def _carry_over(plan: Plan, skill: Skill, told: Verdict) -> None:
    if told.action == "promote":
        plan.add("promote", replace(skill, status="active"), told.reason)
    else:
        plan.add("retire", replace(skill, status="retired"), told.reason)


async def _lifts(scope: Scope, skills: dict[str, Skill], ctx: Context) -> dict[str, Lift]:
    trials: Sequence[Trial] = await ctx.store.trials(project=scope.filter, limit=QUESTIONS)
    return await anyio.to_thread.run_sync(lifts, trials, skills) if trials else {}


async def _past(scope: Scope, ctx: Context) -> tuple[Trajectory, ...]:
    """The newest successes and failures that are whole."""
    found: list[Trajectory] = []
    for filter_ in (
        EpisodeFilter(project=scope.filter, outcome="success", trusted=True),
        EpisodeFilter(project=scope.filter, outcome="failure", trusted=True),
    ):
        found += await whole_trajectories(filter_, REPLAYED, ctx)
    return tuple(found)


def _replay(skill: Skill, known: dict[str, Skill], past: Sequence[Trajectory]) -> Replay:
    flat = replace(skill, steps=flat_steps(skill, known))
    sides: dict[str, list[bool]] = {"success": [], "failure": []}
    for trajectory in past:
        if trajectory.episode.outcome in sides:
            sides[trajectory.episode.outcome].append(replays(flat, trajectory))
    good, bad = sides["success"], sides["failure"]
    return Replay(sum(good), len(good), sum(bad), len(bad))


def _proof(skill: Skill) -> str:
    """Why a draft may become active where nothing is withheld."""
    if skill.status != "draft" or skill.trust == "untrusted":
        return ""
    if skill.use_count >= PROMOTE_USES and skill.success_rate >= PROMOTE_RATE:
        return f"{counted(skill.use_count, 'use')}, {skill.success_rate:.0%} successful"
    if not skill.use_count and skill.support >= PROMOTE_SUPPORT:
        return f"seen in {counted(skill.support, 'successful episode')}"
    return ""
