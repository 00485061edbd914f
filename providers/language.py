"""The language model's two jobs: wording a skill, and extracting one from a successful episode.

Only used where the user has set a key; without one ``load`` gives None, nothing is imported and nothing is sent.
What the model says is checked here and nothing of it is trusted beyond that: names, lengths, tools, placeholders.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Sequence
from typing import Any, TypeVar

import msgspec

from prowess.providers.errors import BadAnswer
from prowess.providers.language_settings import DEFAULT_MODEL, LanguageSettings
from prowess.providers.messages import Messages, Question, parsed
from prowess.providers.prompts import EXTRACTED_SCHEMA, SYSTEM, WORDED_SCHEMA, extract_prompt, word_prompt
from prowess.providers.spend import ModelCall, Record, Spend, SpentToday
from prowess.storage.models import Parameter, Skill, SkillStep, Trajectory

__all__ = ["DEFAULT_MODEL", "Extracted", "LanguageModel", "LanguageSettings", "ModelCall", "Worded", "load"]

MAX_NAME = 64
MAX_DESCRIPTION = 500
MAX_STEPS = 50
MAX_ARGS = 10_000  # bytes of one step's template
MAX_DEPTH = 32

_KEBAB = re.compile(r"[a-z][a-z0-9]*(-[a-z0-9]+)*")
# ``{name}`` is a placeholder, ``{{name}}`` the literal ``{name}``: the notation of skill templates.
_PLACEHOLDER = re.compile(r"\{\{[A-Za-z_]\w*\}\}|\{([A-Za-z_]\w*)\}")

T = TypeVar("T")


class Worded(msgspec.Struct, frozen=True, kw_only=True):
    """A skill's name (kebab-case, at most 64 characters) and description (one line, at most 500)."""

    name: str
    description: str


class Extracted(Worded, frozen=True, kw_only=True):
    """A skill as the model proposes it: at least one step, only tools of the episode; ``parameters`` as they occur."""

    steps: tuple[SkillStep, ...]
    parameters: tuple[Parameter, ...] = ()


class _WordedAnswer(msgspec.Struct):
    name: str
    description: str


class _StepAnswer(msgspec.Struct):
    tool: str
    args_template: str | dict[str, Any] | None = None  # servers without schemas send the object itself


class _ExtractedAnswer(msgspec.Struct):
    name: str
    description: str
    steps: list[_StepAnswer]


class LanguageModel:
    """Asks the model. All methods raise LanguageError; every call, failed or not, is recorded with its cost."""

    def __init__(self, messages: Messages) -> None:
        self._messages = messages

    async def word_skill(self, skill: Skill, tasks: Sequence[str] = ()) -> Worded:
        """A name and description for ``skill``; ``tasks`` are users' words from its episodes (the first 8 count)."""
        question = Question(purpose="word_skill", system=SYSTEM, prompt=word_prompt(skill, tasks), schema=WORDED_SCHEMA)
        return await self._messages.ask(question, _read_worded)

    async def extract_skill(self, task: str, trajectory: Trajectory) -> Extracted:
        """A skill from a successful episode, after the skill library's prompt."""
        tools = {step.verb for step in trajectory.steps}
        question = Question(
            purpose="extract_skill",
            system=SYSTEM,
            prompt=extract_prompt(task, trajectory.steps),
            schema=EXTRACTED_SCHEMA,
        )
        return await self._messages.ask(question, lambda text: _read_extracted(text, tools))

    async def aclose(self) -> None:
        """Close the connections."""
        await self._messages.aclose()


def load(settings: LanguageSettings, *, record: Record, spent_today: SpentToday) -> LanguageModel | None:
    """The model, or None without a key.

    ``record`` stores a call for good (the ``model.answered`` event), ``spent_today`` tells the dollars of the calls
    stored since midnight UTC; both are awaited around each call.
    """
    if not settings.configured:
        return None
    return LanguageModel(Messages(settings, Spend(settings.daily_usd, record, spent_today)))


def _read_worded(text: str) -> Worded:
    answer = parsed(text, _WordedAnswer)
    return Worded(name=_name(answer.name), description=_description(answer.description))


def _read_extracted(text: str, tools: Collection[str]) -> Extracted:
    answer = parsed(text, _ExtractedAnswer)
    if not 1 <= len(answer.steps) <= MAX_STEPS:
        raise BadAnswer(f"the model proposed {len(answer.steps)} steps where 1 to {MAX_STEPS} are expected")
    steps = tuple(_step(step, tools) for step in answer.steps)
    return Extracted(
        name=_name(answer.name),
        description=_description(answer.description),
        steps=steps,
        parameters=_parameters(steps),
    )


def _name(text: str) -> str:
    name = "-".join(re.split(r"[\s_-]+", text.strip().lower()))
    if not _KEBAB.fullmatch(name) or len(name) > MAX_NAME:
        raise BadAnswer(f"the model named a skill {text[:80]!r} where a kebab-case name is expected")
    return name


def _description(text: str) -> str:
    line = " ".join("".join(char if char.isprintable() else " " for char in text).split())
    if not 1 <= len(line) <= MAX_DESCRIPTION:
        raise BadAnswer(f"the model's description has {len(line)} characters where 1 to {MAX_DESCRIPTION} are expected")
    return line


def _step(answer: _StepAnswer, tools: Collection[str]) -> SkillStep:
    if answer.tool not in tools:
        raise BadAnswer(f"the model proposed the tool {answer.tool[:80]!r}, which is not in the episode")
    return SkillStep(tool=answer.tool, args_template=_template(answer.args_template))


def _template(given: str | dict[str, Any] | None) -> dict[str, Any]:
    if isinstance(given, str):
        given = _arguments(given) if given else None
    size = _size(given or {})
    if size > MAX_ARGS:
        raise BadAnswer(f"the model's arguments have {size} bytes where {MAX_ARGS} are allowed")
    return given or {}


def _size(value: dict[str, Any]) -> int:
    try:
        return len(msgspec.json.encode(value))
    except RecursionError as error:
        raise BadAnswer("the model's arguments are nested too deeply") from error


def _arguments(text: str) -> dict[str, Any]:
    try:
        return msgspec.json.decode(text, type=dict[str, Any])
    except (msgspec.DecodeError, UnicodeError, RecursionError) as error:
        raise BadAnswer(f"the model's arguments are no JSON object: {error}") from error


def _parameters(steps: Sequence[SkillStep]) -> tuple[Parameter, ...]:
    texts = [text for step in steps for text in _texts(step.args_template, MAX_DEPTH)]
    names = (found[1] for text in texts for found in _PLACEHOLDER.finditer(text) if found[1])
    return tuple(Parameter(name=name) for name in dict.fromkeys(names))


def _texts(value: Any, depth: int) -> Iterator[str]:
    """All texts in a JSON value, keys left out."""
    if depth == 0:
        raise BadAnswer(f"the model's arguments are nested deeper than {MAX_DEPTH} levels")
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict | list):
        for item in value.values() if isinstance(value, dict) else value:
            yield from _texts(item, depth - 1)
