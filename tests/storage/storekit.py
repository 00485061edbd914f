"""What the tests of the store share: words, a clock, and one of every event."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from msgspec import to_builtins
from msgspec.structs import replace

from prowess.storage.errors import StoreError
from prowess.storage.events import (
    EVENT_TYPES,
    ControllerAdopted,
    Event,
    ExposureMade,
    MemoryDeleted,
    MemorySaved,
    ModelAnswered,
    PatternsReflected,
    PrivacySet,
    SkillPinned,
    SkillSaved,
    SkillStatusSet,
    SkillTrialEnded,
    SkillUsed,
)
from prowess.storage.ids import new_id
from prowess.storage.log.codec import decode_envelope, type_of
from prowess.storage.log.file import LogFile
from prowess.storage.log.foreign import Foreign
from prowess.storage.log.tables import JOURNAL, STEPS
from prowess.storage.models import (
    ExposedSkill,
    Exposure,
    Memory,
    NewReward,
    NewStep,
    NewUse,
    Origin,
    Parameter,
    Pattern,
    Skill,
    SkillStep,
    SkillUse,
    Where,
)
from prowess.storage.store import Store

ORIGIN = Origin(machine="m1", client="test", session="s1")
WHERE = Where(task_id="refund", project="shop", session="s1", task="refund the order")
AT = "2026-11-29T12:00:00.000Z"
EVERY_TYPE = frozenset(EVENT_TYPES)


class Clock:
    """Time that stands still until it is told to go on."""

    def __init__(self) -> None:
        self.now = datetime(2026, 11, 29, 12, tzinfo=UTC)

    def __call__(self) -> datetime:
        return self.now

    def forward(self, **by: float) -> None:
        self.now += timedelta(**by)


def steps(*actions: str) -> list[NewStep]:
    return [NewStep(action=action) for action in actions]


def skill(name: str, *, episodes: tuple[str, ...] = (), project: str = "shop", text: str = "") -> Skill:
    return Skill(
        id=f"skill-{name}",
        name=name,
        description=f"how to {name} {text}",
        steps=(SkillStep(tool="find_order", args_template={"id": "{order}"}),),
        parameters=(Parameter(name="order"),),
        project=project,
        episodes=episodes,
        created_at=AT,
        updated_at=AT,
    )


def memory(text: str, *, episode_id: str | None = None, project: str = "shop") -> MemorySaved:
    saved = Memory(id=new_id(), kind="lesson", text=text, at=AT, project=project, episode_id=episode_id)
    return MemorySaved(memory=saved)


def pattern(example: str, statement: str = "looking helps") -> Pattern:
    return Pattern(id="p1", kind="sequence", statement=statement, support=2, examples=(example,), project="shop")


def decisions(episode_id: str, secret: str = "") -> list[Event]:
    """One of each event that ``append`` takes; ``secret`` in every text that goes with the episode."""
    shown = (ExposedSkill(skill_id="skill-refund", version=1, rank=1, score=0.5),)
    exposure = Exposure(
        id=new_id(), at=AT, query=f"refund {secret}", project="shop", episode_id=episode_id, skills=shown
    )
    use = SkillUse(id=new_id(), skill_id="skill-keep", version=1, episode_id=episode_id, success=True, at=AT)
    gone = memory("soon gone")
    return [
        SkillSaved(skill=skill("refund", episodes=(episode_id,), text=secret), change="create", reason=secret),
        SkillSaved(skill=skill("keep"), change="create"),
        SkillStatusSet(skill_id="skill-refund", status="active", at=AT, reason=secret),
        SkillTrialEnded(skill_id="skill-keep", at=AT, reason=secret),
        SkillPinned(skill_id="skill-keep", pinned=True, at=AT),
        SkillUsed(use=use),
        ExposureMade(exposure=exposure),
        PatternsReflected(reflection_id=new_id(), project="shop", at=AT, patterns=(pattern(episode_id, secret),)),
        memory(f"look first {secret}", episode_id=episode_id),
        gone,
        MemoryDeleted(memory_id=gone.memory.id, at=AT),
        ControllerAdopted(
            project="shop",
            at=AT,
            bank="b" * 64,
            weights="a" * 64,
            run_id="run-1",
            embedding="m@1",
            reward=0.5,
            before=0.25,
            skills=("insert", "keep-dates"),
            reason="better on what was held back",
        ),
        PrivacySet(at=AT, private=True, skill_ids=("skill-secret",), memory_ids=("memory-secret",)),
        ModelAnswered(
            call_id=new_id(),
            at=AT,
            purpose="wording",
            model="m",
            input_tokens=10,
            output_tokens=5,
            cost_usd=0.25,
            ok=True,
        ),
    ]


def elsewhere() -> Foreign:
    """What another machine says of a skill that is known here."""
    pinned = {"skill_id": "skill-keep", "pinned": True, "at": AT}
    return Foreign(
        log="0198c0de-0000-7000-8000-000000000001",
        epoch=1,
        seq=7,
        clock=12,
        type="skill.pinned",
        version=1,
        at=AT,
        origin=ORIGIN,
        data=pinned,
        person="anna",
    )


async def do_everything(store: Store, secret: str = "") -> str:
    """Make the store record every type of event but those of forgetting and trimming; the episode's id."""
    where = Where(**{**_fields(WHERE), "task": f"refund {secret}"})
    step = NewStep(
        action=f"look {secret}",
        number=1,
        tool="find_order",
        args={"id": secret or "7"},
        context=f"shop {secret}",
        observation=f"found {secret}",
        error=f"not found {secret}",
        outcome="failure",
        external_id="toolu_1",
    )
    told = await store.track(where, [step, *steps(f"pay back {secret}")], origin=ORIGIN, key="everything")
    await store.track(Where(**{**_fields(WHERE), "task": f"refund order 7 {secret}"}), steps("wait"), origin=ORIGIN)
    await store.append(decisions(told.episode_id, secret), origin=ORIGIN)
    await store.receive([elsewhere()])
    await store.score(
        WHERE,
        [NewReward(value=-2.0, step=1), NewReward(value=5.0, source="tests", reason=secret, evidence={"log": secret})],
        uses=[NewUse(skill_id="skill-keep", version=1, success=False)],
        final=True,
        origin=ORIGIN,
        key="scored",
    )
    return told.episode_id


