"""The bank of memory skills: what each was worth, which versions it had, and which gives way to a new one."""

from __future__ import annotations

from collections.abc import Mapping

import msgspec

from prowess.learning.counting import counted
from prowess.learning.memskill.skills import INITIAL, MemorySkill, format_skill, parse_skill
from prowess.storage.errors import InvalidInput

__all__ = ["Bank", "Record"]

MAX_SKILLS = 30  # as the paper
RECORDS = "bank.json"
NEUTRAL = 0.5  # what a skill without uses counts as, so that it is neither first nor last to go
RECENT = 0.1  # share of the newest use in the running mean of rewards
FRESH_TICKS = 10  # a skill younger than this is not replaced: it had no chance yet


class Record(msgspec.Struct, frozen=True, kw_only=True):
    """What is known of a skill: uses, running mean of the reward of the episodes it was used in, when it came and was
    last used (ticks of whoever trains). ``initial`` skills are never replaced, and those that a person wrote
    (``by_hand``) are changed by nobody else.
    """

    usage: int = 0
    reward: float | None = None
    added: int = 0
    last_used: int = 0
    initial: bool = False
    by_hand: bool = False


class _Saved(msgspec.Struct, kw_only=True):
    version: int
    records: dict[str, Record]
    past: dict[str, list[str]]
    removed: list[str] = []


