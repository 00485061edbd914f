"""``prowess skills export``: skills as files, for people and for agents."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from prowess.learning.counting import counted
from prowess.server.cli.command import Failed, PathGiven, Run, command
from prowess.server.cli.exits import Exit
from prowess.server.cli.named import named, note_unknown
from prowess.server.cli.session import open_store, project_here

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Sequence

    from prowess.server.skills.files import Written
    from prowess.server.skills.hosts import Exported, Host, Scope
    from prowess.storage.models import Skill, SkillStatus
    from prowess.storage.store import Store

__all__ = ["STATUSES", "export"]

STATUSES = ("draft", "active", "retired", "archived")


def show_export(run: Run, result: dict[str, Any]) -> None:
    for item in result["files"]:
        would = "would be " if result.get("dry_run") and item["state"] in ("written", "removed") else ""
        run.out.print(f"{would}{item['state']}", item["path"])
    if not result["files"]:
        run.out.print("nothing is there of this store" if result.get("remove") else "nothing written: no skill fits")


@command("export", example="prowess skills export --to claude --scope project", show=show_export)
@click.argument("path", type=PathGiven(path_type=Path), required=False)
@click.option("--to", metavar="claude|codex|cursor|DIR", help="The folder in which this agent looks for skills.")
@click.option("--scope", type=click.Choice(("user", "project")), default="user", help="--to: whose folder (user).")
@click.option("--dry-run", is_flag=True, help="--to: show what would be written and removed.")
@click.option("--remove", is_flag=True, help="--to: take out what was exported there, and write nothing.")
@click.option("--skill", "names", multiple=True, help="Only this one, by name or id; may be repeated.")
@click.option("--project", help="Only of this project, and those of all projects.")
@click.option("--status", "statuses", multiple=True, type=click.Choice(STATUSES), help="May be repeated.")
@click.option("--format", "form", type=click.Choice(("folders", "json")), default="folders", show_default=True)
async def export(
    run: Run,
    path: Path | None,
    to: str | None,
    scope: Scope,
    dry_run: bool,
    remove: bool,
    names: tuple[str, ...],
    project: str | None,
    statuses: tuple[SkillStatus, ...],
    form: str,
) -> dict[str, Any]:
    """Write skills to Agent Skills folders or a JSON file.

    PATH gets one folder per skill (NAME/SKILL.md), or is the new JSON file. With --to an agent's own folder gets the
    active skills, best first, as many as the agent lists: with scope user those of all projects, with scope project
    those of the project around the working directory. Ours that are no longer active are removed from it. A file that a
    person wrote or edited is never overwritten or removed: it is told as kept, with exit code 1.
    """
    if (path is None) == (not to):
        raise Failed("give either PATH or --to", hint="see `prowess skills export --help`", code=Exit.USAGE)
    if path is not None:
        if remove:
            raise Failed("--remove wants --to", hint="delete the files in PATH yourself", code=Exit.USAGE)
        return await _to_path(run, path, names, project, statuses, form)
    if names or statuses or form == "json":
        message = "--to takes the active skills: leave --skill, --status and --format away"
        raise Failed(message, hint="export to a PATH to choose them yourself", code=Exit.USAGE)
    return await _to_agent(run, str(to), scope, project, dry_run=dry_run, remove=remove)


async def _to_path(
    run: Run,
    path: Path,
    names: tuple[str, ...],
    project: str | None,
    statuses: tuple[SkillStatus, ...],
    form: str,
) -> dict[str, Any]:
    from prowess.server.skills.files import write_folders, write_json

    async with open_store(run, looks=True) as store:
        await note_unknown(run, store, project)
        known = await store.skills(project=None, statuses=None)
        chosen = await _chosen(store, names, project, statuses)
    if form == "json":
        write_json(chosen, path)
        return {"skills": len(chosen), "files": [{"path": str(path), "state": "written"}]}
    return _told(run, write_folders(chosen, path, {skill.id: skill.name for skill in known}))


async def _chosen(
    store: Store, names: tuple[str, ...], project: str | None, statuses: tuple[SkillStatus, ...]
) -> Sequence[Skill]:
    if names:
        found = [await named(store, name, project) for name in names]
        return list({skill.id: skill for skill in found}.values())
    return await store.skills(project=project, statuses=statuses or ("draft", "active"))


async def _to_agent(
    run: Run, to: str, scope: Scope, project: str | None, *, dry_run: bool, remove: bool
) -> dict[str, Any]:
    from prowess.learning.lift import lifts
    from prowess.server.skills.hosts import HOSTS, LISTING, best_first, export_skills
    from prowess.tools.lifting import QUESTIONS

    host = HOSTS.get("claude" if to == "claude-code" else to)  # as the other commands call it
    folder = _folder(host, scope) if host else Path(to)
    async with open_store(run, looks=True) as store:
        await note_unknown(run, store, project)
        known = {skill.id: skill for skill in await store.skills(project=None, statuses=None)}
        trials = await store.trials(limit=QUESTIONS)
    uplifts = {key: lift.uplift for key, lift in lifts(trials).items()}
    chosen = [] if remove else _active(run, known.values(), host, scope, project)
    room = LISTING - (host.own if host else 0)
    told = _told(run, export_skills(best_first(chosen, uplifts), known, folder, room, dry_run=dry_run))
    return {**told, **({"dry_run": True} if dry_run else {}), **({"remove": True} if remove else {})}


def _active(run: Run, known: Collection[Skill], host: Host | None, scope: Scope, project: str | None) -> list[Skill]:
    """The active skills that are meant; what else there is, is told."""
    projects = _projects(run, host, scope, project)

    def meant(skills: Iterable[Skill]) -> list[Skill]:
        return [skill for skill in skills if projects is None or skill.project in projects]

    able = [skill for skill in known if skill.status == "active" and skill.trust != "untrusted"]
    chosen = meant(able)
    if host and scope == "user" and (elsewhere := len(able) - len(chosen)):
        run.note(f"{elsewhere} more belong to projects: export them there with --scope project")
    if not chosen and (drafts := len(meant(skill for skill in known if skill.status == "draft"))):
        run.note(
            f"{counted(drafts, 'draft')} must prove themselves first; `prowess skills restore NAME` makes one active"
        )
    return chosen


def _folder(host: Host, scope: Scope) -> Path:
    from prowess.server.repository import top
    from prowess.server.shim.places import user_folder
    from prowess.server.skills.hosts import host_folder

    return host_folder(host, scope, Path(user_folder()), top(Path.cwd()), os.environ)


def _projects(run: Run, host: Host | None, scope: Scope, project: str | None) -> set[str] | None:
    """Whose skills are meant; None for those of all. Raises Failed where there is no project."""
    if host is None:
        return None if project is None else {"", project}
    if scope == "user":
        return {"", project or ""}
    return {project_here(run, project)}


def _told(run: Run, written: Sequence[Written | Exported]) -> dict[str, Any]:
    files = [{"skill": item.skill, "path": str(item.path), "state": item.state} for item in written]
    if kept := sum(item.state == "kept" for item in written):
        files_kept = counted(kept, "file was", "files were")
        run.note(f"{files_kept} written or edited by a person and kept; export to another folder")
        run.code = Exit.FAILED
    return {"skills": len(files), "files": files}
