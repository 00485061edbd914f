"""The default embedder beside its bounds, in one run: load time, one query, 1,000 texts, memory.

``python benchmarks/embedding.py [--texts N] [--threads N]`` prints one JSON line. The bounds: onnxruntime alone on the
same tokens in the same batches (no tokenizer, no pooling), and a numpy matrix product of the model's own size on one
thread, as the rate at which this processor multiplies.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import statistics
import sys
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

# Multiply-adds per token outside of attention's own products: 6 layers of (4 x 384 x 384 + 2 x 384 x 1536).
MACS_PER_TOKEN = 6 * (4 * 384 * 384 + 2 * 384 * 1536)

WORDS = (
    "order cancel refund return exchange item user payment address pending delivered error import module test failed "
    "file path read write commit branch merge server request response timeout retry database query index"
)


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--texts", type=int, default=1_000)
    options.add_argument("--threads", type=int, default=1)
    given = options.parse_args()
    for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "TOKENIZERS_PARALLELISM"):
        os.environ[name] = "false" if name.startswith("TOKENIZERS") else str(given.threads)
    print(json.dumps(measure(given.texts, given.threads)))


def measure(count: int, threads: int) -> dict[str, Any]:
    before = resident_mb()
    started = time.perf_counter()
    from prowess.providers.embedding import EmbeddingSettings, load

    embedder: Any = load(EmbeddingSettings(threads=threads))
    loaded = time.perf_counter() - started
    after_load = resident_mb()
    texts = made_up(count)
    queries = [seconds(partial(embedder.embed, [text])) for text in made_up(100, most=12)]
    bulk = seconds(lambda: embedder.embed(texts))
    after_bulk = resident_mb()
    batches = batches_of(embedder, texts)
    bound = seconds(lambda: [embedder._session.run(None, batch) for batch in batches])
    tokens = sum(int(batch["attention_mask"].sum()) for batch in batches)
    return {
        "benchmark": "embedding",
        "model": embedder.name,
        "threads": threads,
        "import_and_load_s": round(loaded, 3),
        "query_p50_ms": round(statistics.median(queries) * 1e3, 2),
        "query_p95_ms": round(statistics.quantiles(queries, n=20)[18] * 1e3, 2),
        "texts": count,
        "tokens_per_text": round(tokens / count, 1),
        "texts_per_s": round(count / bulk, 1),
        "bound_onnxruntime_texts_per_s": round(count / bound, 1),
        "bound_numpy_matmul_texts_per_s": round(count / (tokens * MACS_PER_TOKEN / macs_per_second()), 1),
        "rss_mb": {"before": before, "loaded": after_load, "after": after_bulk},
    }


def made_up(count: int, most: int = 80) -> list[str]:
    """Texts of 3 to ``most`` words, the same in every run."""
    pick, words = random.Random(count), WORDS.split()
    return [" ".join(pick.choices(words, k=pick.randint(3, most))) for _ in range(count)]


def batches_of(embedder: Any, texts: list[str]) -> list[dict[str, Any]]:
    """The inputs that the embedder makes of ``texts``."""
    import numpy as np

    from prowess.providers.onnx import batches

    tokens = [encoding.ids for encoding in embedder._tokenizer.encode_batch(texts)]
    made = []
    for positions in batches([len(ids) for ids in tokens]):
        ids = np.zeros((len(positions), max(len(tokens[position]) for position in positions)), np.int64)
        for row, position in enumerate(positions):
            ids[row, : len(tokens[position])] = tokens[position]
        mask = (ids != 0).astype(np.int64)
        made.append({"input_ids": ids, "attention_mask": mask, "token_type_ids": np.zeros_like(ids)})
    return made


def macs_per_second() -> float:
    """float32 multiply-adds per second of a matrix product as in the model: 512 tokens by 384 x 1536."""
    import numpy as np

    left, right = np.ones((512, 384), np.float32), np.ones((384, 1536), np.float32)
    return 512 * 384 * 1536 / min(seconds(lambda: left @ right) for _ in range(50))


def seconds(run: Callable[[], object]) -> float:
    started = time.perf_counter()
    run()
    return time.perf_counter() - started


def resident_mb() -> int | None:
    """What this process holds in memory, on Linux."""
    if sys.platform != "linux":
        return None
    return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE") // 2**20


if __name__ == "__main__":
    main()
