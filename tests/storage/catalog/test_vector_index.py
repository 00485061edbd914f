from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from prowess.storage.catalog import VectorIndex
from prowess.storage.catalog.index import BLOCK, SHARED


def row(*values: float) -> np.ndarray:  # type: ignore[type-arg]
    return np.array(values, dtype=np.float32)


def rows(*values: tuple[float, ...]) -> np.ndarray:  # type: ignore[type-arg]
    return np.array(values, dtype=np.float32)


@pytest.fixture
def index() -> VectorIndex:
    made = VectorIndex(2)
    made.upsert(["east", "north", "northeast"], rows((1, 0), (0, 2), (3, 3)), ["", "shop", "bank"])
    return made


def test_the_nearest_come_first_with_their_cosines(index: VectorIndex) -> None:
    found = index.search(row(5, 0), 2)
    assert [key for key, _ in found] == ["east", "northeast"]
    assert [score for _, score in found] == pytest.approx([1.0, 0.5**0.5])


def test_vectors_are_told_by_id_at_length_one(index: VectorIndex) -> None:
    found = index.vectors(["northeast", "west", "north"])
    assert list(found) == ["northeast", "north"]
    assert found["northeast"] == pytest.approx([0.5**0.5, 0.5**0.5])
    found["north"][:] = 9
    assert index.vectors(["north"])["north"] == pytest.approx([0, 1])


def test_all_are_found_where_fewer_exist_than_wanted(index: VectorIndex) -> None:
    assert [key for key, _ in index.search(row(0, 1), 99)] == ["north", "northeast", "east"]


def test_a_project_finds_its_own_and_what_is_for_all(index: VectorIndex) -> None:
    assert [key for key, _ in index.search(row(1, 1), 9, project="bank")] == ["northeast", "east"]
    assert [key for key, _ in index.search(row(1, 1), 9, project="")] == ["east"]


def test_a_replaced_row_counts_with_its_new_place_and_project(index: VectorIndex) -> None:
    index.upsert(["east"], rows((0, 1)), ["bank"])
    assert len(index) == 3
    assert [key for key, _ in index.search(row(0, 1), 1, project="bank")] == ["east"]
    assert index.search(row(0, 1), 9, project="") == []


def test_a_deleted_row_is_gone_and_the_others_stay(index: VectorIndex) -> None:
    index.delete("east")
    index.delete("east")
    assert ("east" in index, "north" in index, len(index)) == (False, True, 2)
    assert [key for key, _ in index.search(row(1, 0), 9)] == ["northeast", "north"]
    assert [key for key, _ in index.search(row(1, 0), 9, project="shop")] == ["north"]


@pytest.mark.parametrize("vector", [row(0, 0), row(np.nan, 1), row(np.inf, 1)])
def test_a_vector_without_direction_finds_nothing(index: VectorIndex, vector: np.ndarray) -> None:  # type: ignore[type-arg]
    assert index.search(vector, 3) == []


def test_an_empty_index_finds_nothing() -> None:
    assert VectorIndex(2).search(row(1, 0), 3) == []


def test_equal_scores_are_cut_in_the_order_of_arrival() -> None:
    index = VectorIndex(2)
    index.upsert([f"v{i}" for i in range(200)], np.tile(row(1, 0), (200, 1)))
    assert [key for key, _ in index.search(row(1, 0), 5)] == ["v0", "v1", "v2", "v3", "v4"]


def test_wrong_shapes_are_refused(index: VectorIndex) -> None:
    with pytest.raises(ValueError, match="shape"):
        index.upsert(["a"], rows((1, 2, 3)))
    with pytest.raises(ValueError, match="shape"):
        index.upsert(["a", "b"], rows((1, 2)))


CHANGES = st.lists(
    st.tuples(st.sampled_from(["put", "delete"]), st.integers(0, 90), st.integers(0, 2**31), st.sampled_from("ab")),
    max_size=150,
)


@settings(max_examples=50, deadline=None)
@given(CHANGES, st.integers(0, 2**31), st.integers(1, 10))
def test_it_finds_what_a_plain_comparison_finds(
    changes: list[tuple[str, int, int, str]], seed: int, count: int
) -> None:
    index = VectorIndex(8)
    known: dict[str, tuple[np.ndarray, str]] = {}  # type: ignore[type-arg]
    for change, number, seeded, project in changes:
        key = f"v{number}"
        if change == "put":
            vector = np.random.default_rng(seeded).normal(size=8).astype(np.float32)
            index.upsert([key], vector[None], [project])
            known[key] = (vector / np.linalg.norm(vector), project)
        else:
            index.delete(key)
            known.pop(key, None)
    query = np.random.default_rng(seed).normal(size=8).astype(np.float32)
    for project in (None, "a"):
        cosines = {k: float(v @ query / np.linalg.norm(query)) for k, (v, p) in known.items() if project in (None, p)}
        expected = sorted(cosines.values(), reverse=True)[:count]
        found = index.search(query, count, project=project)
        assert [score for _, score in found] == pytest.approx(expected, abs=1e-5)
        assert all(score == pytest.approx(cosines[key], abs=1e-5) for key, score in found)


def test_several_questions_at_once_find_what_each_finds_alone() -> None:
    random = np.random.default_rng(5)
    dim = 256
    count = 2 * BLOCK // dim + 7
    index = VectorIndex(dim)
    index.upsert(
        [f"v{n}" for n in range(count)],
        random.normal(size=(count, dim)).astype(np.float32),
        ["", "shop", "x"] * (count // 3) + [""] * (count % 3),
    )
    asked = random.normal(size=(4, dim)).astype(np.float32)
    asked[2] = 0
    for project in (None, "shop"):
        alone = [index.search(vector, k, project=project) for vector, k in zip(asked, (3, 40, 5, 0), strict=True)]
        assert [len(found) for found in alone] == [3, 40, 0, 0]
        assert index.searches(asked, (3, 40, 5, 0), project=project) == alone


def test_a_score_does_not_hang_on_what_else_is_there() -> None:
    random = np.random.default_rng(11)
    matrix = random.normal(size=(2 * BLOCK // 384 + 5, 384)).astype(np.float32)
    index = VectorIndex(384)
    index.upsert([str(row) for row in range(len(matrix))], matrix)
    query = random.normal(size=384).astype(np.float32)
    for key, score in index.search(query, 100):
        alone = VectorIndex(384)
        alone.upsert([key], matrix[[int(key)]])
        assert alone.search(query, 1) == [(key, score)]


def test_what_two_threads_compare_is_all_there_is() -> None:
    dim, random = 1024, np.random.default_rng(13)
    matrix = random.normal(size=(SHARED // dim + 3, dim)).astype(np.float32)
    index = VectorIndex(dim)
    index.upsert([str(row) for row in range(len(matrix))], matrix)
    query = random.normal(size=dim).astype(np.float32)
    cosines = matrix.astype(np.float64) @ query / np.linalg.norm(matrix, axis=1) / np.linalg.norm(query)
    found = index.search(query, 60)
    assert [int(key) for key, _ in found] == np.argsort(-cosines)[:60].tolist()
    assert [score for _, score in found] == pytest.approx(np.sort(cosines)[:-61:-1], abs=1e-6)
