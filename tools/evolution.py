"""What each mode of ``evolve_skills`` plans. Nothing here writes; a plan is carried out as a whole, or shown.

Promotion, retirement and the trials of changed skills are in ``lifting``.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from difflib import get_close_matches
from functools import partial
from typing import TYPE_CHECKING, Any, TypeVar

import anyio.lowlevel
import anyio.to_thread
from msgspec.structs import replace

from prowess.learning.counting import counted
from prowess.learning.lifecycle import adjust, prune
from prowess.learning.lift import changeable
from prowess.learning.synthesis.drafts import compose
from prowess.learning.synthesis.rewording import moves_told
from prowess.storage.errors import UnknownEpisode, UnknownSkill
from prowess.storage.models import EpisodeFilter, Skill, SkillUse, SkillVersion, Trajectory, format_time
from prowess.tools.changes import Plan
from prowess.tools.context import Context
from prowess.tools.errors import ToolError
from prowess.tools.proposals import Proposal, check, draft_of, revision_of
from prowess.tools.scope import Scope, not_there, whole_trajectories
from prowess.tools.skills import covers, is_as_saved, only_one, versions_of, waits, with_record
from prowess.tools.text import quote
from prowess.tools.twins import Twins

if TYPE_CHECKING:
    from prowess.storage.models import Pattern

__all__ = [
    "adjusted",
    "changeable_of",
    "composed",
    "created",
    "named",
    "proposed",
    "pruned",
    "restored",
    "revised",
    "rolled_back",
]

T = TypeVar("T")

MIN_SUPPORT = 2
EPISODES = 2_000  # the newest successes that are looked at
REPLAYED = 500  # of them a proposal is tried on
ACTIVITY = 20_000  # the newest episodes whose days count as days with activity
COMPARED_USES = 5  # of a version before it is compared with the one before
WORSE = 0.2  # by which a version's success rate must have fallen to be rolled back


async def created(plan: Plan, scope: Scope, ctx: Context) -> None:
    """Drafts from what successful episodes have in common."""
    successes = await whole_trajectories(scope.successes, EPISODES, ctx)
    if len(successes) < MIN_SUPPORT:
        plan.notes.append(await _too_few(len(successes), scope, ctx))
        return
    # What a stranger sent keeps nothing away that was learned here.
    ours = [skill for skill in plan.skills.values() if not waits(skill)]
    drafts = await ctx.compute.propose(successes, ours, min_support=MIN_SUPPORT, project=scope.project)
    twins = Twins(plan.skills, scope.project, {found.episode.id: found.episode.project for found in successes})
    for draft in drafts:
        if _builds_on(draft, scope.patterns) and not twins.has_project_own(draft):
            await _add_or_better(plan, draft, twins.of(draft), ctx)
            twins.add(draft)
        await anyio.lowlevel.checkpoint()  # of a large store there are hundreds
    plan.notes += twins.notes()


async def _too_few(whole: int, scope: Scope, ctx: Context) -> str:
    where = f" in project {scope.project}" if scope.project else ""
    known = len(await ctx.store.episodes(scope.successes, limit=MIN_SUPPORT))
    here = f" and {'has its' if whole == 1 else 'have their'} steps here" if known > whole else ""
    there = counted(whole, "successful episode is", "successful episodes are")
    return f"{there} scored{where}{here}; mining needs at least {MIN_SUPPORT}"


async def _add_or_better(plan: Plan, draft: Skill, near: Skill | None, ctx: Context) -> None:
    """Plan ``draft``; where it is ``near`` once more, plan that one's next version, if more episodes show it.

    What another machine learned from episodes that cannot be looked into here gives way only to what holds for them
    too. Otherwise two machines would take each other's version away for ever, each with one more episode to show: what
    they do differently is a skill of its own.
    """
    reason = f"shared by {counted(draft.support, 'successful episode')}"
    if draft.id in plan.skills:  # as a stranger's draft
        draft = replace(draft, version=plan.skills[draft.id].version + 1)
    if near is None:
        plan.add("create", draft, reason)
    elif near.trial_of is not None or near.author != "machine" or not changeable(near) or draft.support <= near.support:
        return
    elif not covers(draft, near, plan.skills) and await _rests_elsewhere(near, ctx):
        if not covers(near, draft, plan.skills):
            plan.add("create", draft, f"{reason}, with other arguments than {near.name}")
    else:
        # Who worded it otherwise than the rules do said what they meant; else the newer tasks say when.
        worded = draft if moves_told(near.description) == moves_told(draft.description) else near
        new = replace(
            near,
            description=worded.description,
            keywords=worded.keywords,
            steps=draft.steps,
            parameters=draft.parameters,
            episodes=draft.episodes,
            support=draft.support,
            version=near.version + 1,
        )
        if not _taken_back(new, near, await versions_of(near, ctx.store)):
            plan.add("adjust", on_trial(new, near, ctx), f"{reason}, version {near.version} by {near.support}")


async def _rests_elsewhere(skill: Skill, ctx: Context) -> bool:
    """Whether steps of its episodes lie on another machine alone."""
    for episode_id in skill.episodes:
        with suppress(UnknownEpisode):
            where = await ctx.store.elsewhere(episode_id)
            if where is not None and not where.raw:
                return True
    return False


def _builds_on(draft: Skill, patterns: Sequence[Pattern]) -> bool:
    if not patterns:
        return True
    tools = [step.tool for step in draft.steps]
    return any(_shows(tools, draft.episodes, pattern) for pattern in patterns)


def _shows(tools: Sequence[str | None], episodes: Sequence[str], pattern: Pattern) -> bool:
    """Whether the pattern's sequence stands, perhaps with gaps, in ``tools``, or they share an episode."""
    wanted = pattern.detail.get("tools") or pattern.detail.get("sequence")
    if not isinstance(wanted, list | tuple) or not wanted:
        return not set(episodes).isdisjoint(pattern.examples)
    rest = iter(tools)
    return all(verb in rest for verb in wanted)


