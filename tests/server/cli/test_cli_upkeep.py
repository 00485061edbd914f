"""``prowess forget``, ``rebuild``, ``backup``, ``restore``, ``stats``, ``doctor`` and ``config``."""

from __future__ import annotations

import json
import shutil
import sqlite3
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import pytest
import redb
from clikit import Command

from prowess.server.capture.sessions import Sessions
from prowess.server.cli.exits import Exit
from prowess.storage.log.tables import JOURNAL

ROOT = Path(__file__).parents[3]


def test_forgetting_needs_to_know_what(prowess: Command, filled: str) -> None:
    assert prowess("forget", "--yes").code == Exit.USAGE


def test_forgetting_is_not_done_without_a_word(prowess: Command, filled: str) -> None:
    ended = prowess("forget", "--project", "shop", "--json")
    assert ended.code == Exit.USAGE
    assert "--yes" in ended.json["error"]["hint"]
    assert prowess("stats", "--json").json["episodes"] == 2


def test_what_was_forgotten_is_gone_also_after_a_rebuild(prowess: Command, filled: str, home: Path) -> None:
    counts = prowess("forget", "--episode", filled, "--yes", "--json").json
    assert counts["episodes"] == 1
    assert prowess("episodes", "show", filled).code == Exit.NOT_FOUND
    prowess("rebuild")
    assert [e["attempt"] for e in prowess("episodes", "list", "--json").json] == [1]
    assert b"thanks" not in (home / "log.redb").read_bytes()


def test_forgetting_without_a_hub_leaves_no_words_beside_the_store(prowess: Command, filled: str, home: Path) -> None:
    sessions = Sessions(home)
    sessions.get("codex", "s").task = "mend the zebra"
    sessions.save()
    (home / "spool").mkdir()
    (home / "spool" / "1-x.bad").write_text("zebra")
    (home / "spool" / "2-x.json").write_text("{}")
    ended = prowess("forget", "--episode", filled, "--yes")
    assert "1 event of hooks wait" in ended.err
    kept = [file for folder in ("sessions", "spool") for file in (home / folder).iterdir()]
    assert not any("zebra" in file.read_text() for file in kept)


def test_a_skill_is_forgotten_by_its_name(prowess: Command, filled: str) -> None:
    assert prowess("forget", "--skill", "return_items", "--yes", "--json").json["skills"] == 1
    gone = prowess("skills", "private", "return_items")
    assert (gone.code, "`prowess skills list`" in gone.err) == (Exit.NOT_FOUND, True)
    assert prowess("forget", "--skill", "return_items", "--yes").out == "erased: nothing, since nothing fits\n"


def test_nothing_that_fits_is_no_error(prowess: Command, filled: str) -> None:
    ended = prowess("forget", "--task-id", "absent", "--yes")
    assert (ended.code, ended.out) == (Exit.OK, "erased: nothing, since nothing fits\n")
    assert "by id" in ended.err


def test_rebuild_tells_what_the_catalog_has(prowess: Command, filled: str) -> None:
    assert prowess("rebuild", "--json").json == {"episodes": 2, "steps": 3}


def test_backup_and_restore(prowess: Command, filled: str, tmp_path: Path) -> None:
    path = prowess("backup", tmp_path / "kept").out.strip()
    assert Path(path).is_dir()
    prowess("skills", "archive", "return_items")
    told = prowess("restore", path, "--yes", "--json").json
    assert Path(told["replaced"]).is_dir()
    assert prowess("skills", "show", "return_items", "--json").json["status"] == "active"


def test_what_a_restore_leaves_is_told_and_gone_for_good_once_a_person_deletes_it(
    prowess: Command, filled: str, home: Path, tmp_path: Path
) -> None:
    made = Path(prowess("backup", tmp_path / "kept").out.strip())
    ended = prowess("restore", made, "--yes")
    (aside,) = home.glob("replaced-*")
    assert f"is now the backup {aside}\n" in ended.out
    assert "delete that folder: nothing else does" in ended.err
    shutil.rmtree(aside)
    assert prowess("forget", "--episode", filled, "--yes").err == ""
    [store] = [each for each in prowess("doctor", "--json").json["findings"] if each["check"] == "store"]
    assert (store["state"], store["mend"]) == ("ok", "")


