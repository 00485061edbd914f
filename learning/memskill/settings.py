"""What a training run is told. docs/memskill.md explains each setting and has the paper's value beside it."""

from __future__ import annotations

from collections.abc import Mapping
from difflib import get_close_matches
from typing import Annotated, Any, Literal

import msgspec

from prowess.learning.memskill.memory import Limits
from prowess.learning.memskill.reward import Budget
from prowess.learning.memskill.traces import Shape
from prowess.storage.errors import InvalidInput

__all__ = ["PPO", "Settings", "understood"]

Whole = Annotated[int, msgspec.Meta(ge=1, le=1_000_000)]
Share = Annotated[float, msgspec.Meta(ge=0, le=1)]

HINT = "docs/memskill.md lists the settings and what is allowed; nothing was started"
LONGEST = 40  # of a name that is compared with the known ones, which takes time by the square of its length


class PPO(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Hyper-parameters. docs/memskill.md has the paper's beside them."""

    learning_rate: Annotated[float, msgspec.Meta(gt=0, le=1)] = 3e-3
    gamma: Share = 0.9
    gae_lambda: Share = 0.8
    clip: Annotated[float, msgspec.Meta(gt=0, le=1)] = 0.2
    value_clip: Annotated[float, msgspec.Meta(gt=0, le=1_000)] = 0.2
    entropy: Share = 0.01
    value: Annotated[float, msgspec.Meta(ge=0, le=100)] = 0.5
    max_grad_norm: Annotated[float, msgspec.Meta(gt=0, le=1_000)] = 0.5
    target_kl: Annotated[float, msgspec.Meta(gt=0, le=100)] = 0.05
    epochs: Annotated[int, msgspec.Meta(ge=1, le=1_000)] = 6
    minibatches: Annotated[int, msgspec.Meta(ge=1, le=1_000)] = 6


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
    half_life: Annotated[float, msgspec.Meta(gt=0, le=1_000_000)] = 100.0
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


class _Told(Settings, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """With what is said to who starts the run: False begins anew instead of going on with an interrupted one."""

    resume: bool = True


def understood(told: Mapping[str, Any]) -> dict[str, Any]:
    """The settings in ``told``, numbers out of text as well. Raises InvalidInput, naming the one that is off."""
    _check_names(told, _Told, "")
    if isinstance(told.get("ppo"), Mapping):
        _check_names(told["ppo"], PPO, "ppo.")
    try:
        read = msgspec.convert(dict(told), _Told, strict=False)
    except (msgspec.ValidationError, RecursionError) as error:
        reason, _, place = str(error).partition(" - at `$.")
        name = place.rstrip("`") or "settings"
        raise InvalidInput(f"training setting {name}: {reason[:1].lower()}{reason[1:]}", hint=HINT) from None
    plain = msgspec.json.decode(msgspec.json.encode(read))
    found = {name: plain[name] for name in told}
    if isinstance(told.get("ppo"), Mapping):
        found["ppo"] = {name: found["ppo"][name] for name in told["ppo"]}
    return found


def _check_names(told: Mapping[str, Any], kind: type[msgspec.Struct], place: str) -> None:
    for name in told:
        if name not in kind.__struct_fields__:
            raise InvalidInput(f"there is no training setting {place}{name[:LONGEST]}{_meant(name, kind)}", hint=HINT)


def _meant(name: str, kind: type[msgspec.Struct]) -> str:
    if kind is _Told and name in PPO.__struct_fields__:
        return f' (did you mean "ppo": {{"{name}": …}}?)'
    near = get_close_matches(name, kind.__struct_fields__, n=1) if len(name) <= LONGEST else []
    return f" (did you mean {near[0]!r}?)" if near else ""