async def proposed(plan: Plan, proposals: Sequence[Proposal], scope: Scope, ctx: Context) -> None:
    """Drafts as the agent words them, each through the gates; raises ``ToolError`` where none passes."""
    successes = await whole_trajectories(scope.successes, REPLAYED, ctx)
    refused: list[ToolError] = []
    for proposal in proposals:
        try:
            draft = await _in_thread(draft_of, proposal, plan.skills, project=scope.project, origin=ctx.origin)
            shown = await check(draft, plan.skills, successes)
        except ToolError as error:
            refused.append(error)
            continue
        draft = replace(draft, episodes=shown, support=len(shown))
        plan.add(
            "create",
            draft,
            f"worded by the {ctx.origin.actor}; happened in {counted(len(shown), 'successful episode')}",
        )
    _tell_refusals(plan, refused, len(proposals))


def _tell_refusals(plan: Plan, refused: Sequence[ToolError], told: int) -> None:
    if refused and len(refused) == told:
        hint = " ".join(dict.fromkeys(error.hint for error in refused if error.hint))
        raise ToolError("; ".join(str(error) for error in refused), hint=hint or "Nothing was stored.")
    plan.notes += [str(error) for error in refused]


async def revised(plan: Plan, proposals: Sequence[Proposal], scope: Scope, ctx: Context) -> None:
    """New versions of stored skills as the agent words them, through the same gates."""
    successes = await whole_trajectories(scope.successes, REPLAYED, ctx)
    refused: list[ToolError] = []
    for proposal in proposals:
        try:
            old = named(plan, _changed(proposal))
            new = await _in_thread(revision_of, proposal, old, plan.skills, origin=ctx.origin)
            if new.steps != old.steps:
                new = replace(new, episodes=(shown := await check(new, plan.skills, successes)), support=len(shown))
                new = on_trial(new, old, ctx)
        except ToolError as error:
            refused.append(error)
            continue
        plan.add("adjust", new, f"worded by the {ctx.origin.actor}")
    _tell_refusals(plan, refused, len(proposals))


