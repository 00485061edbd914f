"""Stands in for the trainer: speaks its protocol, and does what the settings' ``acts`` say, one after the other.

``hold`` waits until it is told to leave; ``deaf`` does not hear SIGTERM from there on; ``brood`` starts a child that
lives on. Everything else is said as an event or printed as it is.
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
    sys.stdin.buffer.read()
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
        match act:
            case "hold":
                while not self.told.wait(0.05):
                    pass
                self.checkpoint("last")
                sys.exit(0)
            case "deaf":
                self.deaf = True
            case "brood":
                child = [sys.executable, "-c", "import time; time.sleep(60)"]
                say({"event": "progress", "child": subprocess.Popen(child).pid})
            case "facts":
                self.facts()
            case {"checkpoint": name}:
                self.checkpoint(name)
            case {"exit": code}:
                sys.exit(code)
            case {"stderr": size}:
                sys.stderr.write("e" * size)
            case {"flood": count}:
                for number in range(count):
                    say({"event": "progress", "step": number})
            case {"allocate": size}:
                say({"event": "progress", "bytes": len(bytearray(size))})
            case {"raw": text}:
                say(text)
            case _:
                say(act)

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
