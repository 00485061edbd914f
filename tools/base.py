"""What every tool is made of: forgiving inputs, small outputs, and the description that clients list.

Models send numbers as strings, objects and arrays as JSON text, ``null`` or ``""`` for what they leave out, and fields
that do not exist. Inputs take all of that; what cannot be understood is refused with what to send instead.
"""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping, Sequence, Sized
from dataclasses import dataclass
from difflib import get_close_matches
from itertools import islice
from typing import Annotated, Any

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, ValidationError, WithJsonSchema, model_validator

from prowess.learning.display import shown, shown_value
from prowess.tools.context import Context
from prowess.tools.errors import ToolError
from prowess.tools.schema import input_schema, output_schema
from prowess.tools.text import clean, quote, to_json

__all__ = [
    "Annotations",
    "Input",
    "JsonList",
    "JsonObject",
    "Output",
    "Text",
    "Tool",
    "as_words",
    "check_count",
    "complaint",
    "from_json",
    "meant",
    "place_of",
    "unknown_fields",
]

_MAX_REPORTED = 5
_MAX_SURPLUS = 1_000  # fields that are looked at for those
_LONGEST_NAME = 40


def from_json(value: Any) -> Any:
    """``value``, parsed if it is text that holds a JSON object or array."""
    if isinstance(value, str) and value.lstrip()[:1] in ("{", "["):
        try:
            return clean(json.loads(value))
        except (ValueError, RecursionError):
            return value
    return value


def _as_text(value: Any) -> Any:
    if isinstance(value, bool | dict | list):
        return to_json(value)
    return value


def _as_object(value: Any) -> Any:
    value = from_json(value)
    return {"input": value} if isinstance(value, str) else value


def _as_list(value: Any) -> Any:
    value = from_json(value)
    return [value] if isinstance(value, dict | str) else value


def as_words(value: Any, most: int) -> Any:
    """A list; text is split at commas and spaces. ValueError beyond ``most`` items, each of which may be off."""
    value = from_json(value)
    if isinstance(value, str):
        value = value.replace(",", " ").split()
    if isinstance(value, list):
        check_count(value, most)
    return value


def check_count(items: Sized, most: int) -> None:
    """ValueError beyond ``most`` items. To be called before they are looked at: a million complaints take minutes."""
    if len(items) > most:
        raise ValueError(f"{len(items)} items are too many; send at most {most}")


Text = Annotated[str, BeforeValidator(_as_text)]
JsonObject = Annotated[dict[str, Any], BeforeValidator(_as_object)]
JsonList = Annotated[list[Any], BeforeValidator(_as_list), WithJsonSchema({"type": "array", "items": {}})]


class Input(BaseModel):
    """Base of all inputs. What is ``null`` or empty counts as left out."""

    # What does not exist is taken so that it can be named, wherever it stands; see unknown_fields.
    model_config = ConfigDict(extra="allow", coerce_numbers_to_str=True)

    @model_validator(mode="before")
    @classmethod
    def _leave_out_the_empty(cls, data: Any) -> Any:
        if not isinstance(data, Mapping):
            return data
        return {key: value for key, value in data.items() if value is not None and value != ""}


class Output(BaseModel):
    """Base of all outputs. ``notes`` tell the agent what was taken differently than it was sent.

    Fields may have stored text as it is: both forms of the answer show it as ``prowess.learning.display`` says.
    """

    notes: list[str] = Field(default_factory=list)

    def words(self) -> str:
        """What ``text`` says, with stored text as it is in lines that nothing stored can begin."""
        raise NotImplementedError

    def text(self) -> str:
        """The answer as the short text that older clients show."""
        return shown(self.words())

    def structured(self) -> dict[str, Any]:
        """The answer as the JSON object that ``outputSchema`` describes; what is unknown is left out."""
        content = self.model_dump(mode="json", exclude_none=True)
        if not self.notes:
            del content["notes"]
        safe: dict[str, Any] = shown_value(content)
        return safe