def _changed(proposal: Proposal) -> str:
    """Which skill ``proposal`` is to change. Raises ``ToolError`` where it names none."""
    if wanted := proposal.skill or proposal.name:
        return wanted
    raise ToolError("a skill to change has no name", hint='Say which one: {"skill": "name or id", "description": …}.')


def named(plan: Plan, wanted: str) -> Skill:
    """The skill with this id or name. Raises ``ToolError`` from UnknownSkill that lists near names, AmbiguousSkill."""
    if wanted in plan.skills:
        return plan.skills[wanted]
    same = [skill for skill in plan.skills.values() if skill.name == wanted]
    if same:
        return only_one(wanted, same)
    near = get_close_matches(wanted, [skill.name for skill in plan.skills.values()], n=3)
    known = f"Near names: {', '.join(near)}." if near else "Look for one with find_skill, or `prowess skills list`."
    raise not_there(UnknownSkill(f"there is no skill {quote(wanted)}", hint=known))


async def adjusted(plan: Plan, ctx: Context, chosen: Sequence[Skill] = ()) -> None:
    """What experience says about skills that were used: better parameters, a version that does worse undone."""
    for skill in chosen or [used for used in changeable_of(plan) if used.use_count]:
        if ctx.origin.actor != "person" and not changeable(skill):
            plan.notes.append(f"skill {quote(skill.name)} was written or pinned by a person, so it stays as it is")
            continue
        if skill.trial_of is not None:
            continue  # one change at a time: the last one has to prove itself first
        uses = await ctx.store.uses(skill.id)
        versions = await versions_of(skill, ctx.store)
        before = _version_to_restore(skill, uses, versions)
        if before is not None:
            plan.add(
                "rollback", restored(skill, before.skill), f"version {skill.version} does worse than {before.version}"
            )
            continue
        episodes = list(dict.fromkeys(use.episode_id for use in uses))
        known = await _known_trajectories(episodes[-REPLAYED:], ctx)
        if skill.project not in ctx.private:
            known = [one for one in known if one.episode.project not in ctx.private]
        new = await _in_thread(adjust, skill, uses, known)
        if new is not None and not _taken_back(new, skill, versions):
            new = on_trial(new, skill, ctx) if new.steps != skill.steps else new
            plan.add("adjust", new, f"{counted(len(uses), 'use')}, {skill.success_rate:.0%} successful")


def on_trial(new: Skill, old: Skill, ctx: Context) -> Skill:
    """``new`` beside the active version that it would replace; a person's word needs no trial."""
    if old.status != "active" or ctx.origin.actor == "person" or new.status != "active":
        return new
    return replace(new, trial_of=old.version if old.trial_of is None else old.trial_of)


def changeable_of(plan: Plan) -> list[Skill]:
    """Skills that the machine may change: live, not pinned, not written by a person."""
    return [skill for skill in plan.skills.values() if skill.status in ("draft", "active") and changeable(skill)]


def _taken_back(new: Skill, skill: Skill, versions: Sequence[SkillVersion]) -> bool:
    """Whether the skill once had the steps of ``new`` and has others again: to try them anew would go on for ever."""
    had = (known.skill.steps for known in versions if known.version < skill.version)
    return new.steps != skill.steps and new.steps in had


def _version_to_restore(
    skill: Skill, uses: Sequence[SkillUse], versions: Sequence[SkillVersion]
) -> SkillVersion | None:
    """The last version that said something else, where it did better; what says the same is judged as one."""
    others = [known for known in versions if known.version < skill.version and not _same(known.skill, skill)]
    if not others:
        return None
    last = max(others, key=lambda version: version.version)
    now, then = _rate(uses, skill, versions), _rate(uses, last.skill, versions)
    return last if now is not None and then is not None and now <= then - WORSE else None


def _same(one: Skill, other: Skill) -> bool:
    return (one.steps, one.description) == (other.steps, other.description)


def _rate(uses: Sequence[SkillUse], said: Skill, versions: Sequence[SkillVersion]) -> float | None:
    alike = {said.version, *(known.version for known in versions if _same(known.skill, said))}
    successes = [use.success for use in uses if use.version in alike]
    return sum(successes) / len(successes) if len(successes) >= COMPARED_USES else None


