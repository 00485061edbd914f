"""``prowess episodes``: what was recorded."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click
import msgspec

from prowess.learning.counting import counted
from prowess.server.cli.command import Run, command
from prowess.server.cli.named import note_unknown
from prowess.server.cli.session import open_store
from prowess.server.cli.terminal import Trimmed, beginning, printed, table
from prowess.server.cli.times import Time

if TYPE_CHECKING:
    from prowess.storage.models import Episode, Step
    from prowess.storage.store import Store

__all__ = ["episodes"]

WIDE = {
    "EPISODE": "episode_id",
    "TASK": "task_id",
    "PROJECT": "project",
    "STEPS": "step_count",
    "REWARD": "reward",
    "OUTCOME": "outcome",
    "BEGAN": "began_at",
}
NARROW = {"EPISODE": "episode_id", "STEPS": "step_count", "OUTCOME": "outcome"}
TASK_SHOWN = 60
SAID_SHOWN = 100


@click.group("episodes")
def episodes() -> None:
    """Look at what was recorded."""


def show_list(run: Run, found: list[dict[str, Any]]) -> None:
    if not found:
        run.note("no episode fits; agents bring them, and so does `prowess import`")
        return
    wide = _listed(found, WIDE)
    run.out.print(wide if wide.fits(run.out.width) else _listed(found, NARROW))


def _listed(found: list[dict[str, Any]], columns: dict[str, str]) -> Trimmed:
    """With what the task was in words, which say more to a person than the ids that clients give it."""
    rows = [[episode[name] for name in columns.values()] for episode in found]
    about = [beginning(episode["task"] or episode["task_id"], TASK_SHOWN) for episode in found]
    return table((*columns, "ABOUT"), [[*row, words] for row, words in zip(rows, about, strict=True)])


@command("list", example="prowess episodes list --outcome failure --limit 5", show=show_list, group=episodes)
@click.option("--limit", type=click.IntRange(1, 1_000_000), default=20, show_default=True, help="The newest ones.")
@click.option("--project", help="Only this project.")
@click.option("--task-id", help="Only attempts at this task.")
@click.option("--since", type=Time(), help="Only those opened from this time (ISO 8601 with a zone).")
@click.option("--outcome", type=click.Choice(("success", "failure", "unknown")), help="Only those that ended so.")
async def list_(run: Run, limit: int, **wanted: Any) -> list[dict[str, Any]]:
    """List episodes, the newest first; as JSON with their steps."""
    from prowess.storage.models import EpisodeFilter

    async with open_store(run, looks=True) as store:
        found = await store.episodes(EpisodeFilter(**wanted), limit=limit)
        if not found:
            await note_unknown(run, store, wanted["project"])
        return [await _told(store, episode, steps=run.json) for episode in found]


def show_one(run: Run, episode: dict[str, Any]) -> None:
    out = run.out
    for name in ("episode_id", "task_id", "attempt", "task", "project", "agent", "session", "began_at", "closed_at"):
        if episode.get(name):
            out.print(f"{name:<11}", printed(episode[name]))
    reward = "" if episode["reward"] is None else f"(reward {episode['reward']:g})"
    out.print(f"{'outcome':<11}", episode["outcome"], reward)
    for step in episode["steps"]:
        line = f"{step['number']:>4}  {printed(step['action'])} {_aside(step)}".rstrip()
        out.print(line, style=_STYLES.get(step["outcome"]))
    if missing := _missing(episode):
        out.print(missing, style="dim")
    for score in episode["rewards"]:
        where = f"step {score['step']}" if score.get("step") else "the episode"
        reason = f": {printed(score['reason'])}" if score["reason"] else ""
        out.print(f"reward {printed(score['value'])} for {where} by {score['source']}{reason}")


def _missing(episode: dict[str, Any]) -> str:
    """What to do about steps that lie on another machine, "" where all are here."""
    where = episode["elsewhere"]
    count = episode["step_count"] - where["raw"] if where else 0
    if count <= 0:
        return ""
    whose = f"{printed(where['person'])}'s machine" if where["person"] else "another machine"
    named = " ".join(filter(None, (whose, printed(where["machine"]))))
    return (
        f"of {counted(count, 'step')} there are summaries here; what went into them and what came back lies on {named}:"
        f" `prowess episodes show {episode['episode_id']}` there shows it, and with sync_raw set there,"
        " what is recorded from then on comes along whole"
    )


_STYLES = {"failure": "red", "success": "green"}


def _aside(step: dict[str, Any]) -> str:
    said = step.get("error") or step.get("observation") or ""
    return f"→ {printed(beginning(said, SAID_SHOWN))}" if said.strip() else ""


@command("show", example="prowess episodes show shop/17 --json", show=show_one, group=episodes)
@click.argument("episode_id")
async def show(run: Run, episode_id: str) -> dict[str, Any]:
    """Show one episode with its steps and rewards. EPISODE_ID may also be a task's id: its newest attempt."""
    async with open_store(run, looks=True) as store:
        episode = await _find(store, episode_id)
        told = await _told(store, episode, steps=True)
        rewards = [msgspec.to_builtins(reward) for reward in await store.rewards(episode.id)]
        where = msgspec.to_builtins(await store.elsewhere(episode.id))
    return {**told, "rewards": rewards, "elsewhere": where}


async def _find(store: Store, given: str) -> Episode:
    from prowess.storage.errors import UnknownEpisode
    from prowess.storage.models import EpisodeFilter

    try:
        return await store.episode(given)
    except UnknownEpisode as error:
        found = await store.episodes(EpisodeFilter(task_id=given), limit=1)
        if not found:
            said = f"no episode or task has the id {beginning(given, TASK_SHOWN)!r}"
            raise UnknownEpisode(said, hint="`prowess episodes list` shows those there are") from error
        return found[0]


async def _told(store: Store, episode: Episode, *, steps: bool) -> dict[str, Any]:
    values = msgspec.to_builtins(episode)
    told = {"episode_id": values.pop("id"), **values, "step_count": values.pop("steps")}
    del told["updated_seq"], told["steps"]
    found = await store.steps(episode.id)
    # What was imported was opened then, and done before.
    told["began_at"] = min((told["opened_at"], *(step.at for step in found)))
    if steps:
        told["steps"] = [_step(step) for step in found]
    return told


def _step(step: Step) -> dict[str, Any]:
    values = msgspec.to_builtins(step)
    del values["episode_id"]
    return {name: value for name, value in values.items() if value is not None}
