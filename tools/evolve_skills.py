"""``evolve_skills``: make, better, combine and archive skills, or take a change back."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Annotated, Any, Literal

import anyio
from msgspec.structs import replace
from pydantic import BeforeValidator, Field, ValidationError

from prowess.learning.counting import counted
from prowess.learning.memskill.settings import understood
from prowess.providers.errors import ProviderError
from prowess.storage.behind import as_far_as_known
from prowess.storage.errors import UnknownEpisode
from prowess.storage.models import Skill, format_time
from prowess.tools import evolution
from prowess.tools.base import (
    Annotations,
    Input,
    JsonList,
    Output,
    Text,
    Tool,
    complaint,
    from_json,
    place_of,
    unknown_fields,
)
from prowess.tools.changes import ChangeReport, Plan
from prowess.tools.confined import only_project
from prowess.tools.context import Context, Unasked, no_progress
from prowess.tools.errors import ToolError, on_one_line
from prowess.tools.extraction import extracted
from prowess.tools.lifting import lifted, measured, settled
from prowess.tools.merging import one_of_each_name
from prowess.tools.projects import unknown_project
from prowess.tools.proposals import Proposal
from prowess.tools.scope import Scope, find_patterns, load_skills
from prowess.tools.text import quote
from prowess.tools.training_words import in_words, progress_in_words, training_in_words

if TYPE_CHECKING:
    from prowess.providers.language import LanguageModel
    from prowess.storage.models import Adopted
    from prowess.tools.context import Trainer

__all__ = ["TOOL", "EvolveInput", "EvolveOutput", "handle"]

REPORTED = 8  # changes that an answer shows in full
MAX_PROPOSALS = 50
WORDED = 10  # new skills that a language model words in one call
FOLLOWED_SECONDS = 45.0  # of a training run's progress in one call; many clients give a call a minute
FOLLOW_SECONDS = 1.0  # between looks at it
MODEL_SECONDS = 60.0  # for all that a language model is asked in one call

_DONE = "this call was carried out before, under the same key: its changes are stored, and none was made again"
_SKILL = 'A skill is {"name", "description", "steps": [{"tool", "args_template"} or {"skill"}]}.'

# Fields that other modes make nothing of.
_TAKEN_BY = {
    "skills": ("auto", "create", "adjust", "compose", "prune", "rollback"),
    "patterns": ("auto", "create"),
    "run_id": ("train", "cancel", "status"),
    "settings": ("train",),
}

Mode = Literal["auto", "create", "adjust", "compose", "prune", "train", "status", "cancel", "rollback"]


class EvolveInput(Input):
    """``evolve_skills``'s input."""

    mode: Annotated[Mode, BeforeValidator(lambda value: str(value).strip().lower())] = "auto"
    patterns: JsonList | None = Field(default=None, description="ids from reflect to build on")
    skills: JsonList | None = Field(
        default=None,
        max_length=MAX_PROPOSALS,
        description='create, adjust: {"name","description","steps":[{"tool","args_template":{"path":"{path}"}} or '
        '{"skill":name}]}; adjust, rollback: names',
    )
    dry_run: bool = Field(default=False, description="show, change nothing")
    project: Text | None = Field(default=None, max_length=200)
    run_id: Text | None = Field(default=None, max_length=200)
    settings: Annotated[dict[str, Any] | None, BeforeValidator(from_json)] = Field(
        default=None, description="trainer settings"
    )


class EvolveOutput(Output):
    """Each change with before, after and reason; ``status`` for that mode."""

    mode: str
    dry_run: bool = False
    changes: list[ChangeReport] = Field(default_factory=list)
    total: int = 0
    status: dict[str, Any] | None = None
    receipt: str | None = None

    def words(self) -> str:
        if self.status is not None:
            return _status_in_words(self.mode, self.status)
        if not self.total:
            return "no changes"
        head = f"{counted(self.total, 'change')}{' planned, none made (dry_run)' if self.dry_run else ''}"
        return "\n".join([head, *("- " + "\n".join(change.lines()) for change in self.changes)])


