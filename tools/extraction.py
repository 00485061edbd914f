"""Skills that the language model extracts from single successes that no skill covers: what mining cannot see yet.

What it proposes passes the same gates as an agent's wording and must replay on the episode that it came from. Nothing
that goes wrong fails the call; it is told in the plan's notes.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import TYPE_CHECKING

import anyio.to_thread
from msgspec.structs import replace

from prowess.learning.synthesis.calls import calls_of
from prowess.learning.synthesis.drafts import identify, replays
from prowess.providers.errors import BadAnswer, ProviderError
from prowess.storage.errors import UnknownEpisode
from prowess.storage.models import Episode, EpisodeFilter, Skill, Trajectory
from prowess.tools.changes import Plan
from prowess.tools.context import Context
from prowess.tools.errors import ToolError, on_one_line
from prowess.tools.proposals import admit, check
from prowess.tools.skills import flat_steps, same_tools
from prowess.tools.text import quote

if TYPE_CHECKING:
    from prowess.providers.language import Extracted, LanguageModel

__all__ = ["EXTRACTED", "extracted"]

EXTRACTED = 3  # episodes that the model is asked about in one call: each costs money and seconds
LOOKED_AT = 50  # newest closed successes among which they are sought


async def extracted(plan: Plan, model: LanguageModel, project: str, ctx: Context) -> None:
    """Plan drafts from the newest closed successes that no skill of ``plan`` covers."""
    without = () if project else ctx.private
    wanted = EpisodeFilter(project=project or None, without=without, outcome="success", closed=True, trusted=True)
    asked = 0
    for episode in await ctx.store.episodes(wanted, limit=LOOKED_AT):
        if asked == EXTRACTED:
            return
        trajectory = await _uncovered(episode, plan, ctx)
        if trajectory is None:
            continue
        asked += 1
        if not await _learned(plan, trajectory, model, project, ctx):
            return


async def _uncovered(episode: Episode, plan: Plan, ctx: Context) -> Trajectory | None:
    """The episode with its steps, where it has arguments to learn from and no skill, archived or not, covers it."""
    if any(episode.id in skill.episodes for skill in plan.skills.values()):
        return None
    try:
        (trajectory,) = await ctx.store.trajectories([episode.id])
    except UnknownEpisode:  # forgotten meanwhile
        return None
    return None if await anyio.to_thread.run_sync(_covered, trajectory, plan.skills) else trajectory


def _covered(trajectory: Trajectory, skills: Mapping[str, Skill]) -> bool:
    """Also an episode whose calls have no arguments, or not here: there is nothing to generalise."""
    flat = (replace(skill, steps=flat_steps(skill, skills)) for skill in skills.values())
    return not any(call.args for call in calls_of(trajectory)) or any(replays(skill, trajectory) for skill in flat)


async def _learned(plan: Plan, trajectory: Trajectory, model: LanguageModel, project: str, ctx: Context) -> bool:
    """Plan a draft from one episode, or note why there is none; False where asking on is of no use."""
    episode = trajectory.episode
    try:
        answer = await model.extract_skill(episode.task or episode.task_id, trajectory)
        draft = _draft(answer, plan, project or episode.project, ctx)
        admit(draft, plan.skills)
        shown = await check(draft, plan.skills, [trajectory])
    except (ToolError, BadAnswer) as error:
        plan.notes.append(f"no skill was extracted from task {quote(episode.task_id)}: {error}")
        return True
    except ProviderError as error:
        plan.notes.append(f"the language model did not help, so no more skills were extracted: {on_one_line(error)}")
        return False
    plan.add(
        "create",
        replace(draft, episodes=shown, support=len(shown)),
        "extracted by the language model; happened in 1 successful episode",
    )
    return True


def _draft(answer: Extracted, plan: Plan, project: str, ctx: Context) -> Skill:
    """Raises ``ToolError`` where a live skill has this name and these tools: a number behind it makes no new one."""
    draft = Skill(
        id=identify(answer.steps, project),
        name=answer.name,
        description=answer.description,
        steps=answer.steps,
        parameters=answer.parameters,
        project=project,
        author="machine",
        trust=ctx.origin.trust,
    )
    for skill in plan.skills.values():
        live = skill.name == answer.name and skill.status in ("draft", "active")
        if live and same_tools(skill, draft, plan.skills):
            raise ToolError(
                f"skill {quote(skill.name)} calls the same tools in the same order", hint="It is kept as it is."
            )
    return replace(draft, name=_free(answer.name, {skill.name for skill in plan.skills.values()}))


def _free(name: str, taken: Collection[str]) -> str:
    """``name``, or with the first number that makes it free: an answer that was paid for is not lost to its name."""
    number, free = 2, name
    while free in taken:
        free, number = f"{name}-{number}", number + 1
    return free
