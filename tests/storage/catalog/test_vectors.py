from __future__ import annotations

import numpy as np
import pytest
from catalogkit import feed, opened, remembered, saved

from prowess.storage.catalog import Catalog
from prowess.storage.errors import InvalidInput
from prowess.storage.events import MemoryDeleted

MODEL = "minilm@1"


def unit(*places: int) -> np.ndarray:  # type: ignore[type-arg]
    return np.eye(4, dtype=np.float32)[list(places)]


def test_texts_without_a_vector_are_listed_newest_first(catalog: Catalog) -> None:
    feed(
        catalog, saved("k1", name="Cancel", description="Stop it", keywords=("order", "refund")), saved("k2", name="B")
    )
    feed(catalog, opened("e1", task="Return it"), opened("e2", task=""), remembered("m1", "Ask first"))
    assert catalog.unembedded("skill", MODEL, 1) == [("k2", "B. Find the user, then cancel")]
    assert catalog.unembedded("skill", MODEL, 9)[1] == ("k1", "Cancel. Stop it. order, refund")
    assert catalog.unembedded("episode", MODEL, 9) == [("e1", "Return it")]
    assert catalog.unembedded("memory", MODEL, 9) == [("m1", "Ask first")]


def test_saved_vectors_make_an_index(catalog: Catalog) -> None:
    feed(catalog, saved("k1"), saved("k2", project="shop"))
    assert catalog.load_index("skill", MODEL) is None
    assert catalog.save_embeddings("skill", MODEL, ["k1", "k2", "gone"], unit(0, 1, 2)) == ["k1", "k2"]
    assert catalog.unembedded("skill", MODEL, 9) == []
    assert len(catalog.unembedded("skill", "another", 9)) == 2
    index = catalog.load_index("skill", MODEL)
    assert index is not None
    assert (len(index), index.dim) == (2, 4)
    assert index.search(unit(1)[0], 1) == [("k2", 1.0)]
    assert index.search(unit(1)[0], 1, project="bank") == [("k1", 0.0)]
    assert catalog.project_of("skill", "k2") == "shop"
    assert catalog.project_of("skill", "gone") == ""


def test_another_wording_asks_for_another_vector(catalog: Catalog) -> None:
    feed(catalog, remembered("m1", "Ask first"))
    catalog.save_embeddings("memory", MODEL, ["m1"], unit(0))
    feed(catalog, remembered("m1", "Never ask"))
    assert catalog.unembedded("memory", MODEL, 9) == [("m1", "Never ask")]
    catalog.save_embeddings("memory", MODEL, ["m1"], unit(3))
    assert catalog.unembedded("memory", MODEL, 9) == []
    index = catalog.load_index("memory", MODEL)
    assert index is not None
    assert index.search(unit(3)[0], 1) == [("m1", 1.0)]


def test_a_wording_that_changed_meanwhile_is_embedded_again(catalog: Catalog) -> None:
    feed(catalog, remembered("m1", "Ask first"))
    [(key, text)] = catalog.unembedded("memory", MODEL, 9)
    feed(catalog, remembered("m1", "Never ask"))
    catalog.save_embeddings("memory", MODEL, [key], unit(0), [text])
    assert catalog.unembedded("memory", MODEL, 9) == [("m1", "Never ask")]


def test_what_comes_after_all_was_embedded_is_listed_again(catalog: Catalog) -> None:
    feed(catalog, remembered("m1", "One"), remembered("m2", "Two"))
    catalog.save_embeddings("memory", MODEL, ["m1", "m2"], unit(0, 1))
    assert catalog.unembedded("memory", MODEL, 9) == []
    feed(catalog, remembered("m1", "Changed"), remembered("m3", "Three"))
    assert catalog.unembedded("memory", MODEL, 9) == [("m3", "Three"), ("m1", "Changed")]
    assert catalog.unembedded("memory", MODEL, 9) == [("m3", "Three"), ("m1", "Changed")]
    assert len(catalog.unembedded("memory", "another", 9)) == 3


def test_a_backlog_is_listed_in_parts_and_what_comes_meanwhile_first(
    catalog: Catalog, monkeypatch: pytest.MonkeyPatch
) -> None:
    """However many come and change between two looks, the texts listed are those without a vector, the newest first."""
    ranges: list[tuple[int, int]] = []
    look = Catalog._lacking
    monkeypatch.setattr(Catalog, "_lacking", lambda self, *asked: ranges.append(asked[2:4]) or look(self, *asked))
    lacking: list[str] = []  # the newest first

    def told(*names: str) -> None:
        if names:
            feed(catalog, *(remembered(name, f"{name} at {len(ranges)}") for name in names))
        lacking[:] = [*reversed(names), *(name for name in lacking if name not in names)]

    told(*(f"m{number}" for number in range(40)))
    arriving = [[], ["a1"], ["a2", "m3"], [], [f"b{n}" for n in range(9)], ["m39"], [], [f"c{n}" for n in range(30)]]
    while lacking:
        told(*(arriving.pop(0) if arriving else []))
        found = [key for key, _ in catalog.unembedded("memory", MODEL, 4)]
        assert found == lacking[:4]
        catalog.save_embeddings("memory", MODEL, found, np.ones((len(found), 4), np.float32))
        lacking = lacking[4:]
    assert catalog.unembedded("memory", MODEL, 4) == []
    head = ranges[-2][1]
    assert catalog.unembedded("memory", MODEL, 4) == []
    assert ranges[-2:] == [(head, head), (head, head)]  # nothing is left to look at


def test_vectors_survive_a_rebuild_and_not_a_deletion(catalog: Catalog) -> None:
    feed(catalog, remembered("m1"), remembered("m2"))
    catalog.save_embeddings("memory", MODEL, ["m1", "m2"], unit(0, 1))
    catalog.reset()
    assert catalog.load_index("memory", MODEL) is None
    feed(catalog, remembered("m1"), remembered("m2"))
    assert catalog.unembedded("memory", MODEL, 9) == []
    feed(catalog, MemoryDeleted(memory_id="m1", at="t"))
    index = catalog.load_index("memory", MODEL)
    assert index is not None
    assert ("m1" in index, "m2" in index) == (False, True)


@pytest.mark.parametrize("matrix", [np.ones(4), np.ones((2, 4)), np.full((1, 4), np.nan)])
def test_vectors_of_another_shape_are_refused(catalog: Catalog, matrix: np.ndarray) -> None:  # type: ignore[type-arg]
    feed(catalog, remembered("m1"))
    with pytest.raises(InvalidInput):
        catalog.save_embeddings("memory", MODEL, ["m1"], matrix)
