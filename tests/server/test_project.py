"""Which project a folder belongs to; repositories are made by git itself."""

from __future__ import annotations

import hashlib
import os
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from prowess.server.gitconfig import remotes
from prowess.server.project import project_of

Git = Callable[..., str]


def _digest(kind: str, identity: str) -> str:
    return hashlib.sha256(f"{kind}\0{identity}".encode()).hexdigest()[:8]


@pytest.fixture
def git(tmp_path: Path) -> Git:
    environ = {
        "PATH": os.environ["PATH"],
        "HOME": str(tmp_path),
        "GIT_CONFIG_NOSYSTEM": "1",
        "GIT_ALLOW_PROTOCOL": "file",
        "GIT_AUTHOR_NAME": "a",
        "GIT_AUTHOR_EMAIL": "a@example.org",
        "GIT_COMMITTER_NAME": "a",
        "GIT_COMMITTER_EMAIL": "a@example.org",
    }

    def run(folder: Path, *arguments: str) -> str:
        folder.mkdir(parents=True, exist_ok=True)
        command = ["git", "-c", "init.defaultBranch=main", "-c", "protocol.file.allow=always", *arguments]
        ended = subprocess.run(command, cwd=folder, env=environ, capture_output=True, text=True, check=True, timeout=30)
        return ended.stdout

    return run


@pytest.fixture
def repository(git: Git, tmp_path: Path) -> Path:
    folder = tmp_path / "Shop Front"
    git(folder, "init")
    git(folder, "commit", "--allow-empty", "-m", "first")
    return folder


@pytest.fixture
def with_remote(git: Git, repository: Path) -> Path:
    git(repository, "remote", "add", "origin", "git@Forge.Example:Team/Shop.git")
    return repository


SHOP = f"shop-{_digest('remote', 'forge.example/team/shop')}"


def test_an_override_wins_and_is_trimmed(with_remote: Path) -> None:
    assert project_of(with_remote, "  mine\n ") == "mine"
    assert project_of(with_remote, " \n") == SHOP
    assert len(project_of(with_remote, "x" * 500)) == 200


def test_a_repository_without_a_remote_is_known_by_its_place(repository: Path) -> None:
    assert project_of(repository) == f"shop-front-{_digest('place', str(repository / '.git'))}"


def test_a_folder_within_belongs_to_the_repository(repository: Path) -> None:
    (repository / "src" / "deep").mkdir(parents=True)
    assert project_of(repository / "src" / "deep") == project_of(repository) == project_of(repository / ".git")


def test_a_folder_without_git_is_known_by_its_real_path(tmp_path: Path) -> None:
    (tmp_path / "notes").mkdir()
    (tmp_path / "link").symlink_to("notes")
    assert project_of(tmp_path / "notes") == f"notes-{_digest('place', str(tmp_path / 'notes'))}"
    assert project_of(tmp_path / "link") == project_of(tmp_path / "notes")


def test_worktrees_are_one_project(git: Git, repository: Path, with_remote: Path, tmp_path: Path) -> None:
    git(repository, "worktree", "add", str(tmp_path / "feature"), "-b", "feature")
    assert project_of(tmp_path / "feature") == SHOP
    git(repository, "remote", "remove", "origin")
    assert project_of(tmp_path / "feature") == project_of(repository)
    assert project_of(tmp_path / "feature").startswith("shop-front-")


def test_a_submodule_is_a_project_of_its_own(git: Git, repository: Path, tmp_path: Path) -> None:
    git(tmp_path / "part", "init")
    git(tmp_path / "part", "commit", "--allow-empty", "-m", "first")
    git(repository, "submodule", "add", str(tmp_path / "part"), "vendored")
    assert project_of(repository / "vendored") == project_of(tmp_path / "part") != project_of(repository)
    git(repository / "vendored", "remote", "set-url", "origin", "https://forge.example/team/shop")
    assert project_of(repository / "vendored") == SHOP


def test_a_bare_repository_with_worktrees_is_one_project(git: Git, repository: Path, tmp_path: Path) -> None:
    git(tmp_path, "clone", "--bare", str(repository), "bare.git")
    git(tmp_path / "bare.git", "remote", "remove", "origin")
    git(tmp_path / "bare.git", "worktree", "add", str(tmp_path / "tree"), "main")
    assert project_of(tmp_path / "tree") == project_of(tmp_path / "bare.git")
    assert project_of(tmp_path / "tree").startswith("bare-")


def test_a_clone_on_the_same_machine_is_the_same_project(git: Git, repository: Path, tmp_path: Path) -> None:
    git(tmp_path, "clone", str(repository), "copy")
    git(tmp_path, "clone", f"file://{tmp_path / 'copy'}", "copy-of-copy")
    assert project_of(tmp_path / "copy-of-copy") == project_of(tmp_path / "copy") == project_of(repository)
    git(repository, "remote", "add", "origin", "https://forge.example/team/shop")
    assert project_of(tmp_path / "copy-of-copy") == SHOP


def test_a_clone_of_itself_ends(git: Git, repository: Path) -> None:
    git(repository, "remote", "add", "origin", ".")
    assert project_of(repository).startswith("shop-front-")


