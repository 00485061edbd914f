"""``prowess skills``: what was learned, and a person's word on it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
import msgspec
from msgspec.structs import replace

from prowess.learning.counting import counted
from prowess.server.cli.command import PathGiven, Run, command
from prowess.server.cli.exits import Exit
from prowess.server.cli.memories import change_of_privacy
from prowess.server.cli.named import named, note_unknown
from prowess.server.cli.session import open_store
from prowess.server.cli.skills_export import STATUSES, export
from prowess.server.cli.terminal import beginning, printed, table
from prowess.server.origins import PERSON, now

if TYPE_CHECKING:
    from collections.abc import Sequence

    from prowess.storage.events import Event
    from prowess.storage.models import Skill, SkillStatus
    from prowess.storage.store import Store

__all__ = ["skills"]

UNTRUSTED = "from another person, or imported without --trust"


_skill = click.argument("skill")
_whose = click.option("--project", help="Where skills of several projects have this name.")
_reason = click.option("--reason", default="", help="Why; kept with the change.")


@click.group("skills")
def skills() -> None:
    """Look at what was learned; keep and carry it."""


def show_list(run: Run, found: list[dict[str, Any]]) -> None:
    if not found:
        run.note("no skill fits; `prowess evolve` makes them of what worked")
        return
    headings = ("NAME", "STATUS", "USES", "SUCCESS", "SUPPORT", "PROJECT", "DESCRIPTION")
    rows = (
        (
            skill["name"],
            " ".join([skill["status"], *_marks(skill)]),
            skill["use_count"],
            f"{skill['success_rate']:.0%}" if skill["use_count"] else None,
            skill["support"],
            skill["project"],
            beginning(skill["description"], 100),
        )
        for skill in found
    )
    run.out.print(table(headings, rows))
    if waiting := sum(skill["awaits_acceptance"] for skill in found):
        run.note(f"{counted(waiting, 'draft')} marked untrusted: {UNTRUSTED}; `prowess skills show ID` says what to do")


def _marks(skill: dict[str, Any]) -> list[str]:
    told = {"untrusted": skill["awaits_acceptance"], "pinned": skill["pinned"], "private": skill["private"]}
    return [mark for mark, here in told.items() if here]


def _told(skill: Skill, private: bool) -> dict[str, Any]:
    """A skill as the commands show it. ``awaits_acceptance``: a person's word has to make it active."""
    waits = skill.status == "draft" and skill.trust == "untrusted"
    return {**msgspec.to_builtins(skill), "private": private, "awaits_acceptance": waits}


@command("list", example="prowess skills list --status active", show=show_list, group=skills)
@click.option("--project", help="Only of this project, and those of all projects.")
@click.option("--status", "statuses", multiple=True, type=click.Choice(STATUSES), help="May be repeated.")
async def list_(run: Run, project: str | None, statuses: tuple[SkillStatus, ...]) -> list[dict[str, Any]]:
    """List skills of any status.

    Drafts that came from somebody who is not trusted are marked as untrusted (`awaits_acceptance` with --json).
    """
    async with open_store(run, looks=True) as store:
        found = await store.skills(project=project, statuses=statuses or None)
        await note_unknown(run, store, project)
        private = (await store.private()).skill_ids
    return [_told(skill, skill.id in private) for skill in found]


def show_one(run: Run, skill: dict[str, Any]) -> None:
    out = run.out
    uses = skill["use_count"]
    rate = f", {skill['success_rate']:.0%} of {counted(uses, 'use')} succeeded" if uses else ", not used yet"
    out.print(f"{printed(skill['name'])} (version {skill['version']}, {skill['status']}{rate})", style="bold")
    out.print("id", skill["id"], style="dim")
    if skill["private"]:
        out.print("private: no other machine is told of it", style="dim")
    if skill["awaits_acceptance"]:
        out.print(f"untrusted: {UNTRUSTED}. It becomes active by your word alone:", style="yellow")
        out.print(f"  read it, then `prowess skills restore {skill['id']}` accepts it, or `archive` puts it away")
    out.print(printed(skill["description"]))
    for item in skill["parameters"]:
        out.print(f"  {{{printed(item['name'])}}} {item['type']} {printed(item['description'])}".rstrip())
    for number, step in enumerate(skill["steps"], 1):
        out.print(f"{number:>4}  {printed(_step(step))}")
    if skill["expanded"]:
        out.print("with what it refers to:", style="dim")
    for number, step in enumerate(skill["expanded"], 1):
        out.print(f"{number:>4}  {printed(_step(step))}")
    for version in skill["versions"]:
        reason = f", {printed(version['reason'])}" if version["reason"] else ""
        whose = ", untrusted" if _is_strangers(version) else ""
        out.print(f"version {version['version']}: {printed(version['change'])}{whose}{reason}", style="dim")


def _is_strangers(version: dict[str, Any]) -> bool:
    skill = version["skill"]
    return (skill["status"], skill["trust"]) == ("draft", "untrusted")


def _step(step: dict[str, Any]) -> str:
    args = json.dumps(step["args_template"], ensure_ascii=False) if step.get("args_template") else ""
    what = f"skill {step['skill']}" if step.get("skill") else step.get("tool", "")
    return " ".join(part for part in (what, args, step.get("note")) if part)


@command("show", example="prowess skills show return_items", show=show_one, group=skills)
@_skill
@_whose
async def show(run: Run, skill: str, project: str | None) -> dict[str, Any]:
    """Show the skill of this name or id, with its versions."""
    async with open_store(run, looks=True) as store:
        found = await named(store, skill, project)
        versions = await store.versions(found.id)
        private = found.id in (await store.private()).skill_ids
        whole = await _whole(found, store)
    return {**_told(found, private), "expanded": whole, "versions": msgspec.to_builtins(versions)}