class Bank(msgspec.Struct, frozen=True, kw_only=True):
    """An immutable bank: every change gives a new one with the next ``version``.

    ``past`` holds the Markdown of earlier versions by name, oldest first, ``removed`` the names that a person took
    out: nobody else brings them back.
    """

    skills: tuple[MemorySkill, ...]
    records: dict[str, Record]
    past: dict[str, tuple[str, ...]] = {}
    version: int = 1
    most: int = MAX_SKILLS
    removed: tuple[str, ...] = ()

    @classmethod
    def initial(cls, most: int = MAX_SKILLS) -> Bank:
        """The four skills that everybody starts from."""
        return cls(skills=INITIAL, records={skill.name: Record(initial=True) for skill in INITIAL}, most=most)

    def find(self, name: str) -> MemorySkill | None:
        """The skill called ``name``."""
        return next((skill for skill in self.skills if skill.name == name), None)

    def with_skill(self, skill: MemorySkill, tick: int = 0) -> Bank:
        """With a new skill, or a new version of the one of that name; a full bank gives up its worst skill for it."""
        known = self.find(skill.name)
        if known is not None:
            changed = msgspec.structs.replace(skill, version=known.version + 1)
            skills = tuple(changed if each.name == skill.name else each for each in self.skills)
            past = {**self.past, skill.name: (*self.past.get(skill.name, ()), format_skill(known))}
            return msgspec.structs.replace(self, skills=skills, past=past, version=self.version + 1)
        kept = self if len(self.skills) < self.most else self.without(self.worst(tick))
        records = {**kept.records, skill.name: Record(added=tick, last_used=tick)}
        return msgspec.structs.replace(kept, skills=(*kept.skills, skill), records=records, version=self.version + 1)

    def without(self, name: str) -> Bank:
        """Without the skill called ``name``; its last version stays in ``past``."""
        gone = self.find(name)
        if gone is None:
            raise InvalidInput(f"the bank has no memory skill {name!r}", hint="see its list of skills")
        return msgspec.structs.replace(
            self,
            skills=tuple(skill for skill in self.skills if skill.name != name),
            records={key: record for key, record in self.records.items() if key != name},
            past={**self.past, name: (*self.past.get(name, ()), format_skill(gone))},
            version=self.version + 1,
        )

    # ---- what a person does

    def edited(self, skill: MemorySkill) -> Bank:
        """With a skill, new or changed, that a person wrote."""
        changed = self.with_skill(skill)
        record = msgspec.structs.replace(changed.records[skill.name], by_hand=True)
        removed = tuple(name for name in self.removed if name != skill.name)
        return msgspec.structs.replace(changed, records={**changed.records, skill.name: record}, removed=removed)

    def withdrawn(self, name: str) -> Bank:
        """Without a skill that a person took out."""
        changed = self.without(name)
        return msgspec.structs.replace(changed, removed=tuple(sorted({*self.removed, name})))

    def may_change(self, name: str) -> bool:
        """Whether others than a person may change the skill called ``name``, or add it."""
        record = self.records.get(name)
        return name not in self.removed and (record is None or not (record.initial or record.by_hand))

    @property
    def by_hand(self) -> tuple[str, ...]:
        """The names of what a person wrote or took out."""
        return (*(skill.name for skill in self.skills if self.records[skill.name].by_hand), *self.removed)

    def keeping(self, other: Bank) -> Bank:
        """This bank with everything as a person left it in ``other``, whatever this one has of it."""
        kept = self
        for skill in self.skills:
            if kept.records[skill.name].by_hand and skill.name not in other.by_hand:  # taken back meanwhile
                kept = kept._as_in(other, skill.name)
        for name in other.removed:
            kept = kept.withdrawn(name) if kept.find(name) else kept
        for skill in other.skills:
            if other.records[skill.name].by_hand:
                kept = kept.edited(skill)
        return msgspec.structs.replace(kept, removed=other.removed)

    def _as_in(self, other: Bank, name: str) -> Bank:
        skill = other.find(name)
        if skill is None:
            return self.without(name)
        changed = self.with_skill(skill)
        return msgspec.structs.replace(changed, records={**changed.records, name: other.records[name]})

    def begun(self) -> Bank:
        """As it is when somebody begins to train with it: ticks are counted from there."""
        records = {name: msgspec.structs.replace(record, added=0, last_used=0) for name, record in self.records.items()}
        return msgspec.structs.replace(self, records=records)

    # ---- what training does

    def used(self, name: str, reward: float, tick: int, times: int = 1) -> Bank:
        """With ``times`` uses of a skill noted, in an episode worth ``reward``. Its version stays."""
        old = self.records[name]
        mean = reward if old.reward is None else old.reward + RECENT * (reward - old.reward)
        new = msgspec.structs.replace(old, usage=old.usage + times, reward=mean, last_used=tick)
        return msgspec.structs.replace(self, records={**self.records, name: new})

    @property
    def has_room(self) -> bool:
        """Whether a skill can be added, if need be in the place of another."""
        return len(self.skills) < self.most or any(self.may_change(skill.name) for skill in self.skills)

    def worst(self, tick: int) -> str:
        """The evolved skill of least reward, of those equal the one unused for longest. Young ones are spared if
        others are there. Raises InvalidInput where every skill is an initial one or was written by a person.
        """
        evolved = [skill.name for skill in self.skills if self.may_change(skill.name)]
        if not evolved:
            raise InvalidInput(f"the bank has room for {self.most} skills, all taken", hint="raise its limit")
        grown = [name for name in evolved if tick - self.records[name].added >= FRESH_TICKS]
        return min(grown or evolved, key=self._worth)

    def _worth(self, name: str) -> tuple[float, int, int, str]:
        record = self.records[name]
        return (NEUTRAL if record.reward is None else record.reward, record.last_used, record.usage, name)

    # ---- as files

    def to_files(self) -> dict[str, str]:
        """File name to content: one Markdown file per skill, and ``bank.json`` with the records."""
        saved = _Saved(
            version=self.version,
            records=self.records,
            past={name: list(texts) for name, texts in self.past.items()},
            removed=list(self.removed),
        )
        files = {f"{skill.name}.md": format_skill(skill) for skill in self.skills}
        return {**files, RECORDS: msgspec.json.format(msgspec.json.encode(saved), indent=2).decode()}

    @classmethod
    def from_files(cls, files: Mapping[str, str], most: int = MAX_SKILLS) -> Bank:
        """The bank in such files, of which a person may edit, add and remove the Markdown ones. Raises InvalidInput."""
        saved = _saved(files.get(RECORDS))
        skills = [_read(name, text) for name, text in sorted(files.items()) if name.endswith(".md")]
        if not 1 <= len(skills) <= most:
            raise InvalidInput(
                f"the bank has {counted(len(skills), 'memory skill')}, 1 to {most} are allowed", hint="see *.md"
            )
        order = list(saved.records)
        skills.sort(key=lambda skill: order.index(skill.name) if skill.name in saved.records else len(order))
        initial = {skill.name for skill in INITIAL}
        records = {s.name: saved.records.get(s.name, Record(initial=s.name in initial)) for s in skills}
        past = {name: tuple(texts) for name, texts in saved.past.items()}
        removed = tuple(name for name in saved.removed if name not in records)
        return cls(skills=tuple(skills), records=records, past=past, version=saved.version, most=most, removed=removed)


def _saved(text: str | None) -> _Saved:
    if text is None:
        return _Saved(version=1, records={}, past={})
    try:
        return msgspec.json.decode(text, type=_Saved)
    except (msgspec.DecodeError, RecursionError) as error:
        raise InvalidInput(f"{RECORDS}: {error}", hint="remove the file; the skills start without a record") from error


def _read(file: str, text: str) -> MemorySkill:
    skill = parse_skill(text, file)
    if file != f"{skill.name}.md":
        raise InvalidInput(f"{file}: it names the skill {skill.name!r}", hint=f"call the file {skill.name}.md")
    return skill
