"""Fixtures for all tests."""

from __future__ import annotations

import pytest
from hypothesis import HealthCheck, settings

# How long one example takes, or to make one, says more about the machine than about the code.
settings.register_profile("untimed", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("untimed")


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"
