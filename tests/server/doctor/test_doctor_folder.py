from __future__ import annotations

import errno
import os
import tempfile
from pathlib import Path
from typing import Any

import pytest
from clikit import run

from prowess.server.cli.exits import Exit
from prowess.server.doctor.folder import look_at_places

CHOOSE = "choose another folder with --store or PROWESS_HOME"


def told(home: Path, redb_path: Path | None = None) -> tuple[str, str, str, str]:
    found = look_at_places(home, redb_path)
    return found.check, found.state, found.said, found.mend


def test_a_link_that_leads_nowhere_is_no_place_for_a_store(tmp_path: Path) -> None:
    link = tmp_path / "store"
    link.symlink_to(tmp_path / "gone")
    for home in (link, link / "below"):
        check, state, said, mend = told(home)
        assert (check, state) == ("folder", "fail")
        assert said == f"{link} is a link to {tmp_path / 'gone'}, which is not there"
        assert CHOOSE in mend
    link.unlink()
    link.symlink_to(link)
    assert "leads nowhere" in told(link)[2]


def test_a_file_is_no_place_for_a_store(tmp_path: Path) -> None:
    file = tmp_path / "file"
    file.write_text("x")
    for home in (file, file / "below" / "deeper"):
        assert told(home) == ("folder", "fail", f"{file} is no folder", f"move it away, or {CHOOSE}")


@pytest.mark.parametrize(
    ("number", "said"),
    [
        (errno.EROFS, "is on a disk that is mounted read-only"),
        (errno.EACCES, "this user may not write to"),
        (errno.EDQUOT, "nothing more fits beside"),
        (errno.EIO, "cannot be written to"),
    ],
)
def test_what_cannot_be_written_to_is_told_before_there_is_a_store(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, number: int, said: str
) -> None:
    def refuse(**asked: Any) -> Any:
        assert asked == {"dir": tmp_path}  # the nearest that is there
        raise OSError(number, os.strerror(number))

    monkeypatch.setattr(tempfile, "TemporaryFile", refuse)
    check, state, found, mend = told(tmp_path / "a" / "store")
    assert (check, state, said in found, bool(mend)) == ("folder", "fail", True, True)
    assert str(tmp_path) in found


@pytest.mark.skipif(not Path("/proc/self").exists(), reason="needs a folder that takes no files from anybody")
def test_a_folder_that_takes_no_files_is_told() -> None:
    assert told(Path("/proc/prowess"))[:2] == ("folder", "fail")


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere")
def test_a_home_that_is_not_ours_to_write_is_told(tmp_path: Path) -> None:
    tmp_path.chmod(0o500)
    assert told(tmp_path / "store")[1:] == (
        "fail",
        f"this user may not write to {tmp_path}",
        f"chmod u+rwx {tmp_path}",
    )


def test_looking_leaves_nothing(tmp_path: Path) -> None:
    assert told(tmp_path / "a" / "store")[1] == "ok"
    assert list(tmp_path.iterdir()) == []


def test_a_folder_that_nobody_knows_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    check, state, said, mend = told(Path("~/.local/share/prowess"))
    assert (check, state, said) == ("folder", "fail", "nobody knows your home folder")
    assert "HOME" in mend


def test_a_log_that_is_gone_while_its_catalog_is_there_is_told(tmp_path: Path) -> None:
    (tmp_path / "catalog.db").write_bytes(b"x")
    elsewhere = tmp_path / "disk" / "log.redb"
    check, state, said, mend = told(tmp_path, elsewhere)
    assert (check, state, str(elsewhere) in said, "restore" in mend) == ("log", "fail", True, True)
    (tmp_path / "catalog.db").unlink()
    tmp_path.chmod(0o700)
    assert told(tmp_path, elsewhere)[:2] == ("folder", "ok")  # a store that is still to be made
    (tmp_path / "disk").symlink_to(tmp_path / "gone")
    assert told(tmp_path, elsewhere)[:2] == ("folder", "ok")  # the log is made where the link leads
    (tmp_path / "file").write_text("x")
    check, state, said, _ = told(tmp_path, tmp_path / "file" / "log.redb")
    assert (check, state, said) == ("log", "fail", f"{tmp_path / 'file'} is no folder")


def test_doctor_fails_where_no_store_can_be(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("PROWESS_EMBEDDER", "none")
    link = tmp_path / "store"
    link.symlink_to(tmp_path / "gone")
    ended = run(capsys, "doctor", "--json", "--store", link)
    found = {finding["check"]: finding["state"] for finding in ended.json["findings"]}
    assert ended.code == Exit.FAILED
    assert found["folder"] == "fail"
    assert not {"store", "spool", "hub"} & found.keys()  # nothing can be said of them
    assert not (tmp_path / "gone").exists()


def test_what_root_left_in_a_users_store_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    tmp_path.chmod(0o700)
    (tmp_path / "run").mkdir()
    (tmp_path / "run" / "hub.json").touch()
    closed = str(tmp_path / "run" / "hub.json")
    may = os.access
    user = os.geteuid() + 1  # another one than the files are of
    assert told(tmp_path) == ("folder", "ok", "mode 700", "")
    monkeypatch.setattr(os, "geteuid", lambda: user)
    assert told(tmp_path)[1:] == (
        "warn",
        "it is of another user, who may not read what this one writes there",
        "run prowess as its owner, without sudo",
    )
    monkeypatch.setattr(os, "access", lambda path, mode: str(path) != closed and may(path, mode))
    assert told(tmp_path) == (
        "folder",
        "fail",
        f"{closed} is of another user and closed to this one, as after sudo",
        f'sudo chown -R "$(id -un)" {tmp_path}',
    )
