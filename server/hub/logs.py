"""The hub's log: a file that rotates and holds no payloads.

What other libraries say may quote what they were given, and so may the text of an exception: of the former only the
place is kept, of the latter the kind and where it was raised.
"""

from __future__ import annotations

import logging
import os
import traceback
from io import TextIOWrapper
from logging.handlers import RotatingFileHandler
from pathlib import Path
from types import TracebackType

from prowess.server.shim.ordinary import NotOrdinaryError, opened
from prowess.storage.errors import StoreError

__all__ = ["explain", "start_logging"]

MAX_BYTES = 1_000_000
KEPT = 3
CODE = "prowess"  # loggers of this name and below are ours

Caught = tuple[type[BaseException], BaseException, TracebackType | None] | tuple[None, None, None]


class _Discreet(logging.Formatter):
    def format(self, record: logging.LogRecord) -> str:
        if record.name.partition(".")[0] != CODE:
            place = f"{Path(record.pathname).name}:{record.lineno}"
            record = logging.makeLogRecord({**record.__dict__, "msg": place, "args": (), "message": place})
        record.exc_text = None  # another handler may have cached one that says more
        return super().format(record)

    def formatException(self, ei: Caught) -> str:  # noqa: N802 - the base class names it
        return "".join(_told(ei[1])) if ei[1] is not None else ""


class _Rotating(RotatingFileHandler):
    """Waits for nobody to read what it writes."""

    def _open(self) -> TextIOWrapper:
        try:
            descriptor = opened(self.baseFilename, os.O_WRONLY | os.O_CREAT | os.O_APPEND)
        except NotOrdinaryError as error:
            raise OSError(error.errno, f"{error.strerror}: move it away", self.baseFilename) from None
        return open(descriptor, "a", encoding=self.encoding, errors=self.errors)  # noqa: PTH123 - no path


def _told(error: BaseException, depth: int = 0) -> list[str]:
    frames = traceback.extract_tb(error.__traceback__)
    places = [f"  {Path(frame.filename).name}:{frame.lineno} {frame.name}\n" for frame in frames]
    said = [*places, f"{type(error).__name__}\n"]
    inner = error.exceptions if isinstance(error, BaseExceptionGroup) else ()
    for cause in (*inner, error.__cause__):
        if cause is not None and depth < 5:
            said += ["from ", *_told(cause, depth + 1)]
    return said


def start_logging(path: Path, level: str) -> logging.Handler:
    """Log to ``path`` from now on. Raises OSError where that cannot be written."""
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    handler = _Rotating(path, maxBytes=MAX_BYTES, backupCount=KEPT, encoding="utf-8", errors="replace")
    handler.setFormatter(_Discreet("%(asctime)s %(process)d %(levelname)s %(name)s: %(message)s"))
    root = logging.getLogger()
    root.addHandler(handler)
    root.setLevel(level)
    # Starting, leaving and who connects is worth a line at every level.
    logging.getLogger("prowess.server.hub").setLevel(min(logging.INFO, root.level))
    logging.raiseExceptions = False  # a full disk must not fill stderr, nor stop the hub
    return handler


def explain(error: StoreError) -> str:
    """An error of the store in one line; its words name files and settings, not what was stored."""
    return " — ".join(part for part in (str(error), error.hint) if part)
