"""What a run is told (``--settings FILE``, JSON). docs/memskill.md explains each and the paper's value beside it."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

import msgspec

from prowess.learning.memskill.memory import Limits
from prowess.learning.memskill.reward import Budget
from prowess.learning.memskill.traces import Shape
from prowess.training.ppo import PPO

__all__ = ["Settings", "SettingsRefused", "read_settings"]

Whole = Annotated[int, msgspec.Meta(ge=1, le=1_000_000)]
Share = Annotated[float, msgspec.Meta(ge=0, le=1)]


class SettingsRefused(Exception):
    """The settings are not ones that a run can be made with."""

    def __init__(self, message: str, *, hint: str = "") -> None:
        super().__init__(message)
        self.hint = hint


class Settings(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """All have a default. ``embedding``: default, none (hashed words), or a sentence-transformers name or folder."""

    seed: Annotated[int, msgspec.Meta(ge=0, le=2**31)] = 0
    iterations: Whole = 60
    rollouts: Whole = 12
    k: Annotated[int, msgspec.Meta(ge=1, le=4)] = 2
    hidden: Annotated[int, msgspec.Meta(ge=8, le=1024)] = 256
    key: Annotated[int, msgspec.Meta(ge=4, le=512)] = 64
    ppo: PPO = PPO()

    embedding: str = "default"
    episodes: Whole = 500
    span: Annotated[int, msgspec.Meta(ge=1, le=64)] = 4
    steps: Annotated[int, msgspec.Meta(ge=1, le=500)] = 40
    trace_episodes: Annotated[int, msgspec.Meta(ge=2, le=500)] = 25
    queries: Whole = 60
    validation: Share = 0.2

    memory_items: Whole = 200
    memory_tokens: Annotated[tuple[Whole, ...], msgspec.Meta(min_length=1, max_length=8)] = (1_000, 2_000)
    importance: Share = 0.9
    half_life: Annotated[float, msgspec.Meta(gt=0)] = 100.0
    recall_k: Whole = 10
    answer_tokens: Whole = 1_000
    f1_share: Share = 0.2
    reward: Literal["embedded", "language"] = "embedded"

    policy: Literal["learned", "uniform"] = "learned"
    designer: Literal["embedded", "language", "none"] = "embedded"
    executor: Literal["embedded", "language"] = "embedded"
    evaluate_every: Whole = 5
    design_every: Whole = 10
    design_changes: Annotated[int, msgspec.Meta(ge=1, le=10)] = 1
    design_rounds: Annotated[int, msgspec.Meta(ge=0, le=100)] = 6
    teach_rounds: Annotated[int, msgspec.Meta(ge=0, le=1_000)] = 40
    patience: Whole = 3
    hard_below: Share = 0.5
    least_gain: Share = 0.002
    most_skills: Annotated[int, msgspec.Meta(ge=5, le=200)] = 30
    new_skill_bias: Annotated[float, msgspec.Meta(ge=0, le=20)] = 1.5
    new_skill_iterations: Whole = 10

    language_usd: Annotated[float, msgspec.Meta(ge=0, le=10_000)] = 1.0

    @property
    def limits(self) -> tuple[Limits, ...]:
        """The memory limits that are trained and evaluated under."""
        return tuple(
            Limits(items=self.memory_items, tokens=tokens, importance_share=self.importance, half_life=self.half_life)
            for tokens in self.memory_tokens
        )

    @property
    def budget(self) -> Budget:
        """What a query may read."""
        return Budget(k=self.recall_k, tokens=self.answer_tokens, f1_share=self.f1_share)

    @property
    def shape(self) -> Shape:
        """How episodes are cut into traces."""
        return Shape(span=self.span, steps=self.steps, episodes=self.trace_episodes, queries=self.queries)


def read_settings(path: Path) -> Settings:
    """The settings in a file. Raises SettingsRefused, naming the setting and what is allowed."""
    try:
        return msgspec.json.decode(path.read_bytes(), type=Settings)
    except OSError as error:
        raise SettingsRefused(f"{path}: {error.strerror}") from error
    except (msgspec.MsgspecError, RecursionError) as error:
        raise SettingsRefused(f"the settings: {error}", hint="docs/memskill.md lists them") from error
