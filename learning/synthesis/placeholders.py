"""What a placeholder stands for, in a sentence, where nobody described it."""

from __future__ import annotations

import re
from typing import Any

import msgspec

from prowess.learning.synthesis.calls import words_of
from prowess.learning.synthesis.grammar import spelled_out
from prowess.learning.synthesis.pieces import ARGUMENTS
from prowess.learning.text import cut_at_word
from prowess.storage.models import Parameter

__all__ = ["placeholder_in_words"]

LONGEST_EXAMPLE = 60  # characters

_SOURCES = {"task": ", as the task says {}", "observation": ", as an earlier step answers {}"}
_NUMBER = re.compile(r"_(\d+)$")
_SINGULAR = ("ss", "us", "is")  # of words that end with an s
_PIECE = re.compile(r"_part(?:_\d+)?$")


def placeholder_in_words(parameter: Parameter) -> str:
    """Its description, or what its name, source and first example tell: ``The order ID, as the task says it, such as
    "#W12".``"""
    if parameter.description:
        return parameter.description
    piece = _PIECE.search(parameter.name)
    name = _NUMBER.sub("", _PIECE.sub("", parameter.name))
    another = _NUMBER.search(parameter.name) is not None
    if name.endswith(ARGUMENTS):
        program = name.removesuffix(ARGUMENTS).replace("_", " ")
        told, many = f"{'Other' if another else 'The'} arguments of {program}", True
    elif piece:
        told, many = f"{'Another' if another else 'The'} part of the {_thing(name)}", False
    else:
        thing = _thing(name)
        many = thing.endswith("s") and not thing.endswith(_SINGULAR)
        told = f"{'The' if not another else 'Other' if many else 'Another'} {thing}"
    source = _SOURCES.get(parameter.source, "").format("them" if many else "it")
    shown = f", such as {_text(parameter.examples[0])}" if parameter.examples else ""
    return f"{told}{source}{shown}."


def _thing(name: str) -> str:
    """The name in words: ``fileName2`` is *file name 2*, ``cityA`` *city A*, and ``a`` says no more than its letter."""
    words = spelled_out(words_of(re.sub(r"(?<=[a-z])(?=\d+$)", "_", name)))
    if words and len(words[-1]) == 1:
        words[-1] = words[-1].upper() if len(words) > 1 else f"option {words[-1]}"
    return " ".join(words) or "value"


def _text(example: Any) -> str:
    """Of a long text the beginning, of a long path the end; both in their quotes."""
    text = msgspec.json.encode(example).decode()
    if len(text) <= LONGEST_EXAMPLE:
        return text
    if not isinstance(example, str):
        return cut_at_word(text, LONGEST_EXAMPLE)
    if not re.search(r"\s", example) and "/" in example:
        kept = text[1 - LONGEST_EXAMPLE : -1]
        return f'"…{kept[max(kept.find("/"), 0) :]}"'
    return f'{cut_at_word(text[:-1], LONGEST_EXAMPLE - 1)}"'
