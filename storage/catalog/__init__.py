"""The catalog: searchable metadata in libSQL, projected from the log's journal and always makeable anew."""

from __future__ import annotations

from prowess.storage.catalog.catalog import CATALOG_NAME, Catalog, Cursor, dump
from prowess.storage.catalog.index import VectorIndex
from prowess.storage.catalog.trajectories import Position, read_changes, read_trajectories

__all__ = [
    "CATALOG_NAME",
    "Catalog",
    "Cursor",
    "Position",
    "VectorIndex",
    "dump",
    "read_changes",
    "read_trajectories",
]
