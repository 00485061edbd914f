"""``prowess skills export --to``: active skills where agents look for them."""

from __future__ import annotations

from pathlib import Path

import anyio
import pytest
from clikit import Command
from msgspec.structs import replace

from prowess.server.cli.exits import Exit
from prowess.server.project import project_of
from prowess.storage.events import ExposureMade, SkillSaved
from prowess.storage.models import ExposedSkill, Exposure, NewReward, NewStep, Origin, Skill, SkillStep, Where
from prowess.storage.store import Store

ORIGIN = Origin(client="test", session="s")
SKILL = Skill(id="", name="", description="Return delivered items.", steps=(SkillStep(tool="return"),), status="active")


@pytest.fixture
def user(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The user's folder, with a repository in it that is the working directory."""
    user = tmp_path / "user"
    (user / "shop" / "src").mkdir(parents=True)
    (user / "shop" / ".git").mkdir()
    for file, text in (("HEAD", "ref: refs/heads/main\n"), ("config", "")):
        (user / "shop" / ".git" / file).write_text(text)
    for name in ("objects", "refs"):
        (user / "shop" / ".git" / name).mkdir()
    monkeypatch.setenv("HOME", str(user))
    monkeypatch.delenv("CLAUDE_CONFIG_DIR", raising=False)
    monkeypatch.chdir(user / "shop" / "src")
    return user


@pytest.fixture
def stocked(home: Path, filled: str, user: Path) -> None:
    """Beside what is there: a skill of all projects, one of the working directory's, and some that must stay away."""
    own = project_of(user / "shop")
    made = [
        replace(SKILL, id="g1", name="general", project=""),
        replace(SKILL, id="s1", name="of_shop", project=own),
        replace(SKILL, id="d1", name="drafted", project="", status="draft"),
        replace(SKILL, id="u1", name="foreign", project="", trust="untrusted"),
    ]

    async def save() -> None:
        async with Store.open(home) as store:
            await store.append([SkillSaved(skill=skill, change="test") for skill in made], origin=ORIGIN)

    anyio.run(save)


def test_what_lifts_success_comes_first(prowess: Command, home: Path, filled: str, user: Path, tmp_path: Path) -> None:
    harms, unknown, helps = (
        replace(SKILL, id=f"x{number}", name=name) for number, name in enumerate(("harms", "unknown", "helps"))
    )

    async def match(store: Store, skill: Skill, number: int) -> None:
        """One question of an own task: shown to every other, which it helps or harms."""
        shown = number % 2 == 0
        where = Where(task_id=f"{skill.id}-{number}", session="s", task="t")
        tracked = await store.track(where, [NewStep(action="a")], origin=ORIGIN)
        matched = ExposedSkill(skill_id=skill.id, version=1, rank=1, score=1.0, shown=shown)
        exposure = Exposure(id=where.task_id, at=f"2026-01-01T00:00:{number:02}.000Z", query="q", skills=(matched,))
        asked = replace(exposure, episode_id=tracked.episode_id)
        await store.append([ExposureMade(exposure=asked)], origin=ORIGIN)
        good = shown == (skill is helps)
        await store.score(where, [NewReward(value=8.0 if good else -8.0)], final=True, origin=ORIGIN)

    async def save() -> None:
        async with Store.open(home) as store:
            saved = [SkillSaved(skill=skill, change="test") for skill in (harms, unknown, helps)]
            await store.append(saved, origin=ORIGIN)
            for skill in (harms, helps):
                for number in range(12):
                    await match(store, skill, number)

    anyio.run(save)
    files = prowess("skills", "export", "--to", tmp_path / "all", "--project", "", "--json").json["files"]
    assert [item["skill"] for item in files] == ["helps", "unknown", "harms"]


def written(folder: Path) -> list[str]:
    return sorted(path.parent.name for path in folder.glob("*/SKILL.md"))


@pytest.mark.usefixtures("stocked")
def test_the_user_s_folder_gets_what_belongs_to_all_projects(prowess: Command, user: Path) -> None:
    done = prowess("skills", "export", "--to", "claude", "--json")
    path = user / ".claude" / "skills" / "general" / "SKILL.md"
    assert done.json == {"skills": 1, "files": [{"skill": "general", "path": str(path), "state": "written"}]}
    assert "2 more belong to projects: export them there with --scope project" in done.err
    assert written(user / ".claude" / "skills") == ["general"]


@pytest.mark.usefixtures("stocked")
def test_a_project_s_folder_gets_its_own(prowess: Command, user: Path) -> None:
    assert prowess("skills", "export", "--to", "codex", "--scope", "project").code == Exit.OK
    assert written(user / "shop" / ".agents" / "skills") == ["of-shop"]


@pytest.mark.usefixtures("stocked")
def test_an_agent_is_known_by_the_name_that_install_has_for_it_too(prowess: Command, user: Path) -> None:
    prowess("skills", "export", "--to", "claude-code", "--scope", "project")
    assert written(user / "shop" / ".claude" / "skills") == ["of-shop"]
    assert not (user / "shop" / "src" / "claude-code").exists()


@pytest.mark.usefixtures("stocked")
def test_any_folder_gets_all_or_those_of_a_project(prowess: Command, tmp_path: Path) -> None:
    prowess("skills", "export", "--to", tmp_path / "all")
    assert written(tmp_path / "all") == ["general", "of-shop", "return-items"]
    prowess("skills", "export", "--to", tmp_path / "shop", "--project", "shop")
    assert written(tmp_path / "shop") == ["general", "return-items"]


@pytest.mark.usefixtures("stocked")
def test_what_is_no_longer_active_goes_at_the_next_export(prowess: Command, user: Path) -> None:
    prowess("skills", "export", "--to", "cursor")
    prowess("skills", "archive", "general")
    shown = prowess("skills", "export", "--to", "cursor", "--dry-run")
    assert shown.out == f"would be removed {user}/.cursor/skills/general/SKILL.md\n"
    assert written(user / ".cursor" / "skills") == ["general"]
    prowess("skills", "export", "--to", "cursor")
    assert list((user / ".cursor" / "skills").iterdir()) == []


@pytest.mark.usefixtures("stocked")
def test_all_of_ours_is_taken_out_again_and_nothing_else(prowess: Command, user: Path) -> None:
    folder = user / ".claude" / "skills"
    prowess("skills", "export", "--to", "claude")
    (folder / "mine").mkdir()
    (folder / "mine" / "SKILL.md").write_text("---\nname: mine\ndescription: Mine.\n---\n")
    asked = prowess("skills", "export", "--to", "claude", "--remove", "--dry-run")
    assert asked.out == f"would be removed {folder}/general/SKILL.md\n"
    done = prowess("skills", "export", "--to", "claude", "--remove")
    assert (done.out, done.err) == (f"removed {folder}/general/SKILL.md\n", "")
    assert [entry.name for entry in folder.iterdir()] == ["mine"]
    again = prowess("skills", "export", "--to", "claude", "--remove")
    assert (again.code, again.out) == (Exit.OK, "nothing is there of this store\n")


def test_drafts_that_are_not_exported_are_told_where_nothing_else_is_there(
    prowess: Command, home: Path, filled: str, user: Path
) -> None:
    drafts = [replace(SKILL, id=f"d{number}", name=f"d{number}", project="", status="draft") for number in range(2)]

    async def save() -> None:
        async with Store.open(home) as store:
            await store.append([SkillSaved(skill=skill, change="test") for skill in drafts], origin=ORIGIN)

    anyio.run(save)
    done = prowess("skills", "export", "--to", "claude")
    assert done.out == "nothing written: no skill fits\n"
    assert "2 drafts must prove themselves first; `prowess skills restore NAME` makes one active" in done.err
    prowess("skills", "restore", "d0")
    done = prowess("skills", "export", "--to", "claude")
    assert (done.out, "draft" in done.err) == (f"written {user}/.claude/skills/d0/SKILL.md\n", False)


@pytest.mark.usefixtures("stocked")
def test_an_edited_one_is_kept_told_and_taken_in_by_import(prowess: Command, tmp_path: Path) -> None:
    prowess("skills", "export", "--to", tmp_path / "all")
    assert {item["state"] for item in prowess("skills", "import", tmp_path / "all", "--json").json["skills"]} == {
        "unchanged"
    }
    file = tmp_path / "all" / "general" / "SKILL.md"
    file.write_text(file.read_text().replace('description: "Return', 'description: "Always return', 1))
    done = prowess("skills", "export", "--to", tmp_path / "all")
    assert (done.code, f"kept {file}" in done.out) == (Exit.FAILED, True)
    prowess("skills", "import", tmp_path / "all", "--trust")
    found = prowess("skills", "show", "general", "--json").json
    assert (found["description"], found["author"]) == ("Always return delivered items.", "person")


def test_what_cannot_be_meant_is_refused(prowess: Command, filled: str, user: Path, tmp_path: Path) -> None:
    for words in (
        (),
        ("--to", ""),
        (tmp_path / "x", "--to", "claude"),
        ("--to", "claude", "--skill", "return_items"),
        ("--to", "claude", "--status", "draft"),
        ("--to", "claude", "--format", "json"),
        (tmp_path / "x", "--remove"),
    ):
        assert prowess("skills", "export", *words).code == Exit.USAGE, words


def test_a_folder_of_no_project_is_told(
    prowess: Command, filled: str, user: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(user)
    done = prowess("skills", "export", "--to", "claude", "--scope", "project")
    assert (done.code, "belongs to no project" in done.err) == (Exit.USAGE, True)
