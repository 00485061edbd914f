"""Where the trainer's tests can run."""

from __future__ import annotations

import pytest


def test_torch_is_there() -> None:
    torch = pytest.importorskip(
        "torch", reason="the trainer's tests need torch: make test runs them in build/train-env"
    )
    assert torch.tensor([1.0]).sum() == 1.0
