"""Which embedding model turns texts into vectors, and how it is chosen.

``load`` is the way in. ``none`` switches vectors off; ``default`` is the packaged model (``providers/onnx.py``); any
other name is a sentence-transformers model (``providers/sentence.py``, in the ``train`` extra). Nothing is imported
or read before ``load``, and nothing is ever downloaded unless ``allow_download`` is set.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from threading import Lock
from typing import TYPE_CHECKING, TypeAlias

from prowess.providers.errors import EmbeddingFailed

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

__all__ = ["Embedder", "EmbeddingSettings", "Matrix", "load"]

Matrix: TypeAlias = "NDArray[np.float32]"

# A query is a few kilobytes with its vector; sessions repeat the same handful.
QUERY_CACHE = 256

# 256 tokens are about 1,200 characters of prose. What lies far beyond can't be among them, so that a text of 10 MB
# costs no more than a page.
MAX_CHARS = 20_000


@dataclass(frozen=True, slots=True, kw_only=True)
class EmbeddingSettings:
    """``model``: "default", "none", or a sentence-transformers name or folder. ``threads`` per call of the model.

    ``model_file`` is another place of the default model's ``model.onnx``; the file must be the same.
    """

    model: str = "default"
    threads: int = 1
    allow_download: bool = False
    model_file: Path | None = None


class Embedder:
    """Texts to unit vectors. Blocking, safe from several threads, releases the GIL: call it in a thread.

    ``name`` identifies the model with its revision: vectors of different names must never be compared. ``dim`` is the
    length of a vector.
    """

    name: str
    dim: int

    def __init__(self, name: str, dim: int) -> None:
        self.name = name
        self.dim = dim
        self._queries: OrderedDict[str, Matrix] = OrderedDict()
        self._lock = Lock()

    def embed(self, texts: Sequence[str]) -> Matrix:
        """One row per text, shape (n, dim), float32, each of length 1.

        Of a text only as much counts as the model takes: 256 tokens for the default, 20,000 characters for any.
        An empty text (or one without any visible character) gets the model's vector of the empty sequence, as in
        sentence-transformers: of length 1 like all others and near to nothing in particular. Raises EmbeddingError.
        """
        import numpy as np

        if not texts:
            return np.zeros((0, self.dim), np.float32)
        return self._embedded(texts, self._rows)

    def _embedded(self, texts: Sequence[str], rows_of: Callable[[list[str]], Matrix]) -> Matrix:
        return _unit(rows_of([_clean(text) for text in texts]), (len(texts), self.dim))

    def embed_queries(self, texts: Sequence[str]) -> Matrix:
        """``embed`` with a small cache of recent queries; those that are not in it are embedded together."""
        import numpy as np

        known = self._cached(texts)
        return np.array([known[text] for text in texts], np.float32).reshape(-1, self.dim)

    def _cached(self, texts: Sequence[str]) -> dict[str, Matrix]:
        with self._lock:
            known = {text: self._queries[text] for text in texts if text in self._queries}
            for text in known:
                self._queries.move_to_end(text)
        missing = [text for text in dict.fromkeys(texts) if text not in known]
        if missing:
            found = self._embedded(missing, self._rows_at_once)
            fresh = dict(zip(missing, found, strict=True))
            self._remember(fresh)
            known |= fresh
        return known

    def _remember(self, fresh: dict[str, Matrix]) -> None:
        with self._lock:
            self._queries |= fresh
            while len(self._queries) > QUERY_CACHE:
                self._queries.popitem(last=False)

    def let_go(self) -> None:
        """Let go of the recent queries. From any thread."""
        with self._lock:
            self._queries.clear()

    def _rows(self, texts: list[str]) -> Matrix:
        """Pooled rows of any length, shape (n, dim)."""
        raise NotImplementedError

    def _rows_at_once(self, texts: list[str]) -> Matrix:
        """``_rows`` where somebody waits for them: a second thread may help."""
        return self._rows(texts)


def load(settings: EmbeddingSettings) -> Embedder | None:
    """The chosen embedder, ready to use, or None for ``none``. Blocking (about 0.5 s). Raises EmbeddingError."""
    name = settings.model.strip()
    if name == "none":
        return None
    if name in ("", "default"):
        from prowess.providers.onnx import OnnxEmbedder

        return OnnxEmbedder.load(settings.model_file, threads=settings.threads)
    from prowess.providers.sentence import SentenceEmbedder

    return SentenceEmbedder.load(name, threads=settings.threads, allow_download=settings.allow_download)


def _clean(text: str) -> str:
    """``text`` cut to what can matter, with lone surrogates (which no tokenizer takes) as question marks."""
    return text[:MAX_CHARS].encode("utf-8", "replace").decode("utf-8")


def _unit(rows: Matrix, shape: tuple[int, int]) -> Matrix:
    import numpy as np

    if rows.shape != shape:
        raise EmbeddingFailed(f"the embedding model gave the shape {rows.shape} where {shape} was expected")
    length = np.linalg.norm(rows, axis=1, keepdims=True)
    if not np.isfinite(length).all() or not (length > 0).all():
        raise EmbeddingFailed("the embedding model gave a vector without a direction (NaN, infinite or zero)")
    return np.ascontiguousarray(rows / length, dtype=np.float32)
