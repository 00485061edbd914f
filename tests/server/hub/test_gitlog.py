"""Commits are found in the repository's own log of its head, and git is never run."""

from __future__ import annotations

import subprocess
from datetime import UTC, datetime
from pathlib import Path

import pytest

from prowess.server.capture.gitlog import committed_in, committed_since

WHO = "Me <me@example.com>"
A, B, C, ZERO = "a" * 40, "b" * 40, "c" * 40, "0" * 40
SINCE = "2026-11-29T12:00:00.500Z"
BEFORE = int(datetime(2026, 11, 29, 12, tzinfo=UTC).timestamp())
AFTER = BEFORE + 1


def logged(folder: Path, *entries: str) -> Path:
    logs = folder / ".git" / "logs"
    logs.mkdir(parents=True)
    (logs / "HEAD").write_text("".join(f"{entry}\n" for entry in entries))
    return folder


def entry(old: str, new: str, seconds: int, what: str) -> str:
    return f"{old} {new} {WHO} {seconds} +0100\t{what}"


@pytest.mark.parametrize(
    ("entries", "found"),
    [
        ([], None),
        ([entry(ZERO, A, BEFORE, "commit (initial): start")], None),
        ([entry(A, B, AFTER, "commit: mend")], {"sha": B, "reverted": False}),
        ([entry(A, B, AFTER, "commit (amend): mend")], {"sha": B, "reverted": False}),
        ([entry(A, B, AFTER, "checkout: moving from main to old")], None),
        ([entry(A, B, AFTER, "pull: Fast-forward")], None),
        (
            [entry(A, B, AFTER, "commit: mend"), entry(B, A, AFTER, "reset: moving to HEAD~1")],
            {"sha": B, "reverted": True},
        ),
        (
            [entry(A, B, AFTER, "commit: mend"), entry(B, B, AFTER, "reset: moving to HEAD")],
            {"sha": B, "reverted": False},
        ),
        ([entry(A, B, AFTER, "commit: one"), entry(B, C, AFTER, "commit: two")], {"sha": C, "reverted": False}),
        (["garbage", entry(A, B, AFTER, "commit: mend")], {"sha": B, "reverted": False}),
        ([entry(A, B, 999_999_999_999, "commit: of a year that no date has")], {"sha": B, "reverted": False}),
    ],
)
def test_the_last_commit_since_a_moment_counts(tmp_path: Path, entries: list[str], found: object) -> None:
    assert committed_since(logged(tmp_path, *entries), SINCE) == found


def test_a_folder_whose_name_no_disk_takes_has_no_commits() -> None:
    assert committed_since(Path("/" + "a" * 3000), SINCE) is None


def test_a_folder_inside_a_repository_is_in_it(tmp_path: Path) -> None:
    inside = logged(tmp_path, entry(A, B, AFTER, "commit: mend")) / "src" / "till"
    inside.mkdir(parents=True)
    assert committed_since(inside, SINCE) == {"sha": B, "reverted": False}


def test_a_worktree_has_a_log_of_its_own(tmp_path: Path) -> None:
    logged(tmp_path / "main", entry(A, C, AFTER, "commit: elsewhere"))
    own = tmp_path / "main" / ".git" / "worktrees" / "w"
    (own / "logs").mkdir(parents=True)
    (own / "logs" / "HEAD").write_text(entry(A, B, AFTER, "commit: here") + "\n")
    (tmp_path / "w").mkdir()
    (tmp_path / "w" / ".git").write_text(f"gitdir: {own}\n")
    assert committed_since(tmp_path / "w", SINCE) == {"sha": B, "reverted": False}


def test_what_git_itself_writes_is_understood(tmp_path: Path) -> None:
    def git(*words: str) -> None:
        who = ["-c", "user.name=me", "-c", "user.email=me@example.com"]
        subprocess.run(["git", *who, *words], cwd=tmp_path, check=True, capture_output=True, timeout=60)

    git("init")
    git("commit", "--allow-empty", "-m", "one")
    sha = subprocess.run(["git", "rev-parse", "HEAD"], cwd=tmp_path, capture_output=True, text=True, timeout=60).stdout
    assert committed_since(tmp_path, "2001-01-01T00:00:00Z") == {"sha": sha.strip(), "reverted": False}
    assert committed_since(tmp_path, "2100-01-01T00:00:00Z") is None


def test_no_repository_and_no_time_are_no_evidence(tmp_path: Path) -> None:
    assert committed_since(tmp_path, "yesterday") is None
    assert committed_since(Path("relative"), SINCE) is None


def test_of_other_folders_those_of_the_same_repository_count(tmp_path: Path) -> None:
    def git(*words: str, at: str) -> str:
        who = ["-c", "user.name=me", "-c", "user.email=me@example.com"]
        done = subprocess.run(["git", *who, *words], cwd=tmp_path / at, check=True, capture_output=True, timeout=60)
        return done.stdout.decode().strip()

    begun = "2001-01-01T00:00:00Z"
    for name in ("shop", "other"):
        (tmp_path / name).mkdir()
        git("init", at=name)
        git("commit", "--allow-empty", "-m", "one", at=name)
    git("worktree", "add", "../tree", at="shop")
    first = git("rev-parse", "HEAD", at="shop")
    git("commit", "--allow-empty", "-m", "two", at="tree")
    second = git("rev-parse", "HEAD", at="tree")
    shop, tree, other = tmp_path / "shop", tmp_path / "tree", tmp_path / "other"
    assert committed_in([shop, tree], begun) == {"sha": first, "reverted": False}
    (shop / ".git" / "logs" / "HEAD").unlink()  # of the first folder nothing is told
    assert committed_in([shop, other], begun) is None
    assert committed_in([shop, other, tree], begun) == {"sha": second, "reverted": False}
    assert committed_in([tmp_path, tree], begun) is None
    assert committed_in([], begun) is None
