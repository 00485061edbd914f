"""What a person sees: results on stdout, everything else on stderr, colour and bars only where wanted."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from io import TextIOWrapper
from pathlib import Path
from typing import TYPE_CHECKING, Any, TextIO

from prowess.learning.display import shown

if TYPE_CHECKING:
    from rich.console import Console, ConsoleOptions
    from rich.segment import Segment
    from rich.table import Table

__all__ = [
    "Tick",
    "Trimmed",
    "beginning",
    "console",
    "give_up_output",
    "open_streams",
    "printed",
    "progress",
    "show_json",
    "table",
]

_UNBOUNDED = 10_000
_GAP = 2  # between two columns
_TEXT = 20  # columns that the last cell of a row needs to be read in lines

Tick = Callable[[float], None]  # called with how much is done, in the unit of the total


def open_streams() -> None:
    """Make printing possible whatever surrounds us: what was closed swallows, and what cannot be encoded is escaped."""
    for name in ("stdout", "stderr"):
        stream = getattr(sys, name)
        if stream is None:
            setattr(sys, name, Path(os.devnull).open("w", encoding="utf-8"))  # noqa: SIM115 - for good
        elif isinstance(stream, TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")


def give_up_output() -> None:
    """Write to nowhere from here on; Python's own flush at exit must not complain either."""
    nothing = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nothing, sys.stdout.fileno())
    os.close(nothing)


def console(stream: TextIO, color: bool | None) -> Console:
    """A console on ``stream``. ``color`` None means: on a terminal, unless NO_COLOR says otherwise."""
    from rich.console import Console

    class Safe(Console):
        """What is told of stored text, paths and errors steers no terminal."""

        def print(self, *objects: Any, **options: Any) -> None:
            super().print(*(shown(told) if isinstance(told, str) else told for told in objects), **options)

    if color is None and os.environ.get("NO_COLOR"):
        color = False
    return Safe(
        file=stream,
        force_terminal=color,
        no_color=color is False,
        color_system="standard" if color else "auto",
        width=None if stream.isatty() else _UNBOUNDED,  # what a program reads is not wrapped or cut
        highlight=False,
        markup=False,
        emoji=False,
        soft_wrap=True,  # the terminal wraps: a path, an id or a command is copied from it as it was written
    )


class Trimmed:
    """A table without the spaces that fill its lines up to the widest one.

    Where the terminal leaves the last column, which is text, too little room, rows are lines for it to wrap. ``rest``
    is what the others take.
    """

    def __init__(self, whole: Table, rest: int) -> None:
        self._whole = whole
        self._rest = rest

    def fits(self, width: int) -> bool:
        """Whether so many columns leave the last one room."""
        return self._rest + _TEXT <= width

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> Iterator[Segment]:
        from rich.segment import Segment

        width = options.max_width if self.fits(options.max_width) else _UNBOUNDED
        options = options.update(width=width, no_wrap=None, overflow=None)
        for line in console.render_lines(self._whole, options, pad=False):
            while line and not line[-1].text.rstrip(" "):
                line.pop()
            if line:
                line[-1] = Segment(line[-1].text.rstrip(" "), line[-1].style)
            yield from (*line, Segment.line())


def table(headings: Sequence[str], rows: Iterable[Sequence[object]]) -> Trimmed:
    """A plain table; what is None is shown as a dash. Ids and names stay whole: only the last column is wrapped."""
    from rich.cells import cell_len
    from rich.table import Table

    shown = Table(box=None, pad_edge=False, header_style="bold", show_header=any(headings))
    cells = [[printed(cell) for cell in row] for row in rows]
    for heading in headings:
        shown.add_column(heading, overflow="fold", no_wrap=len(shown.columns) < len(headings) - 1)
    for row in cells:
        shown.add_row(*row)
    columns = list(zip(headings, *cells, strict=True))[:-1]
    return Trimmed(shown, sum(max(map(cell_len, column)) + _GAP for column in columns))


def beginning(text: str, length: int) -> str:
    """The first line of ``text`` in at most ``length`` characters, with "…" where something is left out."""
    line = text.strip().partition("\n")[0].rstrip()
    return line if len(line) <= length and line == text.strip() else f"{line[: length - 1].rstrip()}…"


def printed(value: object) -> str:
    """``value`` as one cell or word. Control characters are shown, not obeyed: stored text is not ours."""
    if value is None:
        return "-"
    if isinstance(value, float):
        return f"{value:.3g}"
    return shown(str(value), line=True)


def show_json(value: Any) -> None:
    """The one JSON document of a command."""
    plain = (sys.stdout.encoding or "").lower().replace("_", "-") not in ("utf-8", "utf8")
    # Within JSON an escape is the same text, and all that could need one stands in texts.
    sys.stdout.write(shown(json.dumps(value, ensure_ascii=plain, indent=2, default=str)) + "\n")


@contextmanager
def progress(label: str, total: float, color: bool | None) -> Iterator[Tick]:
    """A bar on stderr while the block runs; nothing where stderr is not a terminal."""
    if not sys.stderr.isatty():
        yield lambda _: None
        return
    from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn

    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        TextColumn("{task.percentage:>3.0f}%"),
        TimeRemainingColumn(),
    )
    with Progress(*columns, console=console(sys.stderr, color), transient=True) as bars:
        task = bars.add_task(label, total=total)
        yield lambda done: bars.update(task, completed=done)