@dataclass(frozen=True, slots=True, kw_only=True)
class Annotations:
    """MCP's hints about a tool."""

    read_only: bool
    destructive: bool
    idempotent: bool
    open_world: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Tool:
    """One tool: what clients are told about it and what carries it out.

    ``handle`` takes an instance of ``input`` and gives one of ``output``; it raises ``ToolError`` or a ``StoreError``.
    """

    name: str
    description: str
    annotations: Annotations
    input: type[Input]
    output: type[Output]
    handle: Callable[[Any, Context], Awaitable[Output]]

    def input_schema(self) -> dict[str, Any]:
        return input_schema(self.input.model_json_schema())

    def output_schema(self) -> dict[str, Any]:
        return output_schema(self.output.model_json_schema(mode="serialization"))

    def parse(self, arguments: Mapping[str, Any]) -> tuple[Input, list[str]]:
        """The input and notes about fields that do not exist. Raises ``ToolError`` naming every field that is off."""
        fields = clean(dict(arguments))
        try:
            told = self.input.model_validate(fields)
            return told, unknown_fields(told)
        except ValidationError as error:
            raise ToolError(_complaint(self, error, fields), hint="Nothing was stored.") from None


def unknown_fields(told: Input, place: str = "") -> list[str]:
    """Notes about the first fields, of ``told`` and of what stands in its lists, that do not exist; each name once."""
    found: dict[str, str] = {}
    for name, model, at in islice(_surplus(told, place), _MAX_SURPLUS):
        found.setdefault(name, f"ignored {_unknown(name, model)}{f' in {at}' if at else ''}")
    return list(found.values())[:_MAX_REPORTED]


def _surplus(told: Input, place: str) -> Iterator[tuple[str, type[Input], str]]:
    """Each field that does not exist, with what it was sent in."""
    for name in told.model_extra or ():
        yield name, type(told), place
    for name, value in told.__dict__.items():
        for index, item in enumerate(value if isinstance(value, list) else ()):
            if isinstance(item, Input):
                yield from _surplus(item, f"{place}{'.' if place else ''}{name}[{index}]")


def _unknown(name: str, model: type[Input]) -> str:
    return f"unknown field {quote(name)}{meant(name, list(model.model_fields))}"


def _unknown_fields(model: type[Input], fields: Mapping[str, Any]) -> list[str]:
    unknown = islice((name for name in fields if name not in model.model_fields), _MAX_REPORTED)
    return [_unknown(name, model) for name in unknown]


def meant(name: str, known: Sequence[str]) -> str:
    """Words that name the nearest of ``known``, "" where none is near."""
    # Comparing takes time by the square of the length, and no field's name is long.
    near = get_close_matches(name, known, n=1) if len(name) <= _LONGEST_NAME else []
    return f" (did you mean {near[0]!r}?)" if near else ""


def _complaint(tool: Tool, error: ValidationError, fields: Mapping[str, Any]) -> str:
    problems = [_problem(tool, item) for item in error.errors()]
    unknown = _unknown_fields(tool.input, fields)
    shown = problems[:_MAX_REPORTED] + unknown
    if len(problems) > _MAX_REPORTED:
        shown.append(f"and {len(problems) - _MAX_REPORTED} more")
    return f"{tool.name}: " + "; ".join(shown)


def _problem(tool: Tool, item: Any) -> str:
    path = place_of(item["loc"]) or "arguments"
    if item["type"] == "missing":
        return f"{path} is missing{_expected(tool, item['loc'])}"
    if item["type"] == "value_error":
        return f"{path}: {item['ctx']['error']}"
    return f"{path}: {complaint(item)}{_expected(tool, item['loc'])}"


def place_of(location: Iterable[int | str]) -> str:
    """Where pydantic's ``loc`` points, as ``steps[0].tool``."""
    return "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in location).lstrip(".")


def complaint(item: Any) -> str:
    """What one of pydantic's ``errors()`` tells, and the value. It takes the characters of some texts for items."""
    said = item["ctx"]["error"] if item["type"] == "value_error" else item["msg"].lower()
    if item["type"] in ("dict_type", "model_type"):  # pydantic speaks of dictionaries, and of our classes by name
        said = "input should be an object"
    if item["type"] == "too_long" and isinstance(item["input"], str):
        said = f"string should have at most {item['ctx']['max_length']} characters, not {item['ctx']['actual_length']}"
    return f"{said}, got {quote(item['input'])}"


def _expected(tool: Tool, location: tuple[int | str, ...]) -> str:
    field = tool.input.model_fields.get(str(location[0])) if len(location) == 1 else None
    return f" (expected: {field.description})" if field and field.description else ""
