"""Loss and reward over the iterations: as a PNG, and as one line of text for a terminal."""

from __future__ import annotations

import io
import logging
from collections.abc import Mapping, Sequence

__all__ = ["draw", "spark"]

PANELS: tuple[tuple[str, tuple[str, ...]], ...] = (
    ("reward", ("reward", "validation", "best")),
    ("loss", ("policy_loss", "value_loss")),
    ("policy", ("entropy", "approx_kl", "clipfrac")),
)
BARS = "▁▂▃▄▅▆▇█"


def draw(history: Sequence[Mapping[str, float]]) -> bytes:
    """The curves of a run's metrics as a PNG."""
    # Where it makes its list of fonts and is slow, it says so on stderr, which is for what went wrong.
    logging.getLogger("matplotlib.font_manager").setLevel(logging.ERROR)
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure  # not pyplot: it would look for a display and keep figures for ever

    figure = Figure(figsize=(12, 3.6), layout="constrained")
    canvas = FigureCanvasAgg(figure)
    for place, (title, names) in enumerate(PANELS, start=1):
        axes = figure.add_subplot(1, len(PANELS), place)
        for name in names:
            points = [(row["iteration"], row[name]) for row in history if name in row]
            if points:
                axes.plot(*zip(*points, strict=True), label=name, marker="." if len(points) < 40 else None)
        axes.set_title(title)
        axes.set_xlabel("iteration")
        if axes.lines:
            axes.legend(fontsize="small")
    buffer = io.BytesIO()
    canvas.print_png(buffer, metadata={"Software": "prowess"})
    return buffer.getvalue()


def spark(values: Sequence[float], width: int = 40) -> str:
    """The last ``width`` values as bars, from the least to the greatest of them."""
    shown = values[-width:]
    if not shown:
        return ""
    low, span = min(shown), (max(shown) - min(shown)) or 1.0
    return "".join(BARS[min(int((value - low) / span * len(BARS)), len(BARS) - 1)] for value in shown)
