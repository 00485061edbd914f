"""How often somebody may ask: a token bucket for each of them."""

from __future__ import annotations

from collections import OrderedDict

__all__ = ["Buckets"]


class Buckets:
    """One bucket for each name: ``burst`` requests at once, refilled with ``per_second``.

    At most ``most`` names are kept; the one that was longest silent goes first, and comes back with a full bucket.
    """

    def __init__(self, per_second: float, burst: int, most: int = 10_000) -> None:
        self._per_second = per_second
        self._burst = float(burst)
        self._most = most
        self._levels: OrderedDict[str, tuple[float, float]] = OrderedDict()

    def take(self, name: str, now: float) -> float:
        """Count a request of ``name`` if it may be made now; else the seconds until it may. ``now`` is monotonic."""
        level = self._level(name, now)
        if level < 1.0:
            return (1.0 - level) / self._per_second
        self._levels[name] = (level - 1.0, now)
        self._levels.move_to_end(name)
        if len(self._levels) > self._most:
            self._levels.popitem(last=False)
        return 0.0

    def _level(self, name: str, now: float) -> float:
        level, since = self._levels.get(name, (self._burst, now))
        return min(self._burst, level + (now - since) * self._per_second)
