"""What ``prowess doctor`` does about clients: a made-up session through their real hooks, followed to ``find_skill``.

The command lines are those that stand in the clients' configuration. What the session leaves is forgotten at the end.
"""

from __future__ import annotations

import json
import os
import tempfile
from collections.abc import AsyncIterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING
from uuid import uuid4

import anyio
import anyio.to_thread

from prowess.learning.counting import counted
from prowess.learning.synthesis.drafts import identify
from prowess.server.doctor.finding import Finding
from prowess.server.hooks import events, spool
from prowess.server.hub import client as hub
from prowess.server.install import Installed, Surroundings, installed, mending, store_of
from prowess.server.origins import now
from prowess.server.project import project_of
from prowess.server.shim import places
from prowess.storage.errors import StoreError
from prowess.storage.events import SkillSaved
from prowess.storage.models import EpisodeFilter, Origin, Skill, SkillStep, Step, format_time

if TYPE_CHECKING:
    from prowess.storage.store import Store

__all__ = ["look_at_clients"]

# The events that make up a session with one step, in the order in which they occur.
_SESSION = (
    ("sessionstart",),
    ("userpromptsubmit", "beforesubmitprompt"),
    ("posttooluse",),
    ("stop",),
    ("sessionend",),
)
HOOK_SECONDS = 15.0  # clients give 10, and a shell has to start
FOLLOW_SECONDS = 30.0  # a hub that starts loads its index first
FORGET_SECONDS = 600.0  # the log is rewritten, and a large one takes its time
FIND_SECONDS = 60.0  # the embedding model is waited for
POLL_SECONDS = 0.05
_SLACK = timedelta(minutes=1)
_ORIGIN = Origin(client="prowess", session="doctor", actor="person")


async def look_at_clients(home: Path, around: Surroundings, *, send: bool) -> AsyncIterator[Finding]:
    """Every finding about clients, one after another. Nothing is sent through hooks unless ``send``."""
    found = await anyio.to_thread.run_sync(_installed, home, around)
    if not found:
        yield Finding("clients", "ok", "no client has entries of Prowess; `prowess install CLIENT` writes them")
        return
    for one in found:
        yield _told(one)
    hooked = [one for one in found if one.hooks and _is_safe(one)]
    if not hooked or not send:
        return
    with tempfile.TemporaryDirectory(prefix=events.DOCTOR) as folder:
        project = await anyio.to_thread.run_sync(_project, Path(folder))
        probe = _Probe(home, around, Path(folder), project)
        try:
            for one in hooked:
                yield await probe.follow(one)
        finally:
            with anyio.CancelScope(shield=True):
                left = await probe.clean_up()
    if left:
        yield left


def _installed(home: Path, around: Surroundings) -> list[Installed]:
    """A command line may name the default store or leave it out: either is as good. Another store it has to name."""
    named = installed(replace(around, store=home))
    if not _is_default(home, around):
        return named
    plain = installed(replace(around, store=None))
    return [
        second if first.state == "outdated" and second.state != "outdated" else first
        for first, second in zip(plain, named, strict=True)
    ]


def _is_default(home: Path, around: Surroundings) -> bool:
    return _is_same(home, Path(places.home(None, around.environment)))


def _is_same(one: Path, other: Path) -> bool:
    return one.resolve() == other.resolve()


def _is_safe(one: Installed) -> bool:
    """Whether its command lines may be run. Those of a project may have come with it, from anybody: only such as
    ``prowess install`` would write here itself."""
    return one.scope == "user" or one.state != "outdated"


def _project(folder: Path) -> str:
    """That of the made-up folder, or a made-up one where the folder lies in somebody's: it will be forgotten whole."""
    derived = project_of(folder)
    return derived if derived.startswith(events.DOCTOR) else f"{events.DOCTOR}{uuid4().hex}"


def _told(one: Installed) -> Finding:
    said = {
        "ok": f"{counted(len(one.files), 'file has what it', 'files have what they')} should",
        "outdated": "its entries are of another installation, store or version",
        "partial": "some of its entries are missing",
        "disabled": "the client is told to run no hooks",
        "untrusted": "Codex passes over the hooks until they are reviewed",
        "unreadable": "a configuration cannot be read",
    }[one.state]
    return Finding(_name(one), "ok" if one.state == "ok" else "warn", said, one.hint)


def _name(one: Installed) -> str:
    return one.client if one.scope == "user" else f"{one.client} ({one.scope})"


