"""Which stored skill a draft is once more, so that it is bettered instead of made a second time."""

from __future__ import annotations

from collections.abc import Mapping

from prowess.learning.counting import counted
from prowess.learning.synthesis.answers import key_of_step
from prowess.learning.synthesis.drafts import base_name
from prowess.storage.models import Skill
from prowess.tools.skills import covers, flat_steps, same_tools, waits

__all__ = ["Twins"]

Tools = tuple[str | None, ...]


class Twins:
    """The skills of a plan, looked up by name, moves and tools: every draft beside every skill would take too long."""

    def __init__(self, skills: Mapping[str, Skill], project: str, projects: Mapping[str, str]) -> None:
        """``skills`` by id, followed as they change; ``projects`` are those of the episodes that drafts rest on."""
        self._skills = skills
        self._projects = projects
        self._by_name: dict[str, list[str]] = {}
        self._by_moves: dict[tuple[str, ...], list[str]] = {}
        self._by_tools: dict[tuple[str, Tools], list[Skill]] = {}  # of projects
        self._left = 0
        for skill in skills.values():
            self.add(skill)
            if skill.project and not project and not waits(skill):
                self._by_tools.setdefault((skill.project, self._tools(skill)), []).append(skill)

    def add(self, skill: Skill) -> None:
        """Know ``skill`` from here on."""
        self._by_name.setdefault(base_name(skill.name), []).append(skill.id)
        if skill.author == "machine":
            self._by_moves.setdefault(self._moves(skill), []).append(skill.id)

    def of(self, draft: Skill) -> Skill | None:
        """Of mined skills with its moves, and of all with its name, the live one that has the same tools in that order.

        A mined one may have any name: of another wording of names, of a model or of a person. Where there are several,
        one whose arguments ``draft`` covers comes first.
        """
        named = self._by_name.get(base_name(draft.name), ())
        alike = dict.fromkeys([*named, *self._by_moves.get(self._moves(draft), ())])
        twins = [skill for key in alike if (skill := self._skills.get(key)) and self._is_twin(skill, draft)]
        return next((skill for skill in twins if covers(draft, skill, self._skills)), twins[0] if twins else None)

    def _is_twin(self, skill: Skill, draft: Skill) -> bool:
        live = skill.status in ("draft", "active") and skill.project in ("", draft.project)
        return live and not waits(skill) and skill.id != draft.id and same_tools(skill, draft, self._skills)

    def has_project_own(self, draft: Skill) -> bool:
        """Whether ``draft`` is for all projects, and each whose episodes show it has that skill itself.

        One that was archived or retired counts: what was decided of it there holds.
        """
        if draft.project:
            return False
        shown = {self._projects.get(episode, "") for episode in draft.episodes}
        tools = self._tools(draft)
        known = [self._by_tools.get((project, tools), ()) for project in shown]
        # One project after the other, since the first one without it decides: of a shell's skills there are many.
        has = bool(shown) and all(known) and all(any(self._says_the_same(s, draft) for s in own) for own in known)
        self._left += has
        return has

    def _says_the_same(self, skill: Skill, draft: Skill) -> bool:
        return covers(skill, draft, self._skills) or covers(draft, skill, self._skills)

    def _moves(self, skill: Skill) -> tuple[str, ...]:
        return tuple(map(key_of_step, flat_steps(skill, self._skills)))

    def _tools(self, skill: Skill) -> Tools:
        return tuple(step.tool for step in flat_steps(skill, self._skills))

    def notes(self) -> list[str]:
        """What is to be told of drafts that were left to projects."""
        if not self._left:
            return []
        found = counted(self._left, "procedure is", "procedures are")
        return [f"{found} known in each project that shows them, and not made for all projects again"]
