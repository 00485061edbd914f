"""What a recorded task was worth: evidence from its steps, the user and the repository, and the skills that helped."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import anyio.to_thread
from msgspec.structs import replace

from prowess.learning.synthesis_replay import replays
from prowess.server.capture.gitlog import committed_since
from prowess.server.capture.sessions import ClientSession
from prowess.server.transcripts.evidence import command_of, evidence_of, news
from prowess.server.transcripts.model import Call, Task
from prowess.storage.errors import UnknownEpisode
from prowess.storage.models import NewUse, Origin, Trajectory
from prowess.tools.skills import flat_steps, known_parts

if TYPE_CHECKING:
    from collections.abc import Sequence

    from prowess.server.runtime import Runtime
    from prowess.storage.models import Episode, Skill, Step

__all__ = ["conclude"]

MAX_EXPOSURES = 200


async def conclude(session: ClientSession, runtime: Runtime, *, final: bool) -> None:
    """Tell what is new of the evidence for the task at work, and close its episode if ``final``.

    What was told before is not told again, so this can be repeated at any time. Raises the store's errors.
    """
    where, store = session.where(), runtime.store
    episode = await store.find_episode(where)
    if episode is None or episode.session != session.id:
        return
    (trajectory,) = await store.trajectories([episode.id])
    evidence = await _evidence(session, trajectory)
    told = {reward.source: reward.value for reward in await store.rewards(episode.id) if reward.step is None}
    fresh = news(evidence, told, final=final)
    closes = final and not episode.closed_at
    origin = Origin(machine=runtime.machine, client=session.client, session=session.id)
    try:
        if fresh:
            scored = await store.score(where, fresh, origin=origin)
            episode = await store.episode(scored.episode_id)
        if closes:
            uses = await _uses(session, episode, trajectory, runtime)
            await store.score(where, [], uses=uses, final=True, origin=origin)
    except UnknownEpisode:
        return  # forgotten meanwhile, and it stays so


async def _evidence(session: ClientSession, trajectory: Trajectory) -> dict[str, Any]:
    calls = [_call(step) for step in trajectory.steps]
    evidence = evidence_of(Task(session.task_id, reactions=session.reactions, calls=calls))
    if "commit" not in evidence and session.cwd:
        found = await anyio.to_thread.run_sync(committed_since, Path(session.cwd), session.since)
        evidence |= {"commit": found} if found else {}
    return evidence


def _call(step: Step) -> Call:
    """The step as a transcript would have it."""
    call = Call("", step.tool or step.action, step.args or {}, step.at, observation=step.observation or "")
    call.is_error = step.outcome == "failure" or None
    if step.outcome == "success" and command_of(call):
        call.exit_code = 0
    return call


# ---- skills that were shown


async def _uses(session: ClientSession, episode: Episode, trajectory: Trajectory, runtime: Runtime) -> Sequence[NewUse]:
    """Skills that were shown for the task and whose steps were followed in it, unless the agent reported them."""
    if episode.outcome == "unknown":
        return []
    store = runtime.store
    shown = await _shown(session, runtime)
    reported = {use.skill_id for use in await store.uses(episode_id=episode.id)}
    skills = [skill for key, skill in (await store.skills_by_id(list(shown))).items() if key not in reported]
    parts = await known_parts(skills, store)
    flat = [_flat(skill, parts) for skill in skills]
    followed = await anyio.to_thread.run_sync(lambda: [skill for skill in flat if replays(skill, trajectory)])
    success = episode.outcome == "success"
    return [NewUse(skill_id=skill.id, version=shown[skill.id], success=success) for skill in followed]


async def _shown(session: ClientSession, runtime: Runtime) -> dict[str, int]:
    """The version of each skill that was shown for the task, the newest."""
    exposures = await runtime.store.exposures(project=session.project, since=session.since, limit=MAX_EXPOSURES)
    names = {session.task_id, session.alias, *session.bound}
    mine = [exposure for exposure in exposures if exposure.task_id in names]
    return {item.skill_id: item.version for exposure in reversed(mine) for item in exposure.skills if item.shown}


def _flat(skill: Skill, parts: dict[str, Skill]) -> Skill:
    return replace(skill, steps=flat_steps(skill, parts))
