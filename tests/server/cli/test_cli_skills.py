"""``prowess skills``."""

from __future__ import annotations

import json
from pathlib import Path

import anyio
from clikit import Command
from msgspec.structs import replace

from prowess.server.cli.exits import Exit
from prowess.storage.events import SkillSaved
from prowess.storage.models import Origin, Skill, SkillStep
from prowess.storage.store import Store

STEPS = (SkillStep(tool="return_items"),)


def status_of(prowess: Command, name: str = "return_items") -> str:
    return str(prowess("skills", "show", name, "--json").json["status"])


def test_the_list_has_what_was_learned(prowess: Command, filled: str) -> None:
    (skill,) = prowess("skills", "list", "--json").json
    assert (skill["id"], skill["name"], skill["steps"][1]) == ("a1", "return_items", {"tool": "return_items"})
    assert prowess("skills", "list", "--status", "draft", "--json").json == []
    lines = prowess("skills", "list").out.splitlines()
    assert lines[1].split() == ["return_items", "active", "0", "-", "2", "shop", "Return", "delivered", "items."]


def test_the_list_says_where_it_leaves_out_words(prowess: Command, home: Path, filled: str) -> None:
    async def reword() -> None:
        async with Store.open(home) as store:
            skill = replace(await store.skill("a1"), description="x" * 101)
            await store.append([SkillSaved(skill=skill, change="adjust")], origin=Origin())

    anyio.run(reword)
    assert prowess("skills", "list").out.splitlines()[1].endswith(f" {'x' * 99}…")


def test_one_skill_with_its_versions(prowess: Command, filled: str) -> None:
    shown = prowess("skills", "show", "a1", "--json").json
    assert [version["version"] for version in shown["versions"]] == [1]
    assert '   1  get_order {"order_id": "{order_id}"}\n' in prowess("skills", "show", "return_items").out


def test_an_unknown_skill_is_not_found(prowess: Command, filled: str) -> None:
    for verb in ("show", "pin", "private", "archive", "restore"):
        assert prowess("skills", verb, "nothing").code == Exit.NOT_FOUND
    assert prowess("skills", "export", "x", "--skill", "nothing").code == Exit.NOT_FOUND


def test_a_name_that_two_skills_have_is_refused_with_both(
    prowess: Command, filled: str, home: Path, tmp_path: Path
) -> None:
    """As after two machines each made one, in the same project, and a third stands in another."""
    twin = Skill(id="b2", name="return_items", description="Send\nback.", steps=STEPS, project="shop")
    other = replace(twin, id="c3", description="Return files.", project="law")

    async def merge() -> None:
        async with Store.open(home) as store:
            events = [SkillSaved(skill=skill, change="create") for skill in (twin, other)]
            await store.append(events, origin=Origin(session="s"))

    anyio.run(merge)
    listed = (
        "2 skills have the name 'return_items':\n"
        "  a1  project shop  active  Return delivered items.\n"
        "  b2  project shop  draft  Send back.\n"
        "hint: use the id"
    )
    for words in (*((verb, "return_items") for verb in ("show", "pin", "private", "archive", "restore")),
                  ("export", tmp_path / "x", "--skill", "return_items")):  # fmt: skip
        ended = prowess("skills", *words, "--project", "shop")
        assert (ended.code, listed in ended.err) == (Exit.USAGE, True)
        assert "3 skills have the name" in prowess("skills", *words).err
    assert prowess("skills", "show", "b2", "--json").json["id"] == "b2"
    assert prowess("skills", "show", "return_items", "--project", "law", "--json").json["id"] == "c3"
    ended = prowess("evolve", "rollback", "--skill", "return_items", "--project", "shop")
    assert (ended.code != Exit.OK, "  b2  project shop  draft  Send back.\n" in ended.err) == (True, True)


def test_pinning_and_its_end(prowess: Command, filled: str) -> None:
    assert prowess("skills", "pin", "return_items").out == "return_items: pinned\n"
    assert prowess("skills", "show", "a1", "--json").json["pinned"]
    assert prowess("skills", "pin", "return_items", "--off", "--json").json["change"] == "no longer pinned"
    assert not prowess("skills", "show", "a1", "--json").json["pinned"]


