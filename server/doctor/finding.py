"""What ``prowess doctor`` says of one thing that it looked at."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

__all__ = ["Finding", "State"]

State = Literal["ok", "warn", "fail"]


@dataclass(frozen=True, slots=True)
class Finding:
    """One line: what was looked at, how it is, and what mends it."""

    check: str
    state: State
    said: str
    mend: str = ""
