"""Where the processes of a store meet."""

from __future__ import annotations

import json
import os
import pwd
import stat
from pathlib import Path
from types import SimpleNamespace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from prowess.server.hooks import main as hook
from prowess.server.hooks import watchdog
from prowess.server.settings import BadSetting, load
from prowess.server.shim import places


@pytest.mark.parametrize(
    "environ",
    [
        {},
        {"PROWESS_HOME": "/srv/memory"},
        {"PROWESS_HOME": "~/memory"},
        {"PROWESS_HOME": "rel/ative"},
    ],
)
def test_the_home_is_the_one_of_the_settings(environ: dict[str, str]) -> None:
    everything = {**os.environ, **environ}
    assert places.home(None, everything) == str(load({}, environ).home)


@pytest.mark.parametrize("base", ["/data", "", "relative"])
def test_the_users_data_folder_is_platformdirs(base: str, monkeypatch: pytest.MonkeyPatch) -> None:
    from platformdirs import user_data_path

    monkeypatch.setenv("XDG_DATA_HOME", base)
    assert places.home(None, {"XDG_DATA_HOME": base}) == str(user_data_path("prowess", appauthor=False))


@pytest.fixture
def homeless(monkeypatch: pytest.MonkeyPatch) -> None:
    """As in a container whose user has no entry in the list of users."""

    def unknown(number: int) -> None:
        raise KeyError(number)

    monkeypatch.delenv("HOME")
    monkeypatch.delenv("XDG_DATA_HOME", raising=False)
    monkeypatch.setattr(pwd, "getpwuid", unknown)