def _status_in_words(mode: str, status: Mapping[str, Any]) -> str:
    if mode != "status":
        return training_in_words(status)
    training = status.get("training")
    told = {**status, "training": training_in_words(training)} if isinstance(training, dict) else status
    return "\n".join(f"{key.replace('_', ' ')}: {in_words(value)}" for key, value in told.items())


async def handle(asked: EvolveInput, ctx: Context) -> EvolveOutput:
    """Plan the mode's changes, then write them in one commit. Raises ``ToolError`` and the store's errors."""
    answer = await _answered(asked, ctx)
    ignored = (name for name, modes in _TAKEN_BY.items() if getattr(asked, name) and asked.mode not in modes)
    answer.notes += [f"ignored {name}: mode {asked.mode} takes none" for name in ignored]
    return answer


async def _answered(asked: EvolveInput, ctx: Context) -> EvolveOutput:
    if asked.mode in ("train", "cancel"):
        return EvolveOutput(mode=asked.mode, status=await _train(asked, ctx))
    scope = Scope(ctx.project if asked.project is None else asked.project, private=ctx.private)
    if asked.mode == "status":
        with as_far_as_known() as behind:
            status = await _status(asked.run_id, scope, ctx)
        return EvolveOutput(mode="status", status=status, notes=behind.notes())
    patterns = await find_patterns(_pattern_ids(asked.patterns or []), scope, ctx)
    async with ctx.turn:
        if ctx.key and not asked.dry_run and await ctx.store.appended(ctx.key):
            return EvolveOutput(mode=asked.mode, receipt="committed", notes=[_DONE])
        plan = Plan(await load_skills(scope, ctx), only=scope.project if ctx.confined else None)
        await _make(plan, asked, Scope(scope.project, patterns, scope.private), ctx)
        if not plan.changes:
            plan.notes += await unknown_project(asked.project, ctx)
        receipt = None if asked.dry_run else await _carry_out(plan, ctx)
    if plan.kept:
        many = counted(plan.kept, "change")
        plan.notes.append(f"left out {many} to what belongs to all projects: {only_project(ctx)}")
    if len(plan.changes) > REPORTED:
        plan.notes.append(f"the first {REPORTED} of {len(plan.changes)} changes are shown")
    names = {key: skill.name for key, skill in plan.skills.items()}
    return EvolveOutput(
        notes=plan.notes,
        mode=asked.mode,
        dry_run=asked.dry_run,
        changes=[ChangeReport.of(change, names) for change in plan.changes[:REPORTED]],
        total=len(plan.changes),
        receipt=receipt,
    )


async def _make(plan: Plan, asked: EvolveInput, scope: Scope, ctx: Context) -> None:
    await ctx.progress(0, 1, asked.mode)
    if asked.skills and asked.mode in ("compose", "prune"):
        plan.notes.append(f"ignored skills: mode {asked.mode} looks at all of them")
    match asked.mode:
        case "create":
            await _create(plan, asked, scope, ctx)
        case "adjust":
            await _adjust(plan, asked, scope, ctx)
        case "compose":
            await evolution.composed(plan)
        case "prune":
            await evolution.pruned(plan, scope, ctx)
        case "rollback":
            await evolution.rolled_back(plan, _names(asked), ctx)
        case _:
            await _everything(plan, asked, scope, ctx)
    await ctx.progress(1, 1, "done")


async def _create(plan: Plan, asked: EvolveInput, scope: Scope, ctx: Context) -> None:
    if asked.skills:
        await evolution.proposed(plan, _proposals(asked.skills, plan), scope, ctx)
    else:
        await evolution.created(plan, scope, ctx)
        await one_of_each_name(plan, ctx)
        await _ask_model(plan, asked, scope, ctx)


async def _adjust(plan: Plan, asked: EvolveInput, scope: Scope, ctx: Context) -> None:
    names = [item for item in asked.skills or [] if isinstance(item, str)]
    worded = [item for item in asked.skills or [] if not isinstance(item, str)]
    if worded:
        await evolution.revised(plan, _proposals(worded, plan), scope, ctx)
    if names or not worded:
        await evolution.adjusted(plan, ctx, [evolution.named(plan, name) for name in names])
        await settled(plan, scope, ctx)
        await lifted(plan, scope, ctx)


