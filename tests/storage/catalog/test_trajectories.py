from __future__ import annotations

from pathlib import Path

import msgspec
import pytest
from catalogkit import at, feed, opened, scored, step

from prowess.storage.catalog import Catalog, Position, read_changes, read_trajectories, trajectories
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


def changed(
    catalog: Catalog, backend: Backend, since: Position | None, **wanted: str
) -> tuple[bool, set[str], Position]:
    with read_changes(catalog.path, backend=backend, since=since, **wanted) as changes:  # type: ignore[arg-type]
        assert changes.gone == ()
        return changes.whole, {one.episode.id for batch in changes.batches for one in batch}, changes.position


def test_only_what_changed_is_read_again(catalog: Catalog, backend: Backend) -> None:
    feed(catalog, opened("a"), opened("b", project="bank"), opened("c"), step(1, "a"))
    whole, found, position = changed(catalog, backend, None, project="shop")
    assert (whole, found) == (True, {"a", "c"})
    feed(catalog, step(2, "a"), opened("d"), scored("r", 2.0, "b"))
    whole, found, later = changed(catalog, backend, position)
    assert (whole, found) == (False, {"a", "b", "d"})
    assert changed(catalog, backend, later) == (False, set(), later)


def test_changed_episodes_come_with_all_their_steps(catalog: Catalog, backend: Backend) -> None:
    feed(catalog, opened("a"), step(1, "a"))
    _, _, position = changed(catalog, backend, None)
    feed(catalog, step(2, "a"))
    with read_changes(catalog.path, backend=backend, since=position) as changes:
        [[found]] = list(changes.batches)
    assert [one.number for one in found.steps] == [1, 2]


@pytest.mark.parametrize("other", [{"log_id": "other"}, {"epoch": 99}, {"seq": 1_000}])
def test_a_position_of_another_history_means_everything(
    catalog: Catalog, backend: Backend, other: dict[str, object]
) -> None:
    feed(catalog, opened("a"), step(1, "a"))
    _, _, position = changed(catalog, backend, None)
    assert changed(catalog, backend, msgspec.structs.replace(position, **other)) == (True, {"a"}, position)


def test_batches_together_are_all_episodes(catalog: Catalog, backend: Backend, monkeypatch: pytest.MonkeyPatch) -> None:
    feed(catalog, *[opened(f"e{number}") for number in range(7)])
    monkeypatch.setattr(trajectories, "BATCH", 3)
    with read_changes(catalog.path, backend=backend) as changes:
        assert [len(batch) for batch in changes.batches] == [3, 3, 1]
        assert changes.episodes == 7
