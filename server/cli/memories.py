"""``prowess memories``: what was kept from episodes, and a person's word on it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click
import msgspec

from prowess.server.cli.command import Failed, Run, command
from prowess.server.cli.exits import Exit
from prowess.server.cli.named import note_unknown
from prowess.server.cli.session import open_store, project_here
from prowess.server.cli.terminal import printed, table
from prowess.server.origins import PERSON, now

if TYPE_CHECKING:
    from prowess.storage.models import Memory

__all__ = ["change_of_privacy", "memories"]

_MARKS = {"private": "private", "superseded": "superseded_by"}
LISTED = "`prowess memories list` shows what is kept"


@click.group("memories")
def memories() -> None:
    """Look at what was kept from episodes, and add to it."""


def show_added(run: Run, told: dict[str, Any]) -> None:
    run.out.print(f"{told['change']} for {printed(told['project'])}")
    for older in told["superseded"]:
        run.out.print(f"  instead of: {printed(older)}")


@command("add", example="prowess memories add 'never push to main, open a PR'", show=show_added, group=memories)
@click.argument("rule")
@click.option("--project", help="For this project; else that of the folder you are in.")
async def add(run: Run, rule: str, project: str | None) -> dict[str, Any]:
    """Tell RULE to every agent that begins to work on the project.

    It is kept in your words. What it contradicts gives way to it, and what it allows again is told no more.
    """
    from prowess.learning.memories.lessons import SAID, rule_of
    from prowess.learning.memories.standing_rules import only_lifts
    from prowess.storage.events import MemorySaved
    from prowess.storage.models import not_before
    from prowess.tools.remembering import is_believed

    words, where = _words_of(rule), project_here(run, project)
    async with open_store(run, create=True) as store:
        found = await store.memories(project=where, kinds=("constraint",))
        held = {each.id: each for each in found if each.project == where and is_believed(each)}
        said = rule_of(words, project=where, at=not_before(max((each.at for each in found), default=""), now()))
        changed = _changed(held, said)
        fresh = [each.id for each in changed if each.id not in held]
        if await store.forgotten_memories(fresh):
            raise Failed("that rule was forgotten for good", hint="say it in other words")
        await store.append([MemorySaved(memory=each) for each in changed], origin=PERSON)
    given_up = [each.text.removeprefix(SAID) for each in changed if each.superseded_by]
    live = {key for key, each in held.items() if not each.superseded_by}
    if only_lifts(words) and not given_up and said.id not in live:
        raise Failed("no rule of the project is taken back by that", hint=LISTED, code=Exit.NOT_FOUND)
    kept = next((each.id for each in changed if not each.superseded_by), said.id)
    change = "kept already" if kept in live else "kept"
    return {"id": kept, "project": where, "change": change, "superseded": given_up}


def _words_of(rule: str) -> str:
    """``rule`` in one line and without secrets. Raises ``Failed`` where it is empty or too long."""
    from prowess.learning.redaction.masking import mask
    from prowess.tools.rules import LONGEST_RULE

    words = " ".join(mask(rule).split())
    if not any(map(str.isalnum, words)):
        raise Failed("the rule has no words", hint="say in words how work is to be done", code=Exit.USAGE)
    if len(words) > LONGEST_RULE:
        hint = f"say it in {LONGEST_RULE}, or as several rules"
        raise Failed(f"the rule has {len(words)} characters", hint=hint, code=Exit.USAGE)
    return words


def _changed(held: dict[str, Memory], said: Memory) -> list[Memory]:
    """What becomes of the rules that are held once there is another."""
    from prowess.learning.memories.joining import merged

    after = merged(held.values(), [said])
    return [each for key, each in after.items() if held.get(key) != each]


def show_list(run: Run, found: list[dict[str, Any]]) -> None:
    if not found:
        run.note("no memory fits; `prowess reflect --project NAME` keeps what a project's finished episodes teach")
        return
    rows = (
        (
            memory["id"],
            " ".join([memory["kind"], *(mark for mark, name in _MARKS.items() if memory[name])]),
            memory["project"],
            memory["trust"],
            memory["support"],
            memory["text"],
        )
        for memory in found
    )
    run.out.print(table(("ID", "KIND", "PROJECT", "TRUST", "SUPPORT", "TEXT"), rows))


@command("list", example="prowess memories list --project shop", show=show_list, group=memories)
@click.option("--limit", type=click.IntRange(1, 1_000_000), default=20, show_default=True, help="The newest ones.")
@click.option("--project", help="Only of this project, and those of all projects.")
async def list_(run: Run, limit: int, project: str | None) -> list[dict[str, Any]]:
    """List memories, the newest first. `prowess forget --memory ID` erases one."""
    async with open_store(run, looks=True) as store:
        found = await store.memories(project=project, limit=limit)
        await note_unknown(run, store, project)
        private = (await store.private()).memory_ids
    return [{**msgspec.to_builtins(memory), "private": memory.id in private} for memory in found]


def show_change(run: Run, change: dict[str, Any]) -> None:
    run.out.print(f"{printed(change['id'])}: {change['change']}")


@command(
    "private", example="prowess memories private 0192f3c4a1b27c3d9e4f5a6b7c8d9e0f", show=show_change, group=memories
)
@click.argument("memory_id", metavar="ID")
@click.option("--off", is_flag=True, help="Take the mark away, and tell the others of it as it is now.")
async def private(run: Run, memory_id: str, off: bool) -> dict[str, Any]:
    """Mark a memory as private: other machines are told of it no more.

    What was sent before stays with those who have it; `prowess forget --memory ID` erases it there, and here.
    """
    from prowess.storage.events import Event, MemorySaved, PrivacySet

    async with open_store(run) as store:
        found = await store.memories(ids=[memory_id])
        if not found:
            raise Failed(
                f"there is no memory {memory_id!r}",
                hint=f"{LISTED}, with ids; give the whole one",
                code=Exit.NOT_FOUND,
            )
        was = memory_id in (await store.private()).memory_ids
        events: list[Event] = [PrivacySet(at=now(), private=not off, memory_ids=(memory_id,))]
        if off and found[0].trust != "untrusted":  # else a stranger's would be told as one's own
            events.append(MemorySaved(memory=found[0]))
        if was == off:
            await store.append(events, origin=PERSON)
    return {"id": memory_id, "private": not off, "change": change_of_privacy(off=off, was=was)}


def change_of_privacy(*, off: bool, was: bool) -> str:
    """What was done, in words, or that there was nothing to do."""
    if was != off:
        return "is not private, as before" if off else "is private already"
    return "no longer private" if off else "private"
