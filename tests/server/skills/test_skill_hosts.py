"""Skills in agents' folders: the best that there is room for, and nothing of a person's touched."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest
from msgspec.structs import replace

from prowess.server.skills.files import read
from prowess.server.skills.hosts import HOSTS, best_first, export_skills, host_folder
from prowess.server.skills.markdown import FileSkill
from prowess.storage.errors import InvalidInput
from prowess.storage.models import Skill, SkillStep

STEP = SkillStep(tool="Bash", args_template={"command": "pytest"})
# name and description take 2 * 5 + 20 + 32 characters of the list
PLAIN = Skill(id="aaaaaaaa1", name="skill", description="d" * 20, steps=(STEP,), status="active")
ROOM = 62


def told(skills: Sequence[Skill], folder: Path, room: int = 8_000, *, dry_run: bool = False) -> dict[str, str]:
    done = export_skills(skills, {skill.id: skill for skill in skills}, folder, room, dry_run=dry_run)
    return {str(item.path.parent.name): item.state for item in done}


def numbered(count: int) -> list[Skill]:
    return [replace(PLAIN, id=f"id{number}", name=f"skil{number}") for number in range(count)]


def test_what_was_written_is_read_back_the_same(tmp_path: Path) -> None:
    assert told([PLAIN], tmp_path) == {"skill": "written"}
    (found,) = read(tmp_path)
    assert found == FileSkill(tmp_path / "skill" / "SKILL.md", PLAIN, edited=False)
    assert told([PLAIN], tmp_path) == {"skill": "unchanged"}


def test_an_agent_reads_no_more_than_it_needs(tmp_path: Path) -> None:
    long = replace(PLAIN, description="word " * 100)
    told([long], tmp_path)
    text = (tmp_path / "skill" / "SKILL.md").read_text()
    assert f'description: "{"word " * 49}word"\n' in text
    assert "success_rate" not in text
    (found,) = read(tmp_path)
    assert isinstance(found, FileSkill)
    assert found.skill == long


def test_as_many_are_written_as_there_is_room_for_and_the_best_of_them(tmp_path: Path) -> None:
    assert told(numbered(3), tmp_path, 2 * ROOM) == {"skil0": "written", "skil1": "written", "skil2": "no room"}
    assert sorted(path.name for path in tmp_path.iterdir()) == ["skil0", "skil1"]
    # A better one takes the place of the last.
    better = [replace(PLAIN, id="best", name="best!"), *numbered(3)]
    states = {"best": "written", "skil0": "unchanged", "skil1": "removed", "skil2": "no room"}
    assert told(better, tmp_path, 2 * ROOM - 2) == states
    assert sorted(path.name for path in tmp_path.iterdir()) == ["best", "skil0"]


def test_what_a_person_put_there_takes_room_and_stays(tmp_path: Path) -> None:
    (tmp_path / "skil0").mkdir()
    own = "---\nname: skil0\ndescription: " + "d" * 20 + "\n---\n1. `Bash`\n"
    (tmp_path / "skil0" / "SKILL.md").write_text(own)
    assert told(numbered(2), tmp_path, 2 * ROOM + 1) == {"skil0-id0": "no room", "skil1": "written"}
    assert (tmp_path / "skil0" / "SKILL.md").read_text() == own


def test_a_file_that_a_person_edited_is_neither_written_nor_removed(tmp_path: Path) -> None:
    first, second = numbered(2)
    told([first, second], tmp_path)
    for name in ("SKILL.md", "prowess.json"):
        edited = tmp_path / "skil0" / name
        text = edited.read_text()
        edited.write_text(text.replace("dddd", "changed by hand", 1))
        assert told([replace(first, description="new"), second], tmp_path) == {"skil0": "kept", "skil1": "unchanged"}
        assert "changed by hand" in edited.read_text()
        done = export_skills([second], {"id0": first, "id1": second}, tmp_path, 8_000)
        assert [item.state for item in done] == ["unchanged"]
        edited.write_text(text)
    assert told([first, second], tmp_path) == {"skil0": "unchanged", "skil1": "unchanged"}


def test_ours_that_are_no_longer_wanted_go_and_what_a_person_added_beside_stays(tmp_path: Path) -> None:
    first, second, third = numbered(3)
    told([first, second, third], tmp_path)
    (tmp_path / "skil1" / "notes.md").write_text("mine")
    done = export_skills([third], {skill.id: skill for skill in (first, second, third)}, tmp_path, 8_000)
    assert [item.state for item in done] == ["unchanged", "removed", "removed"]
    assert sorted(path.name for path in tmp_path.rglob("*")) == [
        "SKILL.md", "notes.md", "prowess.json", "skil1", "skil2",
    ]  # fmt: skip


def test_a_folder_that_a_person_put_elsewhere_stays_a_link(tmp_path: Path) -> None:
    (skill,) = numbered(1)
    told([skill], tmp_path / "skills")
    (tmp_path / "skills" / "skil0").rename(tmp_path / "moved")
    (tmp_path / "skills" / "skil0").symlink_to(tmp_path / "moved")
    assert told([skill], tmp_path / "skills") == {"skil0": "unchanged"}
    done = export_skills([], {"id0": skill}, tmp_path / "skills", 8_000)
    assert [item.state for item in done] == ["removed"]
    assert ((tmp_path / "skills" / "skil0").is_symlink(), list((tmp_path / "moved").iterdir())) == (True, [])


def test_no_link_that_came_with_a_project_is_written_through(tmp_path: Path) -> None:
    (skill,) = numbered(1)
    precious = tmp_path / "precious"
    precious.write_text("mine")
    folder = tmp_path / "skills" / "skil0"
    told([skill], folder.parent)
    (folder / ".SKILL.md.prowess-new").symlink_to(precious)
    assert told([replace(skill, description="new")], folder.parent) == {"skil0": "written"}
    assert precious.read_text() == "mine"
    (tmp_path / "project").mkdir()
    (tmp_path / "project" / ".claude").symlink_to(tmp_path)
    with pytest.raises(InvalidInput, match="leads out of the project"):
        host_folder(HOSTS["claude"], "project", tmp_path, tmp_path / "project", {})


def test_a_file_that_cannot_be_read_is_a_persons(tmp_path: Path) -> None:
    (tmp_path / "skil0").mkdir()
    (tmp_path / "skil0" / "SKILL.md").mkdir()
    (tmp_path / "skil1").mkdir()
    (tmp_path / "skil1" / "SKILL.md").symlink_to("SKILL.md")
    (tmp_path / "deep").mkdir()
    nested = "[" * 90 + "]" * 90
    deep = f"---\nname: deep\ndescription: d\n---\n```json prowess-skill\n{nested}\n```\n"
    (tmp_path / "deep" / "SKILL.md").write_text(deep)
    assert list(told(numbered(2), tmp_path).values()) == ["written", "written"]
    assert (tmp_path / "skil1" / "SKILL.md").is_symlink()
    assert (tmp_path / "deep" / "SKILL.md").read_text() == deep


def test_skills_whose_names_meet_get_folders_of_their_own(tmp_path: Path) -> None:
    names = ("mend", "mend-aaaaaaaa", "Mend", "../mend", "mend-aaaaaaaa-2", "..", "\u2028")
    skills = [replace(PLAIN, id=f"aaaaaaaa{number}", name=name) for number, name in enumerate(names)]
    (tmp_path / "skills" / "SKILL").mkdir(parents=True)
    assert set(told(skills, tmp_path / "skills").values()) == {"written"}
    assert sorted(path.parent.name for path in (tmp_path / "skills").glob("*/SKILL.md")) == [
        "mend", "mend-aaaaaaaa", "mend-aaaaaaaa-2", "mend-aaaaaaaa-2-aaaaaaaa", "mend-aaaaaaaa-3",
        "skill-aaaaaaaa", "skill-aaaaaaaa-2",
    ]  # fmt: skip
    assert [path.name for path in tmp_path.iterdir()] == ["skills"]


def test_another_store_s_skills_stay(tmp_path: Path) -> None:
    first, second = numbered(2)
    told([first], tmp_path)
    assert told([second], tmp_path) == {"skil1": "written"}
    assert (tmp_path / "skil0" / "SKILL.md").exists()


def test_a_dry_run_tells_and_changes_nothing(tmp_path: Path) -> None:
    first, second = numbered(2)
    told([first], tmp_path)
    done = export_skills([second], {"id0": first, "id1": second}, tmp_path, 8_000, dry_run=True)
    assert [(item.skill, item.state) for item in done] == [("skil1", "written"), ("skil0", "removed")]
    assert [path.name for path in tmp_path.iterdir()] == ["skil0"]


def test_what_a_step_refers_to_is_written_out(tmp_path: Path) -> None:
    part = replace(PLAIN, id="part", name="part")
    whole = replace(PLAIN, id="whole", name="whole", steps=(SkillStep(skill="part"), SkillStep(tool="Edit")))
    export_skills([whole], {"part": part, "whole": whole}, tmp_path, 8_000)
    text = (tmp_path / "whole" / "SKILL.md").read_text()
    assert '1. `Bash` `{"command": "pytest"}`\n2. `Edit`\n' in text
    (found,) = read(tmp_path)
    assert isinstance(found, FileSkill)
    assert found.skill == whole


def test_secrets_are_masked(tmp_path: Path) -> None:
    secret = "ghp_" + "aB3dE6gH9jK2mN5pQ8sT1vW4yZ7cF0hL3nR6"
    told([replace(PLAIN, steps=(SkillStep(tool="Bash", args_template={"command": f"export T={secret}"}),))], tmp_path)
    assert all(secret not in path.read_text() for path in tmp_path.rglob("*.*"))


def test_pinned_ones_come_first_then_lift_then_success() -> None:
    skills = [
        replace(PLAIN, id="new"),
        replace(PLAIN, id="bad", use_count=8, success_rate=0.25),
        replace(PLAIN, id="good", use_count=8, success_rate=1.0),
        replace(PLAIN, id="lifts", use_count=8, success_rate=0.5),
        replace(PLAIN, id="harms", use_count=8, success_rate=1.0),
        replace(PLAIN, id="pinned", pinned=True),
    ]
    ordered = best_first(skills, {"lifts": 0.2, "harms": -0.1})
    assert [skill.id for skill in ordered] == ["pinned", "lifts", "good", "new", "bad", "harms"]


@pytest.mark.parametrize(
    ("name", "user", "project"),
    [
        ("claude", ".claude/skills", ".claude/skills"),
        ("codex", ".agents/skills", ".agents/skills"),
        ("cursor", ".cursor/skills", ".cursor/skills"),
    ],
)
def test_each_agent_has_a_folder_for_the_user_and_one_for_the_project(name: str, user: str, project: str) -> None:
    home, root = Path("/home/me"), Path("/work/shop")
    assert host_folder(HOSTS[name], "user", home, root, {}) == home / user
    assert host_folder(HOSTS[name], "project", home, root, {}) == root / project


def test_a_moved_folder_of_the_user_is_followed() -> None:
    moved = {"CLAUDE_CONFIG_DIR": "/else"}
    assert host_folder(HOSTS["claude"], "user", Path("/home/me"), Path("/work"), moved) == Path("/else/skills")