def restored(skill: Skill, older: Skill) -> Skill:
    """The older version's content as a new version with the skill's own record."""
    return replace(with_record(older, skill), version=skill.version + 1)


async def composed(plan: Plan) -> None:
    """Skills that contain another one refer to it."""
    for new in await _in_thread(compose, list(plan.skills.values())):
        old = plan.skills[new.id]
        parts = [plan.skills[step.skill].name for step in new.steps if step.skill and step.skill in plan.skills]
        if old.steps != new.steps and old.trial_of is None:
            plan.add("compose", new, f"contains {', '.join(parts)}")


async def pruned(plan: Plan, scope: Scope, ctx: Context) -> None:
    """Archive what fails, and what nobody used in a month with activity."""
    now = datetime.now(UTC)
    days = await _active_days(scope, ctx, now)
    for key, reason in prune(list(plan.skills.values()), now, days, unused_days=ctx.unused_days).items():
        skill = plan.skills[key]
        versions = await versions_of(skill, ctx.store)
        # By the order in which they were heard of as well: its maker's clock may have been a year behind.
        known_from = min((known.updated_seq for known in versions), default=0)
        since = {day for day, seq in days.items() if seq > known_from}
        if prune([await _since_decided(skill, versions, ctx)], now, since, unused_days=ctx.unused_days):
            plan.add("prune", replace(skill, status="archived"), reason)


async def _since_decided(skill: Skill, versions: Sequence[SkillVersion], ctx: Context) -> Skill:
    """The skill with the record that it has since its status was last set: what was taken back begins anew."""
    if is_as_saved(skill, versions):
        return skill
    uses = [use.success for use in await ctx.store.uses(skill.id) if use.at >= skill.updated_at]
    rate = sum(uses) / len(uses) if uses else 1.0
    return replace(skill, use_count=len(uses), success_rate=rate, created_at=skill.updated_at)


async def _active_days(scope: Scope, ctx: Context, now: datetime) -> dict[str, int]:
    """The days of the last year on which an episode began, with the last event that tells of one."""
    since = format_time(now - timedelta(days=365))
    episodes = await ctx.store.episodes(EpisodeFilter(project=scope.filter, since=since), limit=ACTIVITY)
    days: dict[str, int] = {}
    for episode in episodes:
        day = episode.opened_at[:10]
        days[day] = max(episode.updated_seq, days.get(day, 0))
    return days


async def rolled_back(plan: Plan, wanted: Sequence[str], ctx: Context) -> None:
    """The version before, as a new version; an archived skill comes back as it was."""
    for name in wanted:
        skill = named(plan, name)
        if ctx.origin.actor != "person" and not changeable(skill):
            raise ToolError(
                f"skill {quote(skill.name)} was written or pinned by a person, so only a person rolls it back",
                hint=f"They do so with `prowess evolve rollback --skill {skill.id}`.",
            )
        if skill.status in ("archived", "retired"):
            plan.add("restore", replace(skill, status="draft"), "asked for")
            continue
        older = [version for version in await versions_of(skill, ctx.store) if version.version < skill.version]
        if not older:
            raise ToolError(
                f"skill {quote(skill.name)} has no version before {skill.version}", hint="Nothing was changed."
            )
        last = max(older, key=lambda version: version.version)
        plan.add("rollback", restored(skill, last.skill), f"back to version {last.version}, as asked")


async def _known_trajectories(episode_ids: Sequence[str], ctx: Context) -> list[Trajectory]:
    """Those that were not forgotten."""
    found: list[Trajectory] = []
    for episode_id in episode_ids:
        with suppress(UnknownEpisode):
            found += await ctx.store.trajectories([episode_id])
    return found


async def _in_thread(work: Callable[..., T], *args: Any, **options: Any) -> T:
    """What takes long where there are thousands of skills; the event loop belongs to other calls meanwhile."""
    return await anyio.to_thread.run_sync(partial(work, *args, **options))
