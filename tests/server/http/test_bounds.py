from __future__ import annotations

from prowess.server.http.bounds import Buckets


def test_a_burst_goes_through_and_then_the_rate_counts() -> None:
    buckets = Buckets(per_second=2.0, burst=3)
    assert [buckets.take("a", 100.0) for _ in range(4)] == [0.0, 0.0, 0.0, 0.5]
    assert buckets.take("a", 100.25) == 0.25
    assert buckets.take("a", 100.5) == 0.0
    assert buckets.take("a", 100.5) == 0.5


def test_one_does_not_wait_for_another() -> None:
    buckets = Buckets(per_second=1.0, burst=1)
    assert buckets.take("a", 0.0) == 0.0
    assert buckets.take("a", 0.0) == 1.0
    assert buckets.take("b", 0.0) == 0.0


def test_asking_too_early_counts_for_nothing() -> None:
    buckets = Buckets(per_second=1.0, burst=1)
    assert buckets.take("a", 0.0) == 0.0
    assert [buckets.take("a", 0.0) for _ in range(5)] == [1.0] * 5


def test_a_long_pause_fills_no_more_than_the_burst() -> None:
    buckets = Buckets(per_second=10.0, burst=2)
    assert buckets.take("a", 0.0) == 0.0
    assert [buckets.take("a", 1_000.0) for _ in range(3)] == [0.0, 0.0, 0.1]


def test_only_the_newest_names_are_kept() -> None:
    buckets = Buckets(per_second=0.001, burst=1, most=2)
    for name in ("a", "b", "c"):
        buckets.take(name, 0.0)
    assert buckets.take("b", 0.0) == 1_000.0
    assert buckets.take("c", 0.0) == 1_000.0
    assert buckets.take("a", 0.0) == 0.0
