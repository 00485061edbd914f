"""JSON schemas as small as they can be: every client reads all of them at every start.

What they leave out (lengths, bounds of rare use, the inside of nested objects) the server checks all the same, and says
in words what is wrong.
"""

from __future__ import annotations

from typing import Any

__all__ = ["input_schema", "output_schema"]

_LEFT_OUT = {"title", "$defs", "maxLength", "maxItems", "minimum", "maximum", "exclusiveMinimum"}


def input_schema(schema: dict[str, Any]) -> dict[str, Any]:
    """pydantic's schema of an input without titles, ``$defs``, the null that means "left out", and lengths."""
    definitions = schema.get("$defs", {})
    properties = {name: _slim(node, definitions) for name, node in schema["properties"].items()}
    required = {"required": schema["required"]} if "required" in schema else {}
    return {"type": "object", "properties": properties, **required}


def output_schema(schema: dict[str, Any]) -> dict[str, Any]:
    """pydantic's schema of an output with the types of its own fields alone."""
    definitions = schema.get("$defs", {})
    properties = {name: {"type": _slim(node, definitions)["type"]} for name, node in schema["properties"].items()}
    return {"type": "object", "properties": properties, "required": schema.get("required", [])}


def _slim(node: dict[str, Any], definitions: dict[str, Any]) -> dict[str, Any]:
    node = _without_null(_resolved(node, definitions))
    kept = {key: value for key, value in node.items() if key not in _LEFT_OUT and _says_something(key, value)}
    if "items" in kept:
        kept["items"] = _slim(kept["items"], definitions)
    return kept


def _resolved(node: dict[str, Any], definitions: dict[str, Any]) -> dict[str, Any]:
    reference = node.get("$ref")
    if reference is None:
        return node
    rest = {key: value for key, value in node.items() if key != "$ref"}
    return {**definitions[reference.rpartition("/")[2]], **rest}


def _without_null(node: dict[str, Any]) -> dict[str, Any]:
    options = [option for option in node.get("anyOf", []) if option != {"type": "null"}]
    if len(options) != 1:
        return node
    return {**options[0], **{key: value for key, value in node.items() if key != "anyOf"}}


def _says_something(key: str, value: Any) -> bool:
    if key == "default":
        return value is not None and value is not False and value != ""
    return not (key == "additionalProperties" and value is True)
