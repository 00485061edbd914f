"""Stands in for the trainer: speaks its protocol, and does what the settings' ``acts`` say, one after the other.

An act is an event to say, or the name of a method of ``Fake``, with its argument where it takes one.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import signal
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any


def say(event: Any) -> None:
    text = event if isinstance(event, str) else json.dumps(event)
    sys.stdout.write(f"{text}\n")
    sys.stdout.flush()


def leave_with_the_server() -> None:
    # The real trainer's rule: the end of its input means that nobody waits for it any more.
    while os.read(0, 4096):  # a buffered read would hold a lock that Python's end waits for
        pass
    os._exit(3)


class Fake:
    def __init__(self, options: argparse.Namespace) -> None:
        self.out = Path(options.out)
        self.batch = Path(options.batch)
        self.resumed = options.resume
        self.told = threading.Event()
        self.deaf = False
        signal.signal(signal.SIGTERM, self.heard)

    def heard(self, *_: Any) -> None:
        if not self.deaf:
            self.told.set()

    def act(self, act: Any) -> None:
        if isinstance(act, str):
            getattr(self, act)()
        elif "event" in act:
            say(act)
        else:
            for name, value in act.items():
                getattr(self, name)(value)

    def hold(self) -> None:
        while not self.told.wait(0.05):
            pass
        self.checkpoint("last")
        sys.exit(0)

    def dont_hear(self) -> None:
        self.deaf = True

    def brood(self) -> None:
        child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(60)"])
        say({"event": "progress", "child": child.pid})

    def exit(self, code: int) -> None:
        sys.exit(code)

    def stderr(self, size: int) -> None:
        sys.stderr.write("e" * size)

    def flood(self, count: int) -> None:
        for number in range(count):
            say({"event": "progress", "step": number})

    def allocate(self, size: int) -> None:
        say({"event": "progress", "bytes": len(bytearray(size))})

    def long(self, size: int) -> None:
        say("x" * size)

    def long_event(self, size: int) -> None:
        say({"event": "progress", "text": "y" * size})

    def raw(self, text: str) -> None:
        say(text)

    def checkpoint(self, name: str) -> None:
        (self.out / name).write_text(name)
        say({"event": "checkpoint", "file": name})

    def facts(self) -> None:
        lines = (self.batch / "trajectories.jsonl").read_text().splitlines()
        say(
            {
                "event": "progress",
                "resumed": Path(self.resumed).name if self.resumed else "",
                "tasks": " ".join(json.loads(line)["episode"]["task_id"] for line in lines),
                "nice": os.nice(0),
                "data": resource.getrlimit(resource.RLIMIT_DATA)[0],
                "threads": os.environ["OMP_NUM_THREADS"],
                "key": os.environ.get("ANTHROPIC_API_KEY", ""),
                "usd": os.environ.get("PROWESS_TRAIN_USD", ""),
                "leader": os.getsid(0) == os.getpid(),
            }
        )


def main() -> None:
    parser = argparse.ArgumentParser()
    for name in ("--batch", "--out", "--settings", "--resume"):
        parser.add_argument(name)
    options = parser.parse_args()
    threading.Thread(target=leave_with_the_server, daemon=True).start()
    fake = Fake(options)
    settings = json.loads(Path(options.settings).read_text())
    acts = settings.get("resumed_acts", []) if options.resume else settings.get("acts", [])
    for act in acts:
        fake.act(act)


if __name__ == "__main__":
    main()
