"""How a training run is told to a person; the whole of what is known of it is in the structured answer."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from prowess.learning.counting import counted

__all__ = ["in_words", "number", "progress_in_words", "training_in_words"]

# Told otherwise, or of use to programs and to who looks after the training alone.
UNTOLD = frozenset(
    {
        *("iteration", "iterations", "of", "stage"),
        *("best", "weights_sha256", "in_use_sha256", "before_error", "in_use_error"),
        *("spans_per_second", "entropy", "approx_kl", "value_loss"),
    }
)


def number(value: float) -> str:
    """Whole numbers without a point, others with four significant digits."""
    whole = isinstance(value, int) or value.is_integer()
    return str(int(value)) if whole else f"{value:.4g}"


def in_words(value: Any) -> str:
    """A value of a status: a mapping as names with their values."""
    if isinstance(value, Mapping):
        return ", ".join(f"{name} {in_words(item)}" for name, item in value.items()) or "none"
    return number(value) if isinstance(value, float) else str(value)


def training_in_words(told: Mapping[str, Any]) -> str:
    """A run as ``Trainer.status`` tells it."""
    if "run_id" not in told:
        return "no run yet" if told.get("status") == "none yet" else in_words(told)
    return "; ".join(filter(None, _parts(told)))


def _parts(told: Mapping[str, Any]) -> Iterator[str]:
    project = f" of project {told['project']}" if told.get("project") else ""
    resumed = f", resumed {counted(told['resumed'], 'time')}" if told.get("resumed") else ""
    yield f"run {told['run_id']}{project}: {told['status']}{resumed}"
    if "result" in told:
        yield _result(told["result"])
    else:
        yield progress_in_words(told.get("progress", {}))
    yield str(told.get("verdict", ""))
    yield str(told.get("reason", ""))
    yield _span(told)
    if told.get("settings"):
        yield f"settings: {in_words(told['settings'])}"
    others = {key: status for key, status in told.get("runs", {}).items() if key != told["run_id"]}
    if others:
        yield f"other runs: {in_words(others)}"


def _span(told: Mapping[str, Any]) -> str:
    times = [f"{word} {told[word]}" for word in ("started", "ended") if word in told]
    return ", ".join([*times, *([counted(told["episodes"], "episode")] if "episodes" in told else [])])


def progress_in_words(step: Mapping[str, Any]) -> str:
    """How far a run is."""
    done, total = step.get("iteration"), step.get("of")
    head = [str(step["stage"])] if "stage" in step else []
    head += [f"iteration {in_words(done)} of {in_words(total)}"] if done is not None and total is not None else []
    return ", ".join([*head, *_facts(step)])


def _result(result: Mapping[str, Any]) -> str:
    done, best = result.get("iterations"), result.get("iteration")
    found = [f"best at iteration {in_words(best)} of {in_words(done)}"] if best is not None and done is not None else []
    return ", ".join([*found, *_facts(result)])


def _facts(told: Mapping[str, Any]) -> list[str]:
    return [_fact(name, value) for name, value in told.items() if name not in UNTOLD]


def _fact(name: str, value: Any) -> str:
    told = in_words(value)
    match name:
        case "skills" | "episodes" if isinstance(value, int | float):
            return counted(int(value), name.removesuffix("s"))
        case "reward_before":
            return f"{told} without training"
        case "seconds":
            return f"in {told} s"
        case "seconds_left":
            return f"about {told} s left"
        case _:
            return f"{name.replace('_', ' ')} {told}"
