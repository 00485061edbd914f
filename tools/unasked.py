"""What is worth telling an agent that did not ask."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from prowess.learning.outcomes import reads
from prowess.learning.synthesis.answers import JOINT
from prowess.learning.synthesis.calls import key_of
from prowess.learning.synthesis.clients import is_of_client
from prowess.learning.synthesis.commands import COMMAND_ARGUMENTS
from prowess.tools.asking import only_asks
from prowess.tools.precedents import SAME_TASK
from prowess.tools.skills import flat_steps, known_parts

if TYPE_CHECKING:
    from prowess.storage.models import Skill, SkillStep
    from prowess.storage.store import Store
    from prowess.tools.precedents import Match, Past

__all__ = ["telling", "was_work"]

# Of 19 skills whose nearest past task was farther away 16 were for other work, of 42 others 4.
LEAST_PAST_OF_SKILL = 0.35
_OF_EVERY_TASK = frozenset(("git add", "git commit", "git diff", "git log", "git status"))

# What looks at files. Who looks at something else (a build's log, a cluster) does what not every task does.
_OF_FILES = frozenset(
    """
    ack ag awk basename bat cat cd cut diff dirname du echo egrep fd fgrep file find git grep head jq less ls more nl od
    printf pwd readlink realpath rg sed sort stat strings tail test tr tree true uniq wc which xargs xxd yq
    """.split()  # noqa: SIM905 - a list of quoted words would be no easier to read
)


def was_work(past: Past | None) -> bool:
    """Whether what is asked was a task before, in other words: "why is the mailer down" is asked to have it mended.

    A question that another prompt followed was none: that prompt asked for the work.
    """
    if past is None:
        return False
    near = dict(past.near)
    tasks = (one.text.partition("\n\n") for one in past.successes if near.get(one.id, 0.0) >= SAME_TASK)
    return any(not (more and only_asks(first)) for first, _, more in tasks)


async def telling(matches: Sequence[Match], past: Past | None, *, project: str, store: Store) -> list[Match]:
    """Without the skills that do no more than every task does: look at files, change them and commit.

    Nor those of ``project`` of whose tasks none is like the question.
    """
    near = {} if past is None else dict(past.near)
    parts = await known_parts([skill for _, skill in matches], store)
    return [
        (item, skill)
        for item, skill in matches
        if not _is_common(skill, parts) and not _is_far(skill, parts, near, project)
    ]


def _is_far(skill: Skill, parts: Mapping[str, Skill], near: Mapping[str, float], project: str) -> bool:
    """Without vectors nobody knows; nor of a skill that was drawn from no task, or from those of another project."""
    joined = [step.skill for step in skill.steps if step.skill] if JOINT in skill.id else []
    made_of = [parts[key] for key in joined if key in parts] or [skill]
    drawn = {key for one in made_of if one.project == project for key in one.episodes}
    return bool(near and drawn) and max((near[key] for key in near.keys() & drawn), default=0.0) < LEAST_PAST_OF_SKILL


def _is_common(skill: Skill, parts: Mapping[str, Skill]) -> bool:
    steps = flat_steps(skill, parts)
    return bool(steps) and all(map(_is_of_every_task, steps))


def _is_of_every_task(step: SkillStep) -> bool:
    args: dict[str, Any] = step.args_template or {}
    line = next((args[name] for name in COMMAND_ARGUMENTS if isinstance(args.get(name), str)), "")
    if step.tool is None or not line:
        return step.tool is not None and is_of_client(step.tool, args)
    programs = key_of(step.tool, args).partition(":")[2].split("|")
    looks = _OF_FILES.issuperset(program.split(" ")[0] for program in programs) and reads(step.tool, line)
    return looks or _OF_EVERY_TASK.issuperset(programs)
