"""A process that may open no more files is told so, whatever the database client does then."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from prowess.storage.catalog.adapter import libsql_available

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="Windows bounds no files")

SECONDS = 60.0
# Leaves room for 0, 1, 2, ... more files, until a catalog can be opened.
PROGRAM = """
import os, resource, sys
from pathlib import Path
from prowess.storage.catalog.adapter import Connection
from prowess.storage.errors import StoreUnavailable

path, backend = Path(sys.argv[1]), sys.argv[2]
Connection(path, backend=backend).close()
free = os.open(os.devnull, os.O_RDONLY)
os.close(free)
most = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
for room in range(40):
    resource.setrlimit(resource.RLIMIT_NOFILE, (free + room, most))
    try:
        connection = Connection(path, backend=backend)
        connection.execute("SELECT * FROM sqlite_master")
    except StoreUnavailable as error:
        print(room, error)
    else:
        print("opened")
        break
"""


@pytest.mark.parametrize(
    "backend", ["sqlite3", pytest.param("libsql", marks=pytest.mark.skipif(not libsql_available(), reason="not here"))]
)
def test_it_is_told_until_there_is_room(tmp_path: Path, backend: str) -> None:
    words = [sys.executable, "-I", "-c", PROGRAM, str(tmp_path / "catalog.db"), backend]
    ended = subprocess.run(words, capture_output=True, text=True, timeout=SECONDS, check=False)
    assert ended.returncode == 0, ended.stderr
    refused, opened = ended.stdout.splitlines()[:-1], ended.stdout.splitlines()[-1]
    assert opened == "opened"
    assert refused
    assert all("the catalog cannot be opened" in line for line in refused), refused