@dataclass
class _Probe:
    """Made-up sessions. ``project`` is the skill's; an episode may get another one, by settings or its folder."""

    home: Path
    around: Surroundings
    folder: Path
    project: str
    reached: bool = False
    episodes: list[str] = field(default_factory=list)

    async def follow(self, one: Installed) -> Finding:
        """Send a session through the hooks of one client and look where its step comes out."""
        check = f"{_name(one)} hook"
        again = mending(one.client, one.scope, None if _is_default(self.home, self.around) else self.home)
        if others := [store for store in self._stores(one) if not _is_same(store, self.home)]:
            # What came to lie there would not be forgotten again.
            said = f"nothing was sent: its command lines serve another store, {others[0]}"
            return Finding(check, "warn", said, again)
        session = f"{events.DOCTOR}{uuid4().hex}"
        began = datetime.now(UTC)
        if wrong := await self._send(one, session):
            return Finding(check, "fail", wrong, again)
        try:
            return await self._followed(check, session, began)
        except TimeoutError:
            return Finding(check, "fail", *self._lost(session, again))
        except StoreError as error:
            return Finding(check, "fail", str(error), error.hint or "prowess hub stop")

    def _stores(self, one: Installed) -> list[Path]:
        return [store_of(line, self.around.environment) for line in one.hooks.values()]

    async def _send(self, one: Installed, session: str) -> str:
        """What went wrong; "" for nothing."""
        for names in _SESSION:
            event = next((name for name in one.hooks if name.lower() in names), "")
            if not event:
                return f"it has no hook at {names[0]}"
            told = events.made_up(one.client, event, session=session, cwd=str(self.folder))
            if wrong := await _run(one.hooks[event], told, self.folder):
                return f"its hook at {event} {wrong}"
        return ""

    async def _followed(self, check: str, session: str, began: datetime) -> Finding:
        with anyio.fail_after(FOLLOW_SECONDS):
            step = await self._step(session, began)
        seconds = (datetime.now(UTC) - began).total_seconds()
        if step.outcome != "success":
            said = f"its step arrived as {step.outcome}, and it was a success"
            return Finding(check, "fail", said, "prowess hub logs")
        with anyio.fail_after(FIND_SECONDS):
            async with hub.open_calls(self.home) as store:
                skill = await self._save_skill(step, store)
            asked = {"query": skill.description, "project": self.project}
            found = await hub.call_tool(self.home, "find_skill", asked)
        if skill.name not in found["text"]:
            said = "its step is in log and catalog, but find_skill does not find a skill made of it"
            return Finding(check, "fail", said, "prowess rebuild")
        said = f"a made-up step went through log, catalog and find_skill in {seconds:.1f} s"
        return Finding(check, "ok", said)

    async def _step(self, session: str, began: datetime) -> Step:
        """The step of the session, as soon as it is there."""
        recent = EpisodeFilter(since=format_time(began - _SLACK))
        while True:
            with suppress(hub.HubGone):  # it starts just now
                async with hub.open_calls(self.home) as store:
                    self.reached = True
                    for episode in await store.episodes(recent):
                        if episode.session == session and (steps := await store.steps(episode.id)):
                            self.episodes.append(episode.id)
                            return steps[0]
            await anyio.sleep(POLL_SECONDS)

    async def _save_skill(self, step: Step, store: Store) -> Skill:
        steps = (SkillStep(tool=step.tool, args_template=dict(step.args or {})),)
        at = now()
        skill = Skill(
            id=identify(steps, self.project),
            name="prowess_doctor_skill",
            description="A made-up skill of prowess doctor.",
            steps=steps,
            status="active",
            project=self.project,
            created_at=at,
            updated_at=at,
        )
        await store.append([SkillSaved(skill=skill, change="create", reason="prowess doctor")], origin=_ORIGIN)
        return skill

    def _lost(self, session: str, again: str) -> tuple[str, str]:
        """Where the step got stuck, and what mends it."""
        if _waiting(self.home, session):
            return "its step lies in the spool and no hub takes it", "prowess hub logs"
        if spool.is_full(str(self.home)):
            return "its hook could not leave the step: the spool is full", "prowess hub logs"
        if error := spool.newest_error(str(self.home)):
            return f"its hook could not leave the step: {error}", again
        return f"its step did not arrive in {self.home}: the hook may write to another store", again

    async def clean_up(self) -> Finding | None:
        """Forget episodes, skills and exposures; what could not be forgotten is told."""
        for name in _waiting(self.home, events.DOCTOR):
            spool.remove(str(self.home), name)
        if not self.reached:
            return None
        try:
            with anyio.fail_after(FORGET_SECONDS):
                async with hub.open_calls(self.home) as store:
                    await store.forget(
                        episode_ids=self.episodes,
                        project=self.project,
                        reason="made up by prowess doctor",
                        origin=_ORIGIN,
                    )
        except (StoreError, TimeoutError) as error:
            mend = " ".join(
                ["prowess forget --yes --project", self.project, *(f"--episode {i}" for i in self.episodes)]
            )
            return Finding("clean-up", "warn", f"made-up episodes are left: {error or 'it took too long'}", mend)
        return None


def _waiting(home: Path, session: str) -> list[str]:
    """The events in the spool of sessions that begin so."""
    found = []
    for name in spool.names(str(home)):
        with suppress(OSError, spool.UnreadableError):
            told = spool.read(str(home), name) or {}
            found += [name] if str(told.get("session", "")).startswith(session) else []
    return found


async def _run(command: str, told: Mapping[str, object], folder: Path) -> str:
    """Run a hook as a client does, by the shell. What went wrong; "" for nothing."""
    environment = {name: value for name, value in os.environ.items() if name != "PROWESS_PROJECT"}
    given = folder / "event.json"  # no pipe: a program that ends without reading would break it
    await anyio.Path(given).write_text(json.dumps(told))
    try:
        with anyio.fail_after(HOOK_SECONDS):
            async with await anyio.open_file(given, "rb") as file:
                ended = await anyio.run_process(command, stdin=file.wrapped, check=False, cwd=folder, env=environment)
    except TimeoutError:
        return f"took longer than {HOOK_SECONDS:g} seconds"
    except OSError as error:
        return f"cannot be started: {error.strerror}"
    if ended.returncode == 0:
        return ""
    said = ended.stderr.decode(errors="replace").strip().splitlines()
    return f"ended with {ended.returncode}: {said[-1] if said else 'without a word'}"
