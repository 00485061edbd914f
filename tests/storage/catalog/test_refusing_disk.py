"""A catalog on a disk that refuses."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest
from catalogkit import cursor, envelopes, feed, opened, remembered

from prowess.storage.catalog import Catalog
from prowess.storage.catalog.adapter import Backend, Connection
from prowess.storage.errors import StoreBusy, StoreReadOnly, StoreUnavailable


def test_a_batch_on_a_full_disk_changes_nothing_and_can_be_repeated(
    small_disk: Callable[[str], Path], backend: Backend
) -> None:
    folder = small_disk("size=1m")
    catalog = Catalog(folder / "catalog.db", backend=backend)
    feed(catalog, opened("before"))
    ballast = folder / "ballast"
    ballast.write_bytes(bytes(os.statvfs(folder).f_bavail * os.statvfs(folder).f_frsize))
    batch = envelopes([remembered(f"m{i}", f"text {i} " * 40) for i in range(200)], first=2)
    with pytest.raises(StoreUnavailable) as caught:
        catalog.apply(batch, cursor(201))
    assert caught.value.hint
    assert (catalog.cursor(), catalog.stats().memories) == (cursor(1), 0)
    ballast.unlink()
    catalog.apply(batch, cursor(201))
    assert (catalog.cursor(), catalog.stats().memories) == (cursor(201), 200)
    catalog.close()


def test_a_new_catalog_on_a_full_disk_is_unavailable(small_disk: Callable[[str], Path], backend: Backend) -> None:
    folder = small_disk("size=16k")
    with pytest.raises(StoreUnavailable):
        Catalog(folder / "catalog.db", backend=backend)


def test_a_read_only_folder_is_unavailable(small_disk: Callable[[str], Path], backend: Backend) -> None:
    folder = small_disk("size=16k,ro")
    with pytest.raises(StoreReadOnly, match="the store is read-only"):
        Catalog(folder / "catalog.db", backend=backend)


def test_a_disk_that_takes_no_further_file_is_full(small_disk: Callable[[str], Path], backend: Backend) -> None:
    folder = small_disk("size=8m,nr_inodes=20")
    path = folder / "catalog.db"
    catalog = Catalog(path, backend=backend)
    feed(catalog, opened("before"))
    catalog.close()
    ballast = [folder / f"ballast-{number}" for number in range(os.statvfs(folder).f_favail)]
    for each in ballast:
        each.touch()
    with pytest.raises(StoreUnavailable, match="the disk is full"):
        Catalog(path, backend=backend)
    for each in ballast:
        each.unlink()
    catalog = Catalog(path, backend=backend)
    assert catalog.stats().episodes == 1
    catalog.close()


def test_a_full_disk_is_read_alone_and_shared_again_once_there_is_room(
    small_disk: Callable[[str], Path], backend: Backend
) -> None:
    folder = small_disk("size=1m")
    path = folder / "catalog.db"
    catalog = Catalog(path, backend=backend)
    feed(catalog, opened("before"))
    catalog.close()
    ballast = folder / "ballast"
    ballast.write_bytes(bytes(os.statvfs(folder).f_bavail * os.statvfs(folder).f_frsize))
    catalog = Catalog(path, backend=backend)
    for _ in range(2):
        assert str(catalog.refused).startswith("the disk is full")
        assert catalog.stats().episodes == 1
        catalog.reopen()
    with pytest.raises(StoreBusy):
        Connection(path, backend=backend, read_only=True).execute("SELECT count(*) FROM episodes")
    ballast.unlink()
    catalog.reopen()
    assert (catalog.refused, catalog.stats().episodes) == (None, 1)
    other = Connection(path, backend=backend, read_only=True)
    assert other.execute("SELECT count(*) FROM episodes") == [(1,)]
    other.close()
    catalog.close()
