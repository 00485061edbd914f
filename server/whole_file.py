"""Files that are written whole or not at all."""

from __future__ import annotations

import os
from pathlib import Path

__all__ = ["write_whole"]


def write_whole(path: Path, content: bytes, *, mode: int | None = 0o600, sync: bool = False) -> None:
    """Put ``content`` at ``path``, where whoever reads finds it, or what was there before. Raises OSError.

    Not for two who write at once. ``mode`` None is what the umask leaves; with ``sync`` it is on disk when this
    returns, but for its name.
    """
    fresh = path.with_name(f".{path.name}.prowess-new")
    fresh.unlink(missing_ok=True)  # of a run that was killed; a link that came with a project is not written through
    try:
        created = os.open(fresh, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o666 if mode is None else 0o600)
        with os.fdopen(created, "wb") as file:
            file.write(content)
            if sync:
                file.flush()
                os.fsync(file.fileno())
        if mode is not None:
            fresh.chmod(mode)
        fresh.replace(path)
    except OSError as error:
        if error.filename is None:  # as of a write to a full disk
            error.filename = str(path)
        raise
    finally:
        fresh.unlink(missing_ok=True)
