"""Any sentence-transformers model as embedder. Needs torch, so only with the ``train`` extra."""

from __future__ import annotations

import hashlib
from importlib import import_module
from typing import Any

from prowess.providers.embedding import Embedder, Matrix
from prowess.providers.errors import EmbeddingFailed, ModelMissing

__all__ = ["SentenceEmbedder"]

_BATCH = 32


class SentenceEmbedder(Embedder):
    """A sentence-transformers model by name or folder."""

    def __init__(self, name: str, model: Any) -> None:
        super().__init__(name, 0)
        self._model = model
        self.dim = self._rows([""]).shape[1]  # the method that tells it was renamed from version 5 to 6

    @classmethod
    def load(cls, model: str, *, threads: int = 1, allow_download: bool = False) -> SentenceEmbedder:
        """Load from the folder or the local cache; fetch only with ``allow_download``. Raises ModelMissing."""
        library, torch = _libraries()
        torch.set_num_threads(threads)
        try:
            loaded = library.SentenceTransformer(
                model, device="cpu", local_files_only=not allow_download, trust_remote_code=False
            )
        except Exception as error:  # the library raises OSError, ValueError, its hub's errors and more
            message = f"the embedding model {model!r} cannot be loaded: {error}"
            raise ModelMissing(message, hint=_hint(allow_download)) from error
        return cls(f"{model}@{_revision(loaded)}", loaded)

    def _rows(self, texts: list[str]) -> Matrix:
        import numpy as np

        try:
            rows = self._model.encode(texts, batch_size=_BATCH, convert_to_numpy=True, show_progress_bar=False)
        except Exception as error:  # torch and the library share no base but Exception
            raise EmbeddingFailed(f"sentence-transformers could not embed: {error}") from error
        return np.asarray(rows, dtype=np.float32)


def _libraries() -> tuple[Any, Any]:
    try:
        return import_module("sentence_transformers"), import_module("torch")
    except ImportError as error:
        raise ModelMissing(
            "embedding models other than 'default' need sentence-transformers, which is not installed",
            hint="pip install 'prowess[train]', or set the embedding model to 'default' or 'none'",
        ) from error


def _hint(allow_download: bool) -> str:
    if allow_download:
        return "check the name and the network, or set the embedding model to 'default' or 'none'"
    return "give the folder of a model, or allow downloads in the settings; 'default' needs neither"


def _revision(model: Any) -> str:
    """A fingerprint of the weights, so that vectors are made anew when a model of the same name has other weights."""
    digest = hashlib.sha256()
    for name, tensor in sorted(model.state_dict().items()):
        digest.update(name.encode())
        digest.update(tensor.detach().cpu().contiguous().view(-1)[:1024].float().numpy().tobytes())
    return digest.hexdigest()[:12]
