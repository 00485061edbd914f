"""What of a stored text becomes its vector: for a skill the mean of two views, its name and what it says it does.

One text of both drowns the name in a long description, and a query that names the thing is then no nearer to it. On
the build part of MetaTool the mean of both finds the right plugin first in .57 of the queries, the joined text in .51.
"""

from __future__ import annotations

import numpy as np

from prowess.learning.arrays import Singles
from prowess.learning.text import words

__all__ = ["blended", "model_name", "views"]

NAME_SHARE = 0.5  # of the description's weight


def model_name(embedder: str) -> str:
    """Under what name vectors are kept: another one than that of the embedder, since others are made with it."""
    return f"{embedder}+views-1"


def views(skill: str) -> tuple[str, str]:
    """Name, in words, and description of a skill's text as the catalog has it (``name. description``)."""
    name, _, told = skill.partition(". ")
    return " ".join(words(name)) or name, told or name


def blended(names: Singles, told: Singles) -> Singles:
    """Unit vectors, (n, dim), of which each speaks for a name and a description, given as unit vectors."""
    both = NAME_SHARE * names + told
    lengths = np.linalg.norm(both, axis=1, keepdims=True)
    # Opposite vectors cancel each other out; then the description speaks alone.
    return np.where(lengths > 1e-6, both / np.maximum(lengths, 1e-6), told).astype(np.float32, copy=False)
