from __future__ import annotations

import errno
import multiprocessing
import signal
import stat
from multiprocessing.synchronize import Event
from pathlib import Path

import pytest
from clikit import run
from notfiles import KINDS, put_no_file

from prowess.server.cli.exits import Exit
from prowess.server.http.tokens import Tokens
from prowess.storage.errors import InvalidInput, StoreBusy, StoreUnavailable


def test_a_token_is_found_by_its_secret_and_by_nothing_else(tmp_path: Path) -> None:
    tokens = Tokens(tmp_path)
    secret = tokens.create("ci", scopes=("write", "read"), project="shop")
    found = tokens.find(secret)
    assert found is not None
    assert (found.name, found.scopes, found.project) == ("ci", ("read", "write"), "shop")
    for wrong in ("", secret[:-1], secret + "a", secret.upper(), found.digest, "\udcff"):
        assert tokens.find(wrong) is None


def test_the_file_holds_no_secret_and_is_the_owners_alone(tmp_path: Path) -> None:
    secret = Tokens(tmp_path).create("ci")
    path = tmp_path / "tokens.json"
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert secret not in path.read_text()
    assert secret.removeprefix("prowess_") not in path.read_text()


def test_a_rotated_token_refuses_the_old_secret_in_every_process(tmp_path: Path) -> None:
    here, elsewhere = Tokens(tmp_path), Tokens(tmp_path)
    old = here.create("ci", scopes=("read",))
    assert elsewhere.find(old) is not None
    new = here.rotate("ci")
    assert elsewhere.find(old) is None
    found = elsewhere.find(new)
    assert found is not None
    assert (found.scopes, bool(found.rotated)) == (("read",), True)


def test_a_revoked_token_is_gone(tmp_path: Path) -> None:
    tokens = Tokens(tmp_path)
    first, second = tokens.create("a"), tokens.create("b")
    tokens.revoke("a")
    assert tokens.find(first) is None
    assert [token.name for token in tokens.all()] == ["b"]
    assert tokens.find(second) is not None


@pytest.mark.parametrize("name", ["", " ", "a b", "../x", ".", "a" * 65, "ä"])
def test_a_name_that_is_none_is_refused(tmp_path: Path, name: str) -> None:
    with pytest.raises(InvalidInput, match="is no name"):
        Tokens(tmp_path).create(name)


def test_what_is_there_or_missing_is_told(tmp_path: Path) -> None:
    tokens = Tokens(tmp_path)
    tokens.create("ci")
    with pytest.raises(InvalidInput, match="there is a token 'ci' already"):
        tokens.create("ci")
    with pytest.raises(InvalidInput, match="no scope 'all'"):
        tokens.create("x", scopes=("all",))
    for change in (tokens.rotate, tokens.revoke):
        with pytest.raises(InvalidInput, match="there is no token 'other'"):
            change("other")