def test_a_restore_wants_a_word(prowess: Command, filled: str, tmp_path: Path) -> None:
    path = prowess("backup", tmp_path / "kept").out.strip()
    assert prowess("restore", path).code == Exit.USAGE


def test_a_folder_that_is_no_backup_changes_nothing(prowess: Command, filled: str, tmp_path: Path) -> None:
    made = prowess("backup", tmp_path / "kept").out.strip()
    ended = prowess("restore", tmp_path, "--json")  # told before anybody is asked
    assert ended.code == Exit.NOT_FOUND
    assert ended.json["error"]["message"] == f"{tmp_path} is no backup: there is no manifest.json in it"
    assert ended.json["error"]["hint"].endswith(f"the newest in this folder is {made}")
    assert prowess("stats", "--json").json["episodes"] == 2


def test_stats_count_what_there_is(prowess: Command, filled: str, home: Path) -> None:
    counts = prowess("stats", "--json").json
    assert (counts["episodes"], counts["steps"], counts["rewards"]) == (2, 3, 2)
    assert (counts["outcomes"], counts["skills"]) == ({"failure": 1, "success": 1}, {"active": 1})
    assert counts["store"] == str(home)
    assert counts["bytes"] > 0
    assert "1 failure, 1 success" in prowess("stats").out


def test_a_healthy_store_has_no_failing_line(prowess: Command, filled: str) -> None:
    ended = prowess("doctor", "--json")
    states = {finding["check"]: finding["state"] for finding in ended.json["findings"]}
    assert ended.code == Exit.OK
    assert states == {
        **dict.fromkeys(("versions", "settings", "folder", "disk", "hub", "store", "language model", "worker"), "ok"),
        "clients": "ok",  # none has anything of ours
        "sync": "ok",  # no remote is set
        "spool": "ok",  # nothing waits
        **dict.fromkeys(("environment", "embedding"), "warn"),  # PROWESS_EMBEDDER=none
    }