async def _everything(plan: Plan, asked: EvolveInput, scope: Scope, ctx: Context) -> None:
    await _create(plan, asked, scope, ctx)
    await settled(plan, scope, ctx)
    await evolution.adjusted(plan, ctx)
    await evolution.composed(plan)
    await evolution.pruned(plan, scope, ctx)
    await lifted(plan, scope, ctx)  # of what is left: nothing is promoted and archived at once


def _names(asked: EvolveInput) -> list[str]:
    named = [
        item.get("skill") or item.get("name") or item.get("id") if isinstance(item, dict) else item
        for item in asked.skills or []
    ]
    names = [str(name) for name in named if name]
    if not names:
        raise ToolError(
            "rollback needs to know which skills", hint='Send skills: ["name or id"]; in a shell --skill NAME.'
        )
    return names


def _pattern_ids(patterns: Sequence[Any]) -> list[str]:
    """Ids, also of whole patterns as reflect returned them."""
    return [str(item.get("id", "")) if isinstance(item, dict) else str(item) for item in patterns]


def _proposals(items: Sequence[Any], plan: Plan) -> list[Proposal]:
    found = [_proposal(index, from_json(item)) for index, item in enumerate(items)]
    for index, proposal in enumerate(found):
        plan.notes += unknown_fields(proposal, f"skills[{index}]")
    return found


def _proposal(index: int, item: Any) -> Proposal:
    if not isinstance(item, dict):
        raise ToolError(f"skills[{index}] is no skill, got {quote(item)}", hint=_SKILL)
    try:
        return Proposal.model_validate(item)
    except ValidationError as error:
        first = error.errors()[0]
        place = place_of(("skills", index, *first["loc"]))
        raise ToolError(f"{place}: {complaint(first)}", hint=_SKILL) from None


async def _ask_model(plan: Plan, asked: EvolveInput, scope: Scope, ctx: Context) -> None:
    """Let the language model, if there is one, word the new drafts and extract others. Its failures are only told."""
    model = ctx.language
    if model is None:
        return
    if asked.dry_run:
        plan.notes.append("dry_run asks no language model: names may become others, and no skill was extracted")
        return
    with anyio.move_on_after(MODEL_SECONDS) as limit:
        # With patterns the caller says what to build on: that leaves no room for other episodes.
        if await _word(plan, model, ctx) and not scope.patterns:
            await extracted(plan, model, scope.project, ctx)
    if limit.cancelled_caught:
        plan.notes.append(f"the language model was slow: what it had not said in {MODEL_SECONDS:.0f} s was left out")


async def _word(plan: Plan, model: LanguageModel, ctx: Context) -> bool:
    """Name and describe the new drafts; whether the model was of use."""
    created = [index for index, change in enumerate(plan.changes) if change.action == "create"][:WORDED]
    for index in created:
        try:
            await _reworded(plan, index, model, ctx)
        except ProviderError as error:
            plan.notes.append(
                "the language model did not help, so names and descriptions are the built-in ones and no skill was "
                f"extracted: {on_one_line(error)}"
            )
            return False
    return True


async def _reworded(plan: Plan, index: int, model: LanguageModel, ctx: Context) -> None:
    change = plan.changes[index]
    worded = await model.word_skill(change.after, await _tasks(change.after, ctx))
    taken = {skill.name for skill in plan.skills.values() if skill.id != change.after.id}
    name = worded.name if worded.name not in taken else change.after.name
    plan.amend(index, replace(change.after, name=name, description=worded.description))


async def _tasks(skill: Skill, ctx: Context) -> list[str]:
    """What users asked in some of the episodes that the skill was drawn from."""
    tasks: list[str] = []
    for episode_id in skill.episodes[:5]:
        with suppress(UnknownEpisode):
            tasks.append((await ctx.store.episode(episode_id)).task)
    return [task for task in tasks if task]


