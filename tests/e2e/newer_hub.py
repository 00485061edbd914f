"""A hub of the next version, as a program: ``newer_hub.py PROTOCOL NEWER --home HOME``.

NEWER is what is newer in its stores: the catalog (which has one more table) or the log. Also the words of a shim of
that version, which starts it.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path

__all__ = ["VERSION", "newer_shim"]

VERSION = "0.2.0"
# The version of the program is put in its place before anything reads it.
SHIM = """
import sys
parent, version, protocol, *hub = sys.argv[1:]
sys.path.append(parent)
from shim import stream, wire
wire.VERSION, stream.PROTOCOL = version, int(protocol)
from shim.command import run
sys.exit(run(["--store", hub[-1]], hub=hub))
"""
LATER = "CREATE TABLE later (one INTEGER PRIMARY KEY) STRICT;\nINSERT INTO later VALUES (42);\n"


def newer_shim(home: Path, protocol: int = 1, newer: str = "catalog") -> list[str]:
    """The command of a shim of the next version, which starts hubs of that version."""
    import prowess.server.shim

    parent = str(Path(prowess.server.shim.__file__).parents[1])
    hub = [sys.executable, "-I", str(Path(__file__).resolve()), str(protocol), newer, "--home", str(home)]
    return [sys.executable, "-I", "-S", "-c", SHIM, parent, VERSION, str(protocol), *hub]


def main(protocol: str, newer: str, *arguments: str) -> int:
    import prowess
    import prowess.version

    prowess.version.__version__ = prowess.__version__ = VERSION
    from prowess.server.shim import stream

    stream.PROTOCOL = int(protocol)
    if newer == "catalog":
        _renew_catalog()
    else:
        _renew_log()
    from prowess.server.hub import process

    return process.main(arguments)


def _renew_catalog() -> None:
    from prowess.storage.catalog import migrate

    known = migrate.migrations()
    later = [*known, migrate.Migration(known[-1].version + 1, "later", LATER)]
    migrate.migrations = lambda: later


def _renew_log() -> None:
    from prowess.storage.log import tables

    assert "prowess.storage.log.file" not in sys.modules
    tables.SCHEMA += 1


if __name__ == "__main__":
    code = main(*sys.argv[1:])
    sys.stderr.flush()
    os._exit(code)