@pytest.mark.parametrize("content", [b"", b"{", b"[]", b'{"tokens": [{"name": "ci"}]}', b"\xff" * 100])
def test_a_file_that_makes_no_sense_lets_nobody_in_and_is_not_overwritten(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "tokens.json"
    path.write_bytes(content)
    tokens = Tokens(tmp_path)
    for use in (tokens.all, lambda: tokens.find("x"), lambda: tokens.create("ci")):
        with pytest.raises(StoreUnavailable, match="cannot be read"):
            use()
    assert path.read_bytes() == content


def test_a_file_that_the_system_refuses_is_not_to_be_mended_or_deleted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "tokens.json"
    path.touch()

    def refused(_: Path) -> bytes:
        raise PermissionError(errno.EACCES, "Permission denied", str(path))

    monkeypatch.setattr("prowess.server.http.tokens.read_ordinary", refused)
    with pytest.raises(StoreUnavailable) as caught:
        Tokens(tmp_path).all()
    assert str(caught.value) == f"the tokens in {path} cannot be read: Permission denied"
    assert "may read the file" in caught.value.hint


@pytest.mark.parametrize("kind", KINDS)
def test_tokens_that_are_no_file_let_nobody_in_and_keep_nobody_waiting(tmp_path: Path, kind: str) -> None:
    path = tmp_path / "tokens.json"
    put_no_file(kind, path)
    with pytest.raises(StoreUnavailable) as caught:
        Tokens(tmp_path).find("prowess_x")
    assert str(caught.value) == f"the tokens in {path} cannot be read: it is no ordinary file"
    assert "move it away" in caught.value.hint


def test_tokens_that_nest_without_end_are_told(tmp_path: Path) -> None:
    (tmp_path / "tokens.json").write_text('{"tokens": ' + "[" * 100_000)
    with pytest.raises(StoreUnavailable, match="cannot be read"):
        Tokens(tmp_path).all()


@pytest.mark.parametrize("kind", KINDS)
def test_a_lock_that_is_no_file_is_told(tmp_path: Path, kind: str) -> None:
    path = put_no_file(kind, tmp_path / "tokens.lock")
    with pytest.raises(StoreUnavailable) as caught:
        Tokens(tmp_path).create("ci")
    assert str(caught.value) == f"{path} is in the way: it is no ordinary file"
    assert caught.value.hint == "move it away and try again"


def _hold(home: str, held: Event) -> None:
    with Tokens(Path(home))._changing():
        held.set()
        signal.pause()


def test_a_process_that_stands_still_with_the_lock_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("prowess.server.http.tokens.LOCK_SECONDS", 0.2)
    spawn = multiprocessing.get_context("spawn")
    held = spawn.Event()
    holder = spawn.Process(target=_hold, args=(str(tmp_path), held))
    holder.start()
    assert held.wait(60)
    try:
        with pytest.raises(StoreBusy, match=rf"another process \(pid {holder.pid}\) is changing the tokens") as caught:
            Tokens(tmp_path).revoke("ci")
        assert "let it go on or end it" in caught.value.hint
    finally:
        holder.kill()
        holder.join(60)
    Tokens(tmp_path).create("ci")


def _create_ten(home: str, prefix: str) -> None:
    for number in range(10):
        Tokens(Path(home)).create(f"{prefix}{number}")


def test_two_processes_that_make_tokens_lose_none(tmp_path: Path) -> None:
    spawn = multiprocessing.get_context("spawn")
    processes = [spawn.Process(target=_create_ten, args=(str(tmp_path), prefix)) for prefix in "ab"]
    for process in processes:
        process.start()
    for process in processes:
        process.join(120)
        assert process.exitcode == 0
    made = sorted(token.name for token in Tokens(tmp_path).all())
    assert made == sorted(f"{prefix}{number}" for prefix in "ab" for number in range(10))


@pytest.mark.parametrize("project", ["", "  "])
def test_a_project_that_is_empty_opens_no_other(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], project: str
) -> None:
    with pytest.raises(InvalidInput, match="the project is empty"):
        Tokens(tmp_path).create("ci", project=project)
    ended = run(capsys, "token", "create", "ci", "--project", project, "--store", tmp_path)
    assert (ended.code, ended.out) == (Exit.FAILED, "")
    assert "leave it out for a token that reaches all" in ended.err
    assert Tokens(tmp_path).all() == ()


def test_doctor_tells_of_tokens_that_cannot_be_read(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("PROWESS_EMBEDDER", "none")
    store = tmp_path / "store"
    Tokens(store).create("ci", project=" shop ")
    assert [token.project for token in Tokens(store).all()] == ["shop"]
    (store / "tokens.json").write_text("{")
    ended = run(capsys, "doctor", "--json", "--store", store)
    [found] = [each for each in ended.json["findings"] if each["check"] == "tokens"]
    assert (ended.code, found["state"]) == (Exit.FAILED, "fail")
    assert "prowess token create" in found["mend"]