def test_a_local_remote_that_is_gone_still_names_the_project(git: Git, repository: Path, tmp_path: Path) -> None:
    git(repository, "remote", "add", "origin", "../gone.git")
    assert project_of(repository) == f"gone-{_digest('remote', str(tmp_path / 'gone.git'))}"


@pytest.mark.parametrize(
    "url",
    [
        "git@forge.example:Team/Shop.git",
        "forge.example:team/shop",
        "forge.example:/team/shop/",
        "ssh://git@forge.example/team/shop.git",
        "ssh://git@forge.example:22/team/shop.git",
        "https://forge.example/team/shop",
        "https://FORGE.example:443//Team/Shop.git/",
        "https://oauth2:glpat-secret@forge.example/team/shop.git",
        "https://forge.example/team/shop.git?token=secret#x",
        "git://forge.example/team/shop",
    ],
)
def test_one_remote_is_one_project_however_it_is_written(git: Git, repository: Path, url: str) -> None:
    git(repository, "remote", "add", "origin", url)
    assert project_of(repository) == SHOP


@pytest.mark.parametrize(
    "url",
    [
        "https://forge.example:8443/team/shop",
        "https://other.example/team/shop",
        "https://forge.example/team/shop2",
        "https://forge.example:port/team/shop",
        "/team/shop",
    ],
)
def test_another_remote_is_another_project(git: Git, repository: Path, url: str) -> None:
    git(repository, "remote", "add", "origin", url)
    assert project_of(repository) not in ("", SHOP)


def test_origin_comes_before_other_remotes_and_those_by_name(git: Git, repository: Path) -> None:
    git(repository, "remote", "add", "zeta", "https://forge.example/z")
    git(repository, "remote", "add", "beta", "https://forge.example/b")
    assert project_of(repository).startswith("b-")
    git(repository, "remote", "add", "origin", "https://forge.example/team/shop")
    assert project_of(repository) == SHOP


def test_home_root_and_folders_that_are_not_there_are_no_project(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    (tmp_path / "file").write_text("")
    for folder in (tmp_path, Path("/"), tmp_path / "gone", tmp_path / "file", Path("relative"), Path(), Path("/\0")):
        assert project_of(folder) == ""


def test_a_broken_git_entry_is_passed_over(tmp_path: Path) -> None:
    for name, content in {"a": b"gitdir: /nowhere", "b": b"\0\xff", "c": b"gitdir: \0", "d": b""}.items():
        (tmp_path / name).mkdir()
        (tmp_path / name / ".git").write_bytes(content)
        assert project_of(tmp_path / name) == f"{name}-{_digest('place', str(tmp_path / name))}"


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="named pipes are Unix's")
def test_a_pipe_in_place_of_a_file_keeps_nobody_waiting(repository: Path, tmp_path: Path) -> None:
    (tmp_path / "trap").mkdir()
    os.mkfifo(tmp_path / "trap" / ".git")
    assert project_of(tmp_path / "trap").startswith("trap-")
    (repository / ".git" / "config").unlink()
    os.mkfifo(repository / ".git" / "config")
    assert project_of(repository).startswith("shop-front-")


def test_nothing_of_a_hostile_repository_is_run(git: Git, repository: Path, tmp_path: Path) -> None:
    ran = tmp_path / "ran"
    hook = tmp_path / "hook"
    hook.write_text(f"#!/bin/sh\ntouch {ran}\n")
    hook.chmod(0o755)
    for key in ("core.fsmonitor", "core.sshCommand", "core.pager", "alias.remote"):
        git(repository, "config", key, f"!{hook}" if key.startswith("alias") else str(hook))
    git(repository, "config", "include.path", str(hook))
    assert project_of(repository).startswith("shop-front-")
    assert not ran.exists()


@pytest.mark.parametrize(
    ("folder", "start"), [("Größe", "grösse-"), ("a  b!", "a-b-"), ("y" * 80, "y" * 40 + "-"), ("...", "project-")]
)
def test_the_name_is_short_and_plain(tmp_path: Path, folder: str, start: str) -> None:
    (tmp_path / folder).mkdir()
    assert project_of(tmp_path / folder) == start + _digest("place", str(tmp_path / folder))


@pytest.mark.parametrize(
    "value",
    [
        "https://forge.example/plain",
        'C:\\path "quoted" # no comment',
        "semi;colon",
        "tab\there",
        "two  spaces",
        'a\\"b',
    ],
)
def test_values_are_read_as_git_writes_them(git: Git, repository: Path, value: str) -> None:
    git(repository, "config", 'remote.o"r\\ig.in x.url', value)
    assert remotes((repository / ".git" / "config").read_text()) == {'o"r\\ig.in x': value}


def test_comments_continued_lines_and_other_sections_are_understood() -> None:
    text = """
    # [remote "no"]
    [core] url = core
    [REMOTE "origin"] ; why not
        URL = https://forge.example/\\
team/shop ; a comment
        url = second
        pushurl = push
    [remote] url = nameless
    [branch "url"]
        url = branch
    [remote "empty"]
        url =
    """
    assert remotes(text) == {"origin": "https://forge.example/team/shop"}


@given(st.text(max_size=300))
def test_no_text_breaks_the_reader(text: str) -> None:
    assert isinstance(remotes(f'[remote "{text}"]\nurl = {text}\n{text}'), dict)
