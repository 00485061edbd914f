"""Embeddings of the benchmarks' texts by the packaged model, kept between runs in a folder outside of the tree."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from prowess.providers.embedding import Embedder, EmbeddingSettings, load

__all__ = ["Vectors", "default_cache"]

BATCH = 256


def default_cache() -> Path:
    """Where vectors are kept: below the user's cache folder."""
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "prowess-quality"


class Vectors:
    """Texts to unit vectors, each text embedded once for all runs. The model's name is part of the file's name."""

    def __init__(self, folder: Path) -> None:
        embedder = load(EmbeddingSettings(threads=1))
        assert embedder is not None
        self._embedder: Embedder = embedder
        self._file = folder / f"{embedder.name.replace('@', '-')}.npz"
        self._known: dict[str, NDArray[np.float32]] = {}
        if self._file.exists():
            with np.load(self._file) as held:
                self._known = dict(zip(held["keys"].tolist(), held["rows"], strict=True))

    @property
    def model(self) -> str:
        return self._embedder.name

    @property
    def dim(self) -> int:
        return self._embedder.dim

    def __call__(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """(len(texts), dim), float32."""
        keys = [hashlib.blake2b(text.encode("utf-8", "replace"), digest_size=12).hexdigest() for text in texts]
        missing = {key: text for key, text in zip(keys, texts, strict=True) if key not in self._known}
        if missing:
            self._embed(missing)
        return np.stack([self._known[key] for key in keys]) if keys else np.zeros((0, self.dim), np.float32)

    def _embed(self, missing: dict[str, str]) -> None:
        keys = list(missing)
        for begin in range(0, len(keys), BATCH):
            chunk = keys[begin : begin + BATCH]
            self._known.update(zip(chunk, self._embedder.embed([missing[key] for key in chunk]), strict=True))
        self._file.parent.mkdir(parents=True, exist_ok=True)
        fresh = self._file.with_suffix(f".{os.getpid()}.npz")
        np.savez(fresh, keys=np.array(list(self._known)), rows=np.stack(list(self._known.values())))
        fresh.replace(self._file)  # whole or not at all, for runs beside this one