def told(log: int, seq: int, clock: int, event: Event) -> Foreign:
    """An event of the other machine ``log``."""
    data, kind, version = to_builtins(event), type_of(event), event.VERSION
    name = f"0198c0de-0000-7000-8000-00000000000{log}"
    return Foreign(log=name, epoch=1, seq=seq, clock=clock, type=kind, version=version, at=AT, origin=ORIGIN, data=data)


async def recorded(store: Store, name: str) -> str:
    """The id of a new episode of the task ``name``."""
    return (await store.track(replace(WHERE, task_id=name), steps("a"), origin=ORIGIN)).episode_id


def _fields(where: Where) -> dict[str, str]:
    return {name: getattr(where, name) for name in where.__struct_fields__}


def journal_types(path: Path) -> list[str]:
    """Types of all events in the closed log at ``path``."""
    with open_log(path) as file, file.read() as view:
        return [decode_envelope(seq, raw).type for seq, raw in view.table(JOURNAL)]


def step_keys(path: Path) -> list[tuple[bytes, int]]:
    """Keys of all steps in the closed log at ``path``."""
    with open_log(path) as file, file.read() as view:
        return [key for key, _ in view.table(STEPS)]


@contextmanager
def open_log(path: Path) -> Iterator[LogFile]:
    file = LogFile(path, AT)
    try:
        yield file
    finally:
        file.close()


def put(path: Path, content: bytes) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content)


def files(folder: Path, pattern: str) -> list[Path]:
    return sorted(folder.glob(pattern))


def sql(path: Path, statement: str) -> list[Any]:
    """The rows of ``statement`` on the SQLite file at ``path``, as another program would run it."""
    path.parent.mkdir(exist_ok=True)
    with closing(sqlite3.connect(path)) as database:
        found = database.execute(statement).fetchall()
        database.commit()
        return found


def explained(error: StoreError) -> str:
    """The message, once it was found to carry a hint."""
    assert error.hint
    return error.explain()