def test_a_private_skill_and_its_end(prowess: Command, filled: str) -> None:
    assert prowess("skills", "private", "return_items").out == "return_items: private\n"
    assert prowess("skills", "show", "a1", "--json").json["private"]
    assert "private: no other machine" in prowess("skills", "show", "a1").out
    assert "active private" in prowess("skills", "list").out
    assert prowess("skills", "private", "a1").out == "return_items: is private already\n"
    assert prowess("skills", "private", "a1", "--off", "--json").json["change"] == "no longer private"
    shown = prowess("skills", "show", "a1", "--json").json
    # What was told to nobody is told anew, as a version of its own.
    assert (shown["private"], shown["version"], shown["versions"][-1]["change"]) == (False, 2, "share")
    assert prowess("skills", "private", "a1", "--off").out == "return_items: is not private, as before\n"
    assert prowess("skills", "show", "a1", "--json").json["version"] == 2


def test_a_private_skill_that_was_forgotten_and_taken_in_again_is_private(
    prowess: Command, filled: str, tmp_path: Path
) -> None:
    prowess("skills", "private", "a1")
    assert prowess("skills", "export", tmp_path / "kept.json", "--skill", "a1", "--format", "json").code == Exit.OK
    assert prowess("forget", "--skill", "a1", "--yes").code == Exit.OK
    assert prowess("skills", "list", "--json").json == []
    assert prowess("skills", "import", tmp_path / "kept.json", "--trust").code == Exit.OK
    (skill,) = prowess("skills", "list", "--json").json
    assert (skill["id"], skill["status"], skill["private"]) == ("a1", "active", True)


def test_archive_and_restore(prowess: Command, filled: str) -> None:
    told = prowess("skills", "archive", "return_items", "--reason", "outdated", "--json").json
    assert (told["before"], told["after"]) == ("active", "archived")
    assert status_of(prowess) == "archived"
    assert "already" in prowess("skills", "archive", "return_items").out
    assert prowess("skills", "restore", "return_items").code == Exit.OK
    assert status_of(prowess) == "active"


def test_a_decision_survives_a_rebuild(prowess: Command, filled: str) -> None:
    prowess("skills", "pin", "return_items")
    prowess("skills", "archive", "return_items")
    assert prowess("rebuild").code == Exit.OK
    skill = prowess("skills", "show", "a1", "--json").json
    assert (skill["status"], skill["pinned"]) == ("archived", True)


def test_what_was_exported_comes_back_the_same(prowess: Command, filled: str, tmp_path: Path) -> None:
    folder = tmp_path / "out"
    told = prowess("skills", "export", folder, "--json").json
    assert told == {
        "skills": 1,
        "files": [{"skill": "return_items", "path": str(folder / "return-items" / "SKILL.md"), "state": "written"}],
    }
    before = prowess("skills", "show", "a1", "--json").json
    assert [item["state"] for item in prowess("skills", "import", folder, "--json").json["skills"]] == ["unchanged"]
    prowess("forget", "--skill", "a1", "--yes")
    assert prowess("skills", "list", "--json").json == []
    assert [item["state"] for item in prowess("skills", "import", folder, "--trust", "--json").json["skills"]] == [
        "new"
    ]
    after = prowess("skills", "show", "a1", "--json").json
    own = ("created_at", "updated_at", "updated_seq", "versions")
    assert {k: v for k, v in after.items() if k not in own} == {k: v for k, v in before.items() if k not in own}


def test_without_trust_a_skill_arrives_as_an_untrusted_draft(prowess: Command, filled: str, tmp_path: Path) -> None:
    target = tmp_path / "skills.json"
    assert prowess("skills", "export", target, "--format", "json").code == Exit.OK
    document = json.loads(target.read_text())
    document["skills"][0] |= {"id": "b2", "name": "other"}
    target.write_text(json.dumps(document))
    assert prowess("skills", "import", target).out == "new other\n"
    skill = prowess("skills", "show", "other", "--json").json
    assert (skill["status"], skill["trust"], skill["pinned"]) == ("draft", "untrusted", False)
    # A person's word on it is on the text that they saw.
    name = skill["id"]
    assert prowess("skills", "restore", name, "--json").json["after"] == "active"
    skill = prowess("skills", "show", name, "--json").json
    assert (skill["status"], skill["version"]) == ("active", 2)
    assert [version["change"] for version in skill["versions"]] == ["import", "restore"]


