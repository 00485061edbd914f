"""A folder for a store, and file systems that refuse."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from storekit import Clock


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / "store"


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Callable[[str], Path]]:
    """Mounts a file system in memory with the options given; unmounted at the end, whatever happened."""
    if sys.platform != "linux" or os.geteuid() != 0:
        pytest.skip("mounting a small disk needs root on Linux")
    mounted: list[Path] = []

    def mount(options: str) -> Path:
        place = tmp_path / f"disk{len(mounted)}"
        if place not in mounted:
            place.mkdir()
            made = subprocess.run(["mount", "-t", "tmpfs", "-o", options, "tmpfs", str(place)], capture_output=True)
            if made.returncode:
                pytest.skip(f"no permission to mount: {made.stderr.decode().strip()}")
            mounted.append(place)
        return place

    yield mount
    for place in mounted:
        subprocess.run(["umount", "-l", str(place)], check=True)


@pytest.fixture
def remount() -> Callable[[Path, str], None]:
    def again(place: Path, options: str) -> None:
        subprocess.run(["mount", "-o", f"remount,{options}", str(place)], check=True, capture_output=True)

    return again
