"""What a placeholder stands for, in a sentence, where nobody described it."""

from __future__ import annotations

import re
from typing import Any

import msgspec

from prowess.learning.synthesis.calls import words_of
from prowess.learning.synthesis.grammar import spelled_out
from prowess.learning.synthesis.pieces import ARGUMENTS
from prowess.storage.models import Parameter

__all__ = ["placeholder_in_words"]

LONGEST_EXAMPLE = 60  # characters

_SOURCES = {"task": ", as the task says it", "observation": ", as an earlier step answers it"}
_NUMBER = re.compile(r"_(\d+)$")
_PIECE = re.compile(r"_part(?:_\d+)?$")


def placeholder_in_words(parameter: Parameter) -> str:
    """Its description, or what its name, source and first example tell: ``The order ID, as the task says it, such as
    "#W12".``"""
    if parameter.description:
        return parameter.description
    piece = _PIECE.search(parameter.name)
    name = _NUMBER.sub("", _PIECE.sub("", parameter.name))
    another = "Another" if _NUMBER.search(parameter.name) else "The"
    if name.endswith(ARGUMENTS):
        program = name.removesuffix(ARGUMENTS).replace("_", " ")
        told = f"{'Other' if another == 'Another' else 'The'} arguments of {program}"
    else:
        thing = " ".join(spelled_out(words_of(name))) or "value"
        told = f"{another} part of the {thing}" if piece else f"{another} {thing}"
    shown = f", such as {_text(parameter.examples[0])}" if parameter.examples else ""
    return f"{told}{_SOURCES.get(parameter.source, '')}{shown}."


def _text(example: Any) -> str:
    text = msgspec.json.encode(example).decode()
    return text if len(text) <= LONGEST_EXAMPLE else text[: LONGEST_EXAMPLE - 1] + "…"