def test_a_draft_of_somebody_else_says_that_a_person_has_to_accept_it(
    prowess: Command, filled: str, home: Path, tmp_path: Path
) -> None:
    own = {"id": "d1", "name": "mine", "description": "d", "steps": [{"tool": "x"}]}
    assert prowess("skills", "import", _exported(tmp_path / "own.json", own), "--trust").code == Exit.OK
    strange = {"id": "b2", "name": "other", "description": "d", "steps": [{"tool": "y"}]}
    assert prowess("skills", "import", _exported(tmp_path / "strange.json", strange)).code == Exit.OK
    waiting = {skill["name"]: skill["awaits_acceptance"] for skill in prowess("skills", "list", "--json").json}
    assert waiting == {"mine": False, "other": True, "return_items": False}
    listed = prowess("skills", "list")
    assert [line.split()[:3] for line in listed.out.splitlines() if "untrusted" in line] == [
        ["other", "draft", "untrusted"]
    ]
    assert listed.err.startswith("1 draft marked untrusted: from another person, or imported without --trust;")
    assert "`prowess skills restore b2` accepts it" in prowess("skills", "show", "other").out
    assert "version 1: import, untrusted\n" in prowess("skills", "show", "other").out
    assert prowess("skills", "show", "other", "--json").json["awaits_acceptance"] is True

    assert prowess("skills", "restore", "b2").code == Exit.OK
    assert "accepts it" not in prowess("skills", "show", "other").out
    assert prowess("skills", "list").err == ""
    assert prowess("skills", "show", "other", "--json").json["awaits_acceptance"] is False


def _exported(target: Path, *skills: dict[str, object]) -> Path:
    dates = {"created_at": "2026-01-01T00:00:00.000Z", "updated_at": "2026-01-01T00:00:00.000Z"}
    told = [{"description": "d", "steps": [{"tool": "x"}], **dates, **skill} for skill in skills]
    target.write_text(json.dumps({"prowess_skills": 1, "skills": told}))
    return target


def test_hostile_skills_are_refused_one_by_one(prowess: Command, filled: str, tmp_path: Path) -> None:
    chain = [{"id": f"c{n}", "name": f"c{n}", "steps": [{"skill": f"c{n + 1}"}]} for n in range(3000)]
    parameters = [{"name": f"p{number}"} for number in range(60_000)]
    target = _exported(
        tmp_path / "skills.json",
        *chain,
        {"id": "x", "name": "x", "steps": [{"skill": "y"}]},
        {"id": "y", "name": "y", "steps": [{"skill": "x"}]},
        {"id": "self", "name": "self", "steps": [{"skill": "self"}]},
        {"id": "p", "name": "p", "parameters": parameters},
        {"id": "", "name": "nameless"},
        {"id": "i" * 201, "name": "long"},
        {"id": "up", "name": "../../up"},
        {"id": "good", "name": "good"},
        {"id": "good", "name": "good", "description": "told again"},
    )
    done = prowess("skills", "import", target, "--json")
    assert done.code == 1
    states = [(item["name"], item["state"]) for item in done.json["skills"] if not item["name"].startswith("c")]
    assert states == [
        ("y", "refused"),
        ("x", "refused"),
        ("self", "refused"),
        ("p", "refused"),
        ("nameless", "refused"),
        ("long", "refused"),
        ("../../up", "refused"),
        ("good", "new"),
        ("good", "updated"),
    ]
    assert [item["state"] for item in done.json["skills"] if item["name"].startswith("c")] == ["refused"] * 3000


def test_an_export_that_no_skill_fits_says_so(prowess: Command, filled: str, tmp_path: Path) -> None:
    assert prowess("skills", "export", tmp_path, "--status", "retired").out == "nothing written: no skill fits\n"


def test_an_edited_file_is_a_new_version_by_a_person_and_is_kept_at_export(
    prowess: Command, filled: str, tmp_path: Path
) -> None:
    prowess("skills", "export", tmp_path)
    file = tmp_path / "return-items" / "SKILL.md"
    edited = file.read_text().replace("Return delivered items.", "Send goods back.", 1)
    file.write_text(edited)
    assert prowess("skills", "export", tmp_path).code == Exit.FAILED
    assert file.read_text() == edited
    (told,) = prowess("skills", "import", file, "--trust", "--json").json["skills"]
    assert told["state"] == "updated"
    skill = prowess("skills", "show", "a1", "--json").json
    assert (skill["version"], skill["author"], skill["description"]) == (2, "person", "Send goods back.")