@pytest.mark.parametrize("name", ["ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN"])
def test_the_key_is_never_shown(prowess: Command, filled: str, monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    monkeypatch.setenv(name, "sk-very-secret")
    ended = prowess("doctor")
    assert "API key present" in ended.out
    assert "at most $1 a day" in ended.out
    assert "secret" not in ended.out + ended.err
    monkeypatch.setenv("PROWESS_TRAIN_USD", "2.5")
    assert "at most $1 and $2.5 for training a day" in " ".join(prowess("doctor").out.split())


def test_each_trouble_has_the_command_that_mends_it(prowess: Command, filled: str, home: Path) -> None:
    home.chmod(0o755)
    (home / "catalog.db").write_bytes(b"rubbish" * 1000)
    ended = prowess("doctor", "--json")
    found = {finding["check"]: finding for finding in ended.json["findings"]}
    assert ended.code == Exit.FAILED
    assert (found["folder"]["state"], found["folder"]["mend"]) == ("warn", f"chmod 700 {home}")
    assert found["store"]["state"] == "fail"
    assert found["store"]["mend"]


def test_an_event_that_was_changed_is_a_finding(prowess: Command, filled: str, home: Path) -> None:
    assert "events in one chain" in prowess("doctor").out
    with redb.Database.open(home / "log.redb") as db, db.begin_write() as txn:
        journal = txn.open_table(JOURNAL)
        changed = journal.get(2)
        assert changed is not None
        journal.insert(3, changed)
    ended = prowess("doctor", "--json")
    [store] = [finding for finding in ended.json["findings"] if finding["check"] == "store"]
    assert ended.code == Exit.FAILED
    assert (store["state"], "event 3" in store["said"], store["mend"]) == (
        "fail",
        True,
        f"restore a backup: prowess restore --store {home}",
    )


def test_a_backup_that_was_away_when_something_was_forgotten_is_a_finding(
    prowess: Command, filled: str, tmp_path: Path
) -> None:
    copy = Path(prowess("backup", str(tmp_path / "copy"), "--json").json["path"])
    copy.rename(tmp_path / "away")
    ended = prowess("forget", "--project", "shop", "--yes")
    assert (ended.code, f"may still hold what was forgotten, now or before: {copy};" in ended.err) == (Exit.OK, True)
    [store] = [each for each in prowess("doctor", "--json").json["findings"] if each["check"] == "store"]
    assert (store["state"], str(copy) in store["said"]) == ("warn", True)
    assert "may hold what was forgotten" in store["said"]


def test_a_backup_that_is_gone_is_a_finding_while_no_other_is_there(
    prowess: Command, filled: str, tmp_path: Path
) -> None:
    def told() -> tuple[str, bool]:
        [store] = [each for each in prowess("doctor", "--json").json["findings"] if each["check"] == "store"]
        return store["state"], f"no backup is where it was made: {tmp_path / 'first'}" in store["said"]

    shutil.rmtree(prowess("backup", tmp_path / "first").out.strip())
    assert told() == ("warn", True)
    prowess("backup", tmp_path / "second")
    assert told() == ("ok", False)


def test_a_store_of_a_newer_version_is_a_finding(prowess: Command, filled: str, home: Path) -> None:
    with closing(sqlite3.connect(home / "catalog.db")) as catalog:
        catalog.execute("INSERT INTO migrations VALUES (99, 'later', '9.9.9')")
        catalog.commit()
    ended = prowess("doctor", "--json")
    [store] = [each for each in ended.json["findings"] if each["check"] == "store"]
    assert (ended.code, store["state"]) == (Exit.FAILED, "fail")
    assert store["mend"] == "nothing was changed: install Prowess 9.9.9 or newer"


def test_doctor_makes_no_store(prowess: Command, home: Path) -> None:
    assert prowess("doctor").code == Exit.OK
    assert not home.exists()


def test_a_setting_that_makes_no_sense_is_a_finding(prowess: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PROWESS_DAILY_USD", "much")
    ended = prowess("doctor", "--json")
    assert ended.code == Exit.FAILED
    assert ended.json["findings"][-1]["check"] == "settings"


def test_the_printed_entry_starts_this_interpreter(prowess: Command, home: Path) -> None:
    entry = prowess("config", "claude-desktop").json["mcpServers"]["prowess"]
    assert entry["command"] == sys.executable
    assert Path(entry["command"]).is_absolute()
    assert entry["args"][-2:] == ["--store", str(home)]


def test_the_example_entry_is_the_printed_one_with_another_path(prowess: Command) -> None:
    example = json.loads((ROOT / "claude_desktop_config.example.json").read_text())
    printed = prowess("config", "claude-desktop", store=False).json
    shown, real = example["mcpServers"]["prowess"], printed["mcpServers"]["prowess"]
    assert shown.pop("command").startswith("/")
    del real["command"]
    assert shown["args"][:2] == real["args"][:2]
    assert Path(shown["args"].pop()).parts[-3:] == Path(real["args"].pop()).parts[-3:]
    assert example == printed


def test_the_printed_entry_runs_with_no_path_from_any_folder(prowess: Command, tmp_path: Path) -> None:
    entry = prowess("config", "claude-desktop").json["mcpServers"]["prowess"]
    (tmp_path / "prowess.py").write_text("raise SystemExit('the project shadowed us')")
    command = [entry["command"], *entry["args"]]
    ping = b'{"jsonrpc": "2.0", "id": 1, "method": "ping"}\n'
    try:
        done = subprocess.run(command, cwd=tmp_path, env={}, input=ping, capture_output=True, timeout=60, check=False)
    finally:
        prowess("hub", "stop")  # the one that the shim started
    assert (done.returncode, json.loads(done.stdout)["id"]) == (0, 1)