async def _carry_out(plan: Plan, ctx: Context) -> str | None:
    if not plan.changes:
        return None
    at = format_time(datetime.now(UTC))
    with anyio.CancelScope(shield=True):
        receipt = await ctx.store.append([change.event(at) for change in plan.changes], origin=ctx.origin, key=ctx.key)
    await ctx.index.refresh()
    return receipt.receipt


async def _train(asked: EvolveInput, ctx: Context) -> dict[str, Any]:
    """Start or cancel a training run; how it is then."""
    if ctx.trainer is None:
        raise ToolError(
            f"mode {asked.mode!r}: training is not part of this build",
            hint="Send auto, create, adjust, compose, prune, rollback or status.",
        )
    if asked.dry_run:
        raise ToolError(f"mode {asked.mode!r} knows no dry_run", hint="Nothing was changed.")
    if asked.mode == "cancel":
        return await ctx.trainer.cancel(asked.run_id)
    project = ctx.project if asked.project is None else asked.project
    run_id = await ctx.trainer.start(understood(asked.settings or {}), project=project, run_id=asked.run_id)
    if ctx.progress is not no_progress and not isinstance(ctx.progress, Unasked):
        with anyio.move_on_after(FOLLOWED_SECONDS):
            await _follow(run_id, ctx.trainer, ctx)
    return await ctx.trainer.status(run_id)


async def _follow(run_id: str, trainer: Trainer, ctx: Context) -> None:
    """Tell the run's progress until it ends. The run goes on, whatever becomes of the call."""
    told = -1.0
    while True:
        now = await trainer.status(run_id)
        step = now.get("progress") or {}
        done, total = step.get("iteration"), step.get("of")
        if isinstance(done, int | float) and isinstance(total, int | float) and done > told:
            told = float(done)
            await ctx.progress(told, float(total), progress_in_words(step))
        if now.get("status") != "running":
            return
        await anyio.sleep(FOLLOW_SECONDS)


async def _status(run_id: str | None, scope: Scope, ctx: Context) -> dict[str, Any]:
    stats = await ctx.store.stats(scope.project if ctx.confined else None)
    lift = await measured(scope, ctx)
    return {
        "skills": stats.skills,
        "episodes": stats.episodes,
        "scored": stats.scored,
        "outcomes": stats.outcomes,
        "patterns": stats.patterns,
        "memories": stats.memories,
        "uses": stats.uses,
        "embedding": ctx.index.state,
        "language_model": "on" if ctx.language else "off",
        **({} if ctx.confined else {"spent_usd": round(stats.cost_usd, 4)}),
        "training": await ctx.trainer.status(run_id) if ctx.trainer else "not part of this build",
        "memory_skills": _in_use(await ctx.store.adopted(), scope.project, ctx),
        **({"lift": lift} if lift else {}),
    }


def _in_use(adopted: Sequence[Adopted], project: str, ctx: Context) -> dict[str, Any] | str:
    """Which memory skills, and which controller, remember the project's episodes."""
    by_project = {each.project: each for each in adopted}
    found = by_project.get(project) or by_project.get("")
    if found is None:
        others = f" here, but in {', '.join(sorted(by_project))}" if by_project and not ctx.confined else ""
        return f"none in use{others}; mode train makes them"
    facts = {
        "controller": found.weights[:12] or "none: update, then insert",
        "run_id": found.run_id,
        "reward": found.reward,
        "untrained": found.before,
        "skills": len(found.skills),
        "since": found.at,
        "reason": found.reason,
    }
    return {name: value for name, value in facts.items() if value not in (None, "")}


TOOL = Tool(
    name="evolve_skills",
    description="Turn what worked into skills. auto does all: create, adjust, compose, prune (archives, restorable). "
    "Or one mode; rollback undoes; status reports. You may word skills yourself.",
    annotations=Annotations(read_only=False, destructive=False, idempotent=False, open_world=True),
    input=EvolveInput,
    output=EvolveOutput,
    handle=handle,
)
