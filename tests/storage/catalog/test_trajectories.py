from __future__ import annotations

from pathlib import Path

import pytest
from catalogkit import at, feed, opened, scored, step

from prowess.storage.catalog import Catalog, read_trajectories
from prowess.storage.catalog.adapter import Backend
from prowess.storage.errors import StoreUnavailable


def shape(catalog: Catalog, backend: Backend, **wanted: str) -> dict[str, list[int]]:
    found = read_trajectories(catalog.path, backend=backend, **wanted)  # type: ignore[arg-type]
    return {one.episode.id: [each.number for each in one.steps] for one in found}


def test_episodes_come_as_opened_with_their_steps_as_they_happened(catalog: Catalog, backend: Backend) -> None:
    feed(catalog, opened("late", at=at(9)), opened("early", at=at(1)), opened("empty", at=at(5)))
    feed(catalog, step(2, "late", at=at(3)), step(1, "late", at=at(4)))
    feed(catalog, step(2, "early", numbered=True, at=at(3)), step(1, "early", numbered=True, at=at(4)))
    assert shape(catalog, backend) == {"early": [1, 2], "empty": [], "late": [2, 1]}


def test_trajectories_can_be_narrowed(catalog: Catalog, backend: Backend) -> None:
    feed(catalog, opened("a", at=at(1)), opened("b", at=at(2), project="bank"), opened("c", at=at(3), task_id="t2"))
    feed(catalog, step(1, "a"), step(1, "b"), step(1, "c"))
    assert shape(catalog, backend, project="shop") == {"a": [1], "c": [1]}
    assert shape(catalog, backend, since=at(2)) == {"b": [1], "c": [1]}
    assert shape(catalog, backend, project="shop", task_id="t2") == {"c": [1]}


def test_a_trajectory_is_what_the_catalog_says(catalog: Catalog, backend: Backend) -> None:
    feed(
        catalog, opened("e1"), step(1, "e1", tool="ls", arg_names=("path",), error="no <path>"), scored("r", 2.0, "e1")
    )
    [found] = read_trajectories(catalog.path, backend=backend)
    assert found.episode == catalog.episode("e1")
    assert found.steps == catalog.summaries("e1")
    assert found.steps[0].args == {"path": None}


def test_no_catalog_is_an_error_and_makes_none(tmp_path: Path) -> None:
    with pytest.raises(StoreUnavailable):
        read_trajectories(tmp_path / "catalog.db")
    assert list(tmp_path.iterdir()) == []