def test_a_pinned_skill_is_not_changed_by_an_export_of_another_store(
    prowess: Command, filled: str, tmp_path: Path
) -> None:
    target = tmp_path / "skills.json"
    prowess("skills", "export", target, "--format", "json")
    target.write_text(target.read_text().replace("Return delivered items.", "Other words."))
    prowess("skills", "pin", "a1")
    (told,) = prowess("skills", "import", target, "--trust", "--json").json["skills"]
    assert (told["state"], bool(told["reason"])) == ("kept", True)
    assert prowess("skills", "show", "a1", "--json").json["version"] == 1


def test_a_refused_file_is_told_and_the_others_are_taken(prowess: Command, filled: str, tmp_path: Path) -> None:
    for name, text in (
        ("good", "---\nname: tidy\ndescription: tidy up\n---\n1. `ls`\n2. `rm`\n"),
        ("bad", "no front matter"),
        ("twin", "---\nname: return_items\ndescription: same name\n---\n1. `ls`\n"),
    ):
        (tmp_path / "in" / name).mkdir(parents=True)
        (tmp_path / "in" / name / "SKILL.md").write_text(text)
    ended = prowess("skills", "import", tmp_path / "in", "--json")
    assert ended.code == Exit.FAILED
    assert sorted((item["state"], item["name"]) for item in ended.json["skills"]) == [
        ("new", "return_items"),
        ("new", "tidy"),
        ("refused", "in"),
    ]


def test_a_name_that_is_taken_in_the_same_project_is_refused(prowess: Command, filled: str, tmp_path: Path) -> None:
    file = tmp_path / "SKILL.md"
    file.write_text("---\nname: tidy\ndescription: tidy up\n---\n1. `ls`\n")
    assert prowess("skills", "import", file).code == Exit.OK
    file.write_text("---\nname: tidy\ndescription: tidy up\n---\n1. `rm`\n")
    ended = prowess("skills", "import", file)
    assert ended.code == Exit.FAILED
    assert "another skill is called 'tidy'" in ended.out


def test_secrets_in_a_file_are_masked(prowess: Command, filled: str, tmp_path: Path) -> None:
    secret = "ghp_" + "A1b2C3d4E5f6G7h8I9j0K1l2M3n4O5p6Q7r8"[:36]
    file = tmp_path / "SKILL.md"
    step = f'1. `curl` `{{"token": "{secret}"}}`\n'
    file.write_text(f"---\nname: fetch\ndescription: uses {secret}\n---\n{step}")
    prowess("skills", "import", file)
    assert secret not in prowess("skills", "list", "--json").out


def test_who_accepts_a_skill_of_skills_accepts_the_text_of_its_parts_too(
    prowess: Command, filled: str, tmp_path: Path
) -> None:
    part = {"id": "p1", "name": "part", "description": "d", "steps": [_ran("make test")]}
    whole = {"id": "w1", "name": "whole", "description": "d", "steps": [{"skill": "p1"}, _ran("ls")]}
    theirs = _exported(tmp_path / "theirs.json", part, whole)
    assert prowess("skills", "import", theirs).code == Exit.OK
    shown = prowess("skills", "show", "whole").out
    assert 'skill p1\n   2  bash {"command": "ls"}' in shown
    assert 'with what it refers to:\n   1  bash {"command": "make test"}\n   2  bash {"command": "ls"}\n' in shown
    assert prowess("skills", "restore", "whole").code == Exit.OK
    assert prowess("skills", "import", theirs).out == "unchanged part\nunchanged whole\n"
    later = _exported(tmp_path / "later.json", {**part, "steps": [_ran("rm -r /")]})
    assert prowess("skills", "import", later).out == "updated part\n"
    accepted = prowess("skills", "show", "whole", "--json").json
    assert [step["args_template"]["command"] for step in accepted["steps"]] == ["make test", "ls"]
    assert (accepted["status"], accepted["expanded"]) == ("active", [])


