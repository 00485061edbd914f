"""``prowess memskill``: the memory skills in use, as Markdown that a person may read and edit."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import anyio.to_thread
import click
import msgspec

from prowess.learning.display import shown
from prowess.server.cli.command import Failed, PathGiven, Run, command
from prowess.server.cli.exits import Exit
from prowess.server.cli.files import text_of
from prowess.server.cli.session import open_store, settings
from prowess.server.cli.terminal import printed, table
from prowess.server.origins import PERSON, now
from prowess.storage.events import ControllerAdopted
from prowess.storage.models import Adopted

if TYPE_CHECKING:
    from prowess.learning.memskill import Bank
    from prowess.storage.store import Store

__all__ = ["memskill"]


@click.group("memskill")
def memskill() -> None:
    """Show and edit the memory skills that decide what is kept."""


_project = click.option("--project", default="", help="Of this project; without it, those for all projects.")


def show_bank(run: Run, told: dict[str, Any]) -> None:
    out = run.out
    if told["text"]:
        sys.stdout.write(shown(told["text"]) if sys.stdout.isatty() else told["text"])  # a file is edited and taken in
        return
    out.print(f"controller {told['controller'] or 'none'}, bank version {told['version']}, {told['state']}")
    fields = ("name", "action", "usage", "reward", "hand", "description")
    rows = ([{**each, "hand": "yes" if each["by_hand"] else ""}[field] for field in fields] for each in told["skills"])
    out.print(table(("NAME", "ACTION", "USES", "REWARD", "BY HAND", "DESCRIPTION"), rows))
    if told["others"]:
        out.print(f"Projects with their own (--project): {', '.join(map(printed, told['others']))}")


@command("show", example="prowess memskill show insert", show=show_bank, group=memskill)
@click.argument("name", required=False)
@_project
async def show(run: Run, name: str | None, project: str) -> dict[str, Any]:
    """List the memory skills, or show one as it is edited."""
    from prowess.learning.memskill import format_skill

    async with open_store(run, looks=True) as store:
        bank, used = await _bank(run, store, project)
        others = sorted({each.project for each in await store.adopted()} - {project, ""})
    if name is not None and bank.find(name) is None:
        raise _unknown(name, bank)
    found = bank.find(name) if name else None
    records = [(skill, bank.records[skill.name]) for skill in bank.skills]
    return {
        "project": project,
        "state": "in use" if used else "not in use",
        "controller": used.weights[:12] if used else "",
        "version": bank.version,
        "skills": [
            {
                **msgspec.to_builtins(skill),
                "usage": record.usage,
                "reward": record.reward,
                "by_hand": record.by_hand,
            }
            for skill, record in records
        ],
        "others": others,
        "text": format_skill(found) if found else "",
    }


def show_change(run: Run, told: dict[str, Any]) -> None:
    run.out.print(f"{printed(told['name'])}: {told['change']}")


@command("edit", example="prowess memskill edit insert --file insert.md", show=show_change, group=memskill)
@click.argument("name")
@click.option("--file", type=PathGiven(exists=True, path_type=Path), help="The new text; without it your editor opens.")
@_project
async def edit(run: Run, name: str, file: Path | None, project: str) -> dict[str, Any]:
    """Change a memory skill, or add one. The file is checked first; the version before is kept.

    Training begins with what you wrote, and never changes it.
    """
    from prowess.learning.memskill import format_skill, parse_skill

    async with open_store(run, looks=True) as store:
        bank, _ = await _bank(run, store, project)
    known = bank.find(name)
    before = format_skill(known) if known else _BLANK.format(name=name)
    # Nothing is open meanwhile: a person may take an hour, and agents need the store.
    text = await anyio.to_thread.run_sync(_new_text, run, file, before)
    if text == before:  # also where another one was adopted meanwhile: nobody asked to have this one back
        return {"name": name, "change": "nothing changed"}
    skill = parse_skill(text, f"{name}.md")
    if skill.name != name:
        raise Failed(f"the text names {skill.name!r}, not {name!r}", hint="to rename, remove and add")
    async with open_store(run) as store:
        bank, used = await _bank(run, store, project)  # training may have adopted another one since
        known = bank.find(name)
        if known is not None and msgspec.structs.replace(skill, version=known.version) == known:
            return {"name": name, "change": "nothing changed"}
        await _use(run, store, bank.edited(skill), used, project, f"{name} was edited")
    return {"name": name, "change": "changed; in use from the next finished episode on, and left alone by training"}


@command("remove", example="prowess memskill remove keep-dates", show=show_change, group=memskill)
@click.argument("name")
@_project
async def remove(run: Run, name: str, project: str) -> dict[str, Any]:
    """Take a memory skill out of use; its last version is kept. Training does not bring it back."""
    async with open_store(run) as store:
        bank, used = await _bank(run, store, project)
        if bank.find(name) is None:
            raise _unknown(name, bank)
        if len(bank.skills) == 1:
            raise Failed("this is the last memory skill", hint="`prowess memskill reset` brings the first four back")
        await _use(run, store, bank.withdrawn(name), used, project, f"{name} was removed")
    return {"name": name, "change": "removed"}


@command("reset", example="prowess memskill reset", show=show_change, group=memskill)
@_project
async def reset(run: Run, project: str) -> dict[str, Any]:
    """Go back to the four initial memory skills and no controller.

    For each span the rules update and insert are applied then, in this order.
    """
    from prowess.learning.memskill import Bank

    async with open_store(run) as store:
        await _use(run, store, Bank.initial(), None, project, "reset")
    return {"name": "all", "change": "the four initial memory skills, without a controller"}


_BLANK = """---
name: {name}
description: What it keeps, in a line.
action: insert
---

## Instruction

Keep what tells of …
"""


def _new_text(run: Run, file: Path | None, before: str) -> str:
    if file is not None:
        return text_of(file)
    if run.json or not sys.stdin.isatty():
        raise Failed("there is no terminal for an editor", hint="send the new text with --file", code=Exit.USAGE)
    text = click.edit(before, extension=".md")
    return before if text is None else text


async def _bank(run: Run, store: Store, project: str) -> tuple[Bank, Adopted | None]:
    """The bank in use for ``project``, or the initial one."""
    from prowess.learning.memskill import Bank
    from prowess.server.memskill_files import load_bank

    adopted = {each.project: each for each in await store.adopted()}
    used = adopted.get(project) or adopted.get("")
    if used is None:
        return Bank.initial(), None
    return await anyio.to_thread.run_sync(load_bank, settings(run).home, used.bank), used


async def _use(run: Run, store: Store, bank: Bank, used: Adopted | None, project: str, reason: str) -> None:
    """From now on ``bank``, with the controller that was in use: it knows a skill by its text."""
    from prowess.server.memskill_files import keep_bank

    key = await anyio.to_thread.run_sync(keep_bank, settings(run).home, bank)
    names = tuple(skill.name for skill in bank.skills)
    changed = {"project": project, "at": now(), "bank": key, "skills": names, "reason": reason}
    kept = msgspec.structs.asdict(used) if used else {}
    await store.append([ControllerAdopted(**{**kept, **changed})], origin=PERSON)


def _unknown(name: str, bank: Bank) -> Failed:
    known = ", ".join(skill.name for skill in bank.skills)
    return Failed(f"there is no memory skill {name!r}", hint=f"there are: {known}", code=Exit.NOT_FOUND)
