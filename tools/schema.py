"""JSON schemas as small as they can be: every client reads all of them at every start."""

from __future__ import annotations

from typing import Any

__all__ = ["compact"]


def compact(schema: dict[str, Any]) -> dict[str, Any]:
    """``schema`` without titles, ``$defs``, and the null alternatives and defaults that mean "may be left out"."""
    slim: dict[str, Any] = _slim(schema, schema.get("$defs", {}))
    return slim


def _slim(node: Any, definitions: dict[str, Any]) -> Any:
    if isinstance(node, list):
        return [_slim(item, definitions) for item in node]
    if not isinstance(node, dict):
        return node
    node = _without_null(_resolved(node, definitions))
    kept = {
        key: value for key, value in node.items() if key not in ("title", "$defs", "default") or _is_default(key, value)
    }
    if "properties" in kept:
        kept["properties"] = {name: _slim(value, definitions) for name, value in kept["properties"].items()}
    return {
        key: value if key == "properties" else _slim(value, definitions)
        for key, value in kept.items()
        if _says_something(key, value)
    }


def _resolved(node: dict[str, Any], definitions: dict[str, Any]) -> dict[str, Any]:
    reference = node.get("$ref")
    if reference is None:
        return node
    return {**definitions[reference.rpartition("/")[2]], **{key: value for key, value in node.items() if key != "$ref"}}


def _without_null(node: dict[str, Any]) -> dict[str, Any]:
    options = node.get("anyOf")
    if options is None:
        return node
    options = [option for option in options if option != {"type": "null"}]
    rest = {key: value for key, value in node.items() if key != "anyOf"}
    return {**options[0], **rest} if len(options) == 1 else {"anyOf": options, **rest}


def _is_default(key: str, value: Any) -> bool:
    return key == "default" and isinstance(value, int | float | str) and not isinstance(value, bool) and value != ""


def _says_something(key: str, value: Any) -> bool:
    return not (key == "additionalProperties" and value is True)