def test_a_trusted_file_holds_no_strangers_part(prowess: Command, filled: str, tmp_path: Path) -> None:
    part = {"id": "p1", "name": "part", "description": "d", "steps": [_ran("make test")]}
    assert prowess("skills", "import", _exported(tmp_path / "theirs.json", part)).code == Exit.OK
    whole = {"id": "w1", "name": "whole", "description": "d", "steps": [{"skill": "p1"}, _ran("ls")]}
    mine = _exported(tmp_path / "mine.json", whole)
    assert prowess("skills", "import", mine, "--trust").out == "new whole\n"
    shown = prowess("skills", "show", "whole", "--json").json
    assert [step["args_template"]["command"] for step in shown["steps"]] == ["make test", "ls"]
    assert prowess("skills", "import", mine, "--trust").out == "unchanged whole\n"


def test_a_skill_of_which_a_part_is_not_here_is_not_accepted(prowess: Command, filled: str, tmp_path: Path) -> None:
    part = {"id": "p1", "name": "part", "description": "d", "steps": [_ran("ls")]}
    whole = {"id": "w1", "name": "whole", "description": "d", "steps": [{"skill": "p1"}, _ran("ls")]}
    assert prowess("skills", "import", _exported(tmp_path / "theirs.json", part, whole)).code == Exit.OK
    assert prowess("forget", "--skill", "p1", "--yes").code == Exit.OK
    refused = prowess("skills", "restore", "whole")
    assert (refused.code, "refers to unknown skill 'p1'" in refused.err) == (Exit.FAILED, True)
    assert prowess("skills", "show", "whole", "--json").json["status"] == "draft"


def _ran(command: str) -> dict[str, object]:
    return {"tool": "bash", "args_template": {"command": command}}


def test_a_file_with_secrets_is_the_same_the_second_time(prowess: Command, filled: str, tmp_path: Path) -> None:
    secret = "ghp_" + "aB3dE5fG7hJ9kL1mN3pQ5rS7tU9vW1xY3z12"
    parameter = {"name": "p", "description": secret, "examples": [secret]}
    step = {"tool": "bash", "args_template": {"command": "{p}"}, "note": secret}
    own = {"id": "w1", "name": "own", "description": secret, "steps": [step], "parameters": [parameter]}
    file = _exported(tmp_path / "own.json", {**own, "keywords": [secret]})
    assert prowess("skills", "import", file, "--trust").out == "new own\n"
    assert secret not in prowess("skills", "show", "own", "--json").out
    assert prowess("skills", "import", file, "--trust").out == "unchanged own\n"


def test_a_skill_that_is_named_twice_is_exported_once(prowess: Command, filled: str, tmp_path: Path) -> None:
    told = prowess("skills", "export", tmp_path / "out", "--skill", "a1", "--skill", "return_items", "--json").json
    assert told["skills"] == 1


def test_an_import_makes_the_store_where_there_is_none(prowess: Command, filled: str, tmp_path: Path) -> None:
    prowess("skills", "export", tmp_path / "kept.json", "--format", "json", "--skill", "return_items")
    other = tmp_path / "other"
    assert (
        prowess("skills", "import", tmp_path / "kept.json", "--trust", "--store", other, store=False).out
        == "new return_items\n"
    )
    (skill,) = prowess("skills", "list", "--json", "--store", other, store=False).json
    assert skill["name"] == "return_items"


def test_an_export_is_taken_in_whatever_its_name(prowess: Command, filled: str, tmp_path: Path) -> None:
    prowess("skills", "export", tmp_path / "backup of skills", "--format", "json")
    done = prowess("skills", "import", tmp_path / "backup of skills")
    assert (done.code, done.out) == (0, "unchanged return_items\n")


def test_a_refusal_is_told_with_what_mends_it_on_a_line_of_its_own(
    prowess: Command, filled: str, tmp_path: Path
) -> None:
    (tmp_path / "notes.md").write_text("no skill\n")
    done = prowess("skills", "import", tmp_path / "notes.md")
    assert done.code == 1
    assert done.out == f"refused notes.md {tmp_path}/notes.md: the front matter has no name and no description\n"
    assert done.err == "hint: begin the file with ---, name: …, description: …, ---\n"