@pytest.mark.usefixtures("homeless")
def test_a_user_without_a_home_gets_no_folder_called_tilde(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(watchdog, "arm", lambda seconds: None)
    assert hook(["claude-code", "SessionStart"]) == 0
    assert capsys.readouterr().out == ""
    with pytest.raises(places.PlaceError, match="nobody knows your home folder"):
        places.make_run_folder(places.home(None, {}))
    with pytest.raises(places.PlaceError, match="nobody knows your home folder"):
        places.user_folder()
    with pytest.raises(BadSetting, match="nobody knows your home folder"):
        load({}, {})
    with pytest.raises(BadSetting, match="PROWESS_HOME: '~/store' makes no sense"):
        load({}, {"PROWESS_HOME": "~/store"})
    assert places.home(None, {"PROWESS_HOME": "store"}) == str(tmp_path / "store")
    assert list(tmp_path.iterdir()) == []


def test_a_home_that_is_no_path_is_not_gone_by(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", "")
    monkeypatch.setattr(pwd, "getpwuid", lambda number: SimpleNamespace(pw_dir="/home/ada/"))
    assert places.user_folder() == "/home/ada"
    assert places.home(None, {"PROWESS_HOME": "~/store"}) == "/home/ada/store"
    assert load({"home": "~/store"}, {}).home == Path("/home/ada/store")
    assert places.home(None, {"XDG_DATA_HOME": "relative"}).startswith("/home/ada/")


def test_the_option_wins_over_the_environment(tmp_path: Path) -> None:
    assert places.home(tmp_path, {"PROWESS_HOME": "/elsewhere"}) == str(tmp_path)
    assert places.home("~/x", {}) == str(Path("~/x").expanduser())


@pytest.mark.skipif(os.name == "nt", reason="there are no such modes")
def test_a_store_that_an_agent_opens_first_is_its_owners_alone(tmp_path: Path) -> None:
    home = tmp_path / "new" / "home"
    run = places.make_run_folder(home)
    assert [stat.S_IMODE(Path(folder).stat().st_mode) for folder in (home, run)] == [0o700, 0o700]


def test_two_names_of_one_store_are_one_place(tmp_path: Path) -> None:
    home = tmp_path / "home"
    home.mkdir()
    link = tmp_path / "link"
    link.symlink_to(home)
    assert places.socket_path(link) == places.socket_path(home)
    (home / "log.redb").touch()
    assert places.start_lock(link / "log.redb") == places.start_lock(home / "log.redb")


def test_the_names_are_these(tmp_path: Path) -> None:
    home = Path(os.path.realpath(tmp_path)) / "h"
    named = [places.run_folder, places.hub_lock, places.state_file, places.error_file, places.log_file]
    assert [str(Path(of(home)).relative_to(home)) for of in named] == [
        "run",
        "run/hub.lock",
        "run/hub.json",
        "run/hub.err",
        "logs/hub.log",
    ]
    assert places.socket_path(home) == str(home / "run" / "hub.sock")


@given(st.text(st.characters(codec="utf-8", exclude_characters="/\x00"), min_size=1, max_size=200))
def test_a_socket_path_is_never_too_long_for_the_system(name: str) -> None:
    assert len(os.fsencode(places.socket_path(Path("/srv") / name / ("x" * 60)))) <= 100


def test_long_paths_of_two_stores_differ(tmp_path: Path) -> None:
    long = tmp_path / ("x" * 100)
    assert places.socket_path(long / "a") != places.socket_path(long / "b")
    assert places.socket_path(long / "a") == places.socket_path(long / "a")


def test_a_short_folder_lies_in_the_runtime_folder_where_there_is_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    runtime = Path("/tmp") / f"prowess-test-{os.getpid()}"
    runtime.mkdir(mode=0o700)
    try:
        monkeypatch.setenv("XDG_RUNTIME_DIR", str(runtime))
        home = tmp_path / ("x" * 100)
        folder = Path(places.socket_path(home)).parent
        assert folder == runtime / "prowess"
        places.make_run_folder(home)
        assert stat.S_IMODE(folder.stat().st_mode) == 0o700
        folder.rmdir()
    finally:
        runtime.rmdir()
    monkeypatch.delenv("XDG_RUNTIME_DIR")
    assert Path(places.socket_path(home)).parent == Path("/tmp") / f"prowess-{os.getuid()}"


def test_a_folder_of_someone_else_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    places.make_run_folder(tmp_path)
    monkeypatch.setattr(os, "getuid", lambda: 12345)
    with pytest.raises(places.PlaceError, match="not a folder of yours") as caught:
        places.make_run_folder(tmp_path)
    assert "XDG_RUNTIME_DIR" in caught.value.hint


@pytest.mark.parametrize("said", ["", "[]", "{", '{"pid": "\ud800'])
def test_a_state_that_is_none_is_empty(tmp_path: Path, said: str) -> None:
    places.make_run_folder(tmp_path)
    Path(places.state_file(tmp_path)).write_text(said, errors="replace")
    assert places.read_state(tmp_path) == {}


def test_a_state_is_read(tmp_path: Path) -> None:
    assert places.read_state(tmp_path) == {}
    places.make_run_folder(tmp_path)
    Path(places.state_file(tmp_path)).write_text('{"pid": 7}')
    assert places.read_state(tmp_path) == {"pid": 7}


def test_a_state_that_was_copied_to_another_disk_is_not_gone_by(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Two fresh disks give their first folders the same numbers."""
    devices = {"one": 39, "two": 40}
    monkeypatch.setattr(os, "stat", lambda path: SimpleNamespace(st_dev=devices[Path(path).parent.name], st_ino=3))
    state = json.dumps({"pid": 7, "folder": places.folder_mark(tmp_path / "one")})
    for name in devices:
        file = Path(places.state_file(tmp_path / name))
        file.parent.mkdir(parents=True)
        file.write_text(state)
    assert places.read_state(tmp_path / "one")["pid"] == 7
    assert places.read_state(tmp_path / "two") == {}


def test_an_environment_counts_only_as_far_as_the_user_allowed(tmp_path: Path) -> None:
    environ = {"REDB_PATH": "/x", "PROWESS_MODEL": "m", "PATH": "/bin"}
    assert places.allowed_environment(tmp_path, environ) == {}
    (tmp_path / "allow-env").write_text("# comment\nPROWESS_MODEL \nPATH\nPROWESS_EMBEDDER\n")
    assert places.allowed_environment(tmp_path, environ) == {"PROWESS_MODEL": "m"}


@pytest.mark.parametrize(
    ("config", "environ", "log"),
    [
        ("", {}, "log.redb"),
        ('redb_path = "raw/log"', {}, "raw/log"),
        ('redb_path = "/srv/log"', {}, "/srv/log"),
        ('redb_path = "/srv/log"', {"REDB_PATH": "other"}, "other"),
        ("redb_path = 7", {}, "log.redb"),
        ("no TOML", {}, "log.redb"),
    ],
)
def test_the_log_is_where_the_settings_have_it(tmp_path: Path, config: str, environ: dict[str, str], log: str) -> None:
    (tmp_path / "config.toml").write_text(config)
    assert places.log_path(tmp_path, environ) == str(tmp_path / log)


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="there are no such files here")
def test_what_is_no_ordinary_file_keeps_nobody_waiting(tmp_path: Path) -> None:
    places.make_run_folder(tmp_path)
    for path in (tmp_path / "allow-env", tmp_path / "config.toml", places.state_file(tmp_path)):
        os.mkfifo(path)
    assert places.allowed_environment(tmp_path, {"PROWESS_MODEL": "m"}) == {}
    assert places.log_path(tmp_path, {}) == str(tmp_path / "log.redb")
    assert places.read_state(tmp_path) == {}


def test_what_nests_without_end_counts_as_nothing(tmp_path: Path) -> None:
    places.make_run_folder(tmp_path)
    deep = "[" * 100_000
    Path(places.state_file(tmp_path)).write_text(deep)
    (tmp_path / "config.toml").write_text(f"redb_path = {deep}")
    assert places.read_state(tmp_path) == {}
    assert places.log_path(tmp_path, {}) == str(tmp_path / "log.redb")