async def _whole(skill: Skill, store: Store) -> list[dict[str, Any]]:
    """Its steps with those of the skills that it refers to; none where it refers to none."""
    from prowess.tools.skills import flat_steps, known_parts

    if not any(step.skill for step in skill.steps):
        return []
    return [msgspec.to_builtins(step) for step in flat_steps(skill, await known_parts([skill], store))]


def show_change(run: Run, change: dict[str, Any]) -> None:
    run.out.print(f"{printed(change['name'])}: {change['change']}")


@command("pin", example="prowess skills pin return_items", show=show_change, group=skills)
@_skill
@_whose
@click.option("--off", is_flag=True, help="Take the pin away.")
async def pin(run: Run, skill: str, project: str | None, off: bool) -> dict[str, Any]:
    """Pin a skill: the machine never changes, withholds or prunes it."""
    from prowess.storage.events import SkillPinned

    async with open_store(run) as store:
        found = await named(store, skill, project)
        await _decide(store, [SkillPinned(skill_id=found.id, pinned=not off, at=now())])
    return {"id": found.id, "name": found.name, "change": "no longer pinned" if off else "pinned"}


@command("private", example="prowess skills private return_items", show=show_change, group=skills)
@_skill
@_whose
@click.option("--off", is_flag=True, help="Take the mark away, and tell the others of it as it is now.")
async def private(run: Run, skill: str, project: str | None, off: bool) -> dict[str, Any]:
    """Mark a skill as private: other machines are told of it no more.

    Neither are its versions, its uses and what was answered with it, nor skills that contain it. What was sent before
    stays with those who have it; `prowess forget --skill ID` erases it there, and here. The mark outlives that.
    """
    from prowess.storage.events import PrivacySet

    async with open_store(run) as store:
        found = await named(store, skill, project)
        was = found.id in (await store.private()).skill_ids
        events: list[Event] = [PrivacySet(at=now(), private=not off, skill_ids=(found.id,))]
        if off and found.trust != "untrusted":  # else a stranger's draft would be told as one's own
            events.append(_told_anew(found))
        if was == off:
            await _decide(store, events)
    change = change_of_privacy(off=off, was=was)
    return {"id": found.id, "name": found.name, "private": not off, "change": change}


def _told_anew(skill: Skill) -> Event:
    """As it is now, for those who were told nothing of it while it was private."""
    from prowess.storage.events import SkillSaved

    again = replace(skill, version=skill.version + 1, updated_at=now())
    return SkillSaved(skill=again, change="share", reason="no longer private")


@command("archive", example="prowess skills archive return_items --reason outdated", show=show_change, group=skills)
@_skill
@_whose
@_reason
async def archive(run: Run, skill: str, project: str | None, reason: str) -> dict[str, Any]:
    """Archive a skill: it is no longer found, and can be restored."""
    return await _set_status(run, skill, project, "archived", reason)


@command("restore", example="prowess skills restore return_items", show=show_change, group=skills)
@_skill
@_whose
@_reason
async def restore(run: Run, skill: str, project: str | None, reason: str) -> dict[str, Any]:
    """Make an archived or retired skill active, or accept a draft."""
    return await _set_status(run, skill, project, "active", reason)


async def _set_status(run: Run, name: str, project: str | None, status: SkillStatus, reason: str) -> dict[str, Any]:
    from prowess.storage.events import SkillStatusSet

    async with open_store(run) as store:
        found = await named(store, name, project)
        event: Event = SkillStatusSet(skill_id=found.id, status=status, at=now(), reason=reason)
        if found.status != status:
            if status == "active" and found.trust == "untrusted":
                event = await _accepted(found, reason, store)
            await _decide(store, [event])
    change = f"{found.status} → {status}" if found.status != status else f"is {status} already"
    return {"id": found.id, "name": found.name, "before": found.status, "after": status, "change": change}


async def _accepted(skill: Skill, reason: str, store: Store) -> Event:
    """The text that the person saw, as a version of their own: a stranger may send another one at any time.

    Raises InvalidInput where a skill that it refers to is not here.
    """
    from prowess.storage.events import SkillSaved
    from prowess.tools.skills import known_parts, pinned_down

    whole = pinned_down(skill, await known_parts([skill], store))
    accepted = replace(whole, status="active", version=skill.version + 1, updated_at=now())
    return SkillSaved(skill=accepted, change="restore", reason=reason)


async def _decide(store: Store, events: Sequence[Event]) -> None:
    await store.append(events, origin=PERSON)


skills.add_command(export)


def show_import(run: Run, result: dict[str, Any]) -> None:
    for item in result["skills"]:
        reason, _, hint = item["reason"].partition("\nhint: ")
        run.out.print(f"{item['state']} {printed(item['name'])} {printed(reason)}".rstrip())
        if hint:
            run.note(f"hint: {printed(hint)}")


@command("import", example="prowess skills import ./skills/return-items --trust", show=show_import, group=skills)
@click.argument("path", type=PathGiven(exists=True, path_type=Path))
@click.option("--trust", is_flag=True, help="They are yours, or you have read them: keep their status.")
async def import_(run: Run, path: Path, trust: bool) -> dict[str, Any]:
    """Take in skills from such files.

    PATH is a SKILL.md, its folder, a folder of such folders, or a JSON export. Without --trust they arrive as untrusted
    drafts. A skill of the store that a person wrote or pinned is changed only by a file that a person edited.
    """
    from prowess.server.skills.importing import import_skills

    async with open_store(run, create=True) as store:
        result = await import_skills(store, path, origin=PERSON, trust=trust)
    if any(item.state == "refused" for item in result):
        run.code = Exit.FAILED
    return {"skills": [msgspec.to_builtins(item) for item in result]}
