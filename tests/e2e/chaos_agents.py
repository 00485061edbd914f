"""An agent that keeps working whatever happens to its shim and hub, and remembers what it was told is stored."""

from __future__ import annotations

import random
import threading
import time
import traceback
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from chaos import LEGACY, MODERN, SECONDS, Gone, Shim

__all__ = ["Agent"]

PAUSE_SECONDS = 0.2  # after a refusal
TASKS = 3  # that an agent has in hand, each an episode


@dataclass(frozen=True)
class _Call:
    tool: str
    arguments: Mapping[str, Any]
    key: str = ""
    actions: tuple[str, ...] = ()


@dataclass
class Agent:
    """Works in a thread of its own until ``stop``; what it began it finishes, so that all is acknowledged.

    Half of the agents speak the era of handshakes and half the stateless one. ``trouble`` is set when one of them
    fails; ``failure`` says why.
    """

    number: int
    home: Path
    environ: Mapping[str, str]
    trouble: threading.Event
    stop: threading.Event
    dice: random.Random
    acknowledged: list[str] = field(default_factory=list)
    refusals: Counter[str] = field(default_factory=Counter)
    repeated: int = 0
    shims: int = 0
    slowest: float = 0.0
    failure: str = ""

    def __post_init__(self) -> None:
        self._steps = 0
        self._calls = 0
        self._is_greeted = False
        self.shim: Shim | None = None
        self._thread = threading.Thread(target=self._run, daemon=True)

    def start(self) -> None:
        self._thread.start()

    def join(self) -> None:
        """Wait for the end of what it does. Fails when that takes too long."""
        self._thread.join(2 * SECONDS)
        assert not self._thread.is_alive(), f"agent {self.number} hangs"

    def kill_shim(self) -> bool:
        """Whether there was one."""
        return self.shim is not None and self.shim.kill()

    def _run(self) -> None:
        try:
            while not self.stop.is_set() and not self.trouble.is_set():
                self._carry_out(self._next_call())
            if self.shim is not None:
                code = self.shim.close()
                # The last kill may have hit it between its last answer and here.
                assert code in (0, -9), f"the shim ended with {code}"
        except BaseException:
            self.failure = traceback.format_exc()
            self.trouble.set()

    def _next_call(self) -> _Call:
        self._calls += 1
        key = f"chaos:{self.number}:{self._calls}"
        task = f"agent {self.number} task {self.dice.randrange(TASKS)}"
        kind = self.dice.random()
        if kind < 0.7 or not self._steps:
            action = self._action()
            step = {"task_id": task, "action": action, "observation": "o" * self.dice.randrange(3000)}
            return _Call("track_execution", step, key, (action,))
        if kind < 0.85:
            actions = tuple(self._action() for _ in range(self.dice.randrange(2, 9)))
            steps = {"task_id": task, "steps": [{"action": action, "tool": "bash"} for action in actions]}
            return _Call("track_execution", steps, key, actions)
        if kind < 0.95:
            # Of a task that this shim's session may not know, which is refused with a reason.
            return _Call("score_reward", {"task_id": task, "reward": 5, "final": kind < 0.88}, key)
        if kind < 0.99:
            return _Call("find_skill", {"query": "run the tests"})
        return _Call("reflect", {})

    def _action(self) -> str:
        self._steps += 1
        return f"{self.number}-{self._steps:06}"

    def _carry_out(self, call: _Call) -> None:
        """Ask until it is answered, as an agent does that repeats itself after a crash."""
        began = time.monotonic()
        while not self._is_done(call):
            assert time.monotonic() < began + 2 * SECONDS, f"agent {self.number} was refused for too long"
            self.repeated += 1
        self.slowest = max(self.slowest, time.monotonic() - began)

    def _is_done(self, call: _Call) -> bool:
        try:
            answer = self._greeted() or self._shim().call(call.tool, call.arguments, call.key or None)
        except Gone:
            self._drop_shim()
            return False
        if "error" in answer:
            self._refused(answer["error"])
            return False
        result = answer["result"]
        if result.get("isError"):
            return self._is_expected(call, result["content"][0]["text"])
        if call.actions:
            assert result["structuredContent"]["receipt"] == "committed", result
            self.acknowledged += call.actions
        return True

    def _is_expected(self, call: _Call, text: str) -> bool:
        assert call.tool == "score_reward", text
        assert call.arguments["task_id"] in text, text
        return True

    def _refused(self, error: Mapping[str, Any]) -> None:
        # The shim's own errors: without a hub, or after two of them died of a call.
        assert error["code"] == -32000, error
        assert error["data"]["hint"], error
        self.refusals[error["data"]["reason"]] += 1
        self.trouble.wait(PAUSE_SECONDS)

    def _greeted(self) -> dict[str, Any]:
        """Empty, or why the handshake was refused."""
        if self._is_greeted:
            return {}
        answer = self._shim().greet()
        self._is_greeted = "error" not in answer
        return {} if self._is_greeted else answer

    def _shim(self) -> Shim:
        if self.shim is None:
            version = MODERN if self.number % 2 else LEGACY
            self.shim = Shim(self.home, self.environ, name=f"agent {self.number}", version=version)
            self.shims += 1
        return self.shim

    def _drop_shim(self) -> None:
        gone, self.shim = self.shim, None
        self._is_greeted = False
        if gone is not None:
            code = gone.close()
            assert code == -9, f"the shim of agent {self.number} ended by itself with {code}"
