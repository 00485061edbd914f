"""What a recorded task was worth: evidence from its steps, the user and the repository, and the skills that helped."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import anyio.to_thread
from msgspec.structs import replace

from prowess.learning.synthesis.replay import replays
from prowess.server.capture.gitlog import committed_in
from prowess.server.capture.rules import keep_rules
from prowess.server.capture.sessions import ClientSession
from prowess.server.origins import now
from prowess.server.transcripts.evidence import news
from prowess.storage.errors import StoreDamaged, UnknownEpisode
from prowess.storage.models import NewUse, Origin
from prowess.tools.skills import flat_steps, known_parts

if TYPE_CHECKING:
    from collections.abc import Sequence

    from prowess.server.capture.recorded import Recorded
    from prowess.server.runtime import Runtime
    from prowess.storage.models import Episode, Skill

__all__ = ["conclude"]

MAX_EXPOSURES = 200


async def conclude(session: ClientSession, recorded: Recorded, runtime: Runtime, *, final: bool) -> None:
    """Tell what is new of the evidence for the task at work, and close its episode if ``final``.

    What was told before is not told again, so this can be repeated at any time. Raises the store's errors.
    """
    where, store = session.where(), runtime.store
    if not await recorded.catch_up(where, store):
        return
    evidence = await _evidence(session, recorded)
    if evidence == recorded.told and not final:
        return
    told = {reward.source: reward.value for reward in await store.rewards(recorded.episode) if reward.step is None}
    fresh = news(evidence, told, final=final)
    origin = Origin(machine=runtime.machine, client=session.client, session=session.id)
    try:
        if fresh:
            await store.score(where, fresh, origin=origin)
        if final:
            await _finish(session, recorded.episode, runtime, origin)
    except UnknownEpisode:
        return  # forgotten meanwhile, and it stays so
    recorded.told = evidence


async def _finish(session: ClientSession, episode_id: str, runtime: Runtime, origin: Origin) -> None:
    """Close the episode, which a client's end of its session may have done before the session was resumed."""
    where, store = session.where(), runtime.store
    episode = await store.episode(episode_id)
    uses = await _uses(session, episode, runtime)
    if uses or not episode.closed_at or episode.task != where.task:
        await store.score(where, [], uses=uses, final=True, origin=origin)
    if not session.task_id.endswith(":start"):  # before anything was typed
        again = bool(episode.closed_at)
        episode = await store.episode(episode_id)
        await keep_rules(episode, runtime, at=now() if again else episode.closed_at or now())


async def _evidence(session: ClientSession, recorded: Recorded) -> dict[str, Any]:
    evidence = recorded.findings.evidence(session.reactions)
    if "commit" not in evidence and session.cwd:
        folders = [Path(folder) for folder in (session.cwd, *session.folders)]
        found = await anyio.to_thread.run_sync(committed_in, folders, session.since)
        evidence |= {"commit": found} if found else {}
    return evidence


# ---- skills that were shown


async def _uses(session: ClientSession, episode: Episode, runtime: Runtime) -> Sequence[NewUse]:
    """Skills that were shown for the task and whose steps were followed in it, unless the agent reported them."""
    if episode.outcome == "unknown":
        return []
    store = runtime.store
    shown = await _shown(session, runtime)
    reported = {use.skill_id for use in await store.uses(episode_id=episode.id)}
    skills = [skill for key, skill in (await store.skills_by_id(list(shown))).items() if key not in reported]
    parts = await known_parts(skills, store)
    flat = [_flat(skill, parts) for skill in skills]
    if not flat:
        return []
    try:
        (trajectory,) = await store.trajectories([episode.id])
    except StoreDamaged:
        if store.damage:
            raise  # the log is opened anew, and may be read then
        return []  # a step cannot be read, now or later: nobody can tell what was followed
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
