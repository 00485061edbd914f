"""Install, install again, uninstall: on configurations of many shapes, byte for byte."""

from __future__ import annotations

import json
import tomllib
from dataclasses import dataclass, field

import pytest
from installkit import Machine


@dataclass(frozen=True)
class Shape:
    """One file before the installation, and what a person changes in it afterwards (old, new)."""

    client: str
    file: str
    content: str | None
    edit: tuple[str, str] = ("", "")
    bom: bool = False
    links: dict[str, str] = field(default_factory=dict)

    @property
    def bytes(self) -> bytes:
        return (b"\xef\xbb\xbf" if self.bom else b"") + (self.content or "").encode()


SETTINGS = ".claude/settings.json"
OTHER_HOOKS = """{
  "permissions": {"allow": ["Bash(git *)"]},
  "hooks": {
    "Stop": [
      {
        "hooks": [
          {"type": "command", "command": "notify-send done"}
        ]
      }
    ],
    "PostToolUse": [
      {"matcher": "Edit", "hooks": [{"type": "command", "command": "make fmt"}]}
    ]
  },
  "model": "opus"
}
"""
SHAPES = {
    "missing": Shape("claude-code", SETTINGS, None),
    "empty": Shape("claude-code", SETTINGS, ""),
    "blank": Shape("claude-code", SETTINGS, "\n\n"),
    "empty object": Shape("claude-code", SETTINGS, "{}", ("}", "}")),
    "windows line ends": Shape(
        "claude-code", SETTINGS, '{\r\n    "model": "opus",\r\n    "env": {}\r\n}\r\n', ('"opus"', '"haiku"')
    ),
    "tabs, no end of line": Shape(
        "claude-code", ".claude.json", '{\n\t"a": [\n\t\t1\n\t]\n}', ("\t\t1", "\t\t1,\n\t\t2")
    ),
    "byte order mark": Shape("cursor", ".cursor/mcp.json", '{\n  "mcpServers": {}\n}\n', bom=True),
    "comments and trailing commas": Shape(
        "cursor",
        ".cursor/mcp.json",
        '// mine\n{\n  "mcpServers": {\n    "db": {"command": "db"}, // the database\n  }, /* end */\n}\n',
        ("the database", "the {old} database"),
    ),
    "hooks of others on our events": Shape("claude-code", SETTINGS, OTHER_HOOKS, ("make fmt", "make format")),
    "other servers": Shape(
        "claude-code",
        ".claude.json",
        '{"numStartups": 3, "mcpServers": {"b": {"command": "b"}, "a": {"url": "http://x/"}}, "z": null}',
        ('"b": {"command": "b"}', '"b": {"command": "b", "args": ["}"]}'),
    ),
    "hooks without a version": Shape(
        "cursor", ".cursor/hooks.json", '{\n  "hooks": {\n    "stop": [{"command": "x"}]\n  }\n}\n', ('"x"', '"y"')
    ),
    "one line": Shape(
        "cursor", ".cursor/hooks.json", '{"hooks":{"stop":[{"command":"x"}]},"version":1}', (':"x"', ':"y"')
    ),
    "unusual order and spacing": Shape(
        "cursor",
        ".cursor/hooks.json",
        '{ "hooks" : {} ,\n\n      "version" : 1 ,"note":"\\u00e9 \\" {" }\n\n\n',
        ('"version" : 1', '"version" : 2'),
    ),
    "dotfile that is a link": Shape(
        "claude-code", SETTINGS, '{\n  "model": "opus"\n}\n', ("opus", "haiku"), links={SETTINGS: "dotfiles/claude"}
    ),
    "toml": Shape(
        "codex",
        ".codex/config.toml",
        '# mine\nmodel = "o3"   # keep\n\n[mcp_servers.db]\ncommand = "db"\nenv = { "b.c" = "[x]" }\n\n# end\n',
        ('"o3"', '"o4"'),
    ),
    "toml without end of line": Shape(
        "codex", ".codex/config.toml", 'a.b.c = 1\na.b.d = """\n[mcp_servers.prowess]\n"""', ("= 1", "= 2")
    ),
    "toml with windows line ends": Shape(
        "codex", ".codex/config.toml", '[projects."/x y"]\r\ntrust_level = "trusted"\r\n', ("trusted", "untrusted")
    ),
    "toml with inline servers": Shape(
        "codex",
        ".codex/config.toml",
        'mcp_servers = { db = { command = "db" } } # all\n[features]\nhooks = true\n',
        ('"db" }', '"db2" }'),
    ),
    "toml with dotted servers": Shape(
        "codex", ".codex/config.toml", 'mcp_servers.db.command = "db"\n\n[tui]\ntheme = "x"\n', ('"x"', '"y"')
    ),
    "hooks of others in Codex": Shape("codex", ".codex/hooks.json", OTHER_HOOKS, ("notify-send", "notify")),
    "notes": Shape("codex", ".codex/AGENTS.md", "# Mine\n\nBe brief.\n", ("brief", "brief and kind")),
    "notes without end of line": Shape("claude-code", ".claude/CLAUDE.md", "Be brief.", ("brief", "brief and kind")),
    "notes with windows line ends": Shape(
        "claude-code", ".claude/CLAUDE.md", "a\r\n\r\nMine\r\n\r\n", ("Mine", "Mine too")
    ),
    "desktop": Shape(
        "claude-desktop",
        ".config/Claude/claude_desktop_config.json",
        '{\n  "mcpServers": {},\n  "theme": "dark"\n}',
        ("dark", "light"),
    ),
}
shapes = pytest.mark.parametrize("shape", SHAPES.values(), ids=SHAPES)


def lay(machine: Machine, shape: Shape) -> None:
    for link, target in shape.links.items():
        machine.write(target, shape.bytes).chmod(0o640)
        machine.write(link, b"").unlink()
        (machine.home / link).symlink_to(machine.home / target)
    if shape.content is not None and not shape.links:
        machine.write(shape.file, shape.bytes).chmod(0o604)


@shapes
def test_uninstalling_leaves_every_byte_mode_and_link_as_it_was(machine: Machine, shape: Shape) -> None:
    lay(machine, shape)
    before = machine.tree()
    machine.did("install", shape.client)
    assert (machine.home / shape.file).read_bytes() != shape.bytes
    removed = machine.did("uninstall", shape.client, "--json").json
    assert {change["state"] for change in removed["changes"]} <= {"restored", "deleted"}
    assert machine.tree() == before
    assert not machine.store.exists() or list(machine.store.rglob("*")) == []


@shapes
def test_installing_again_writes_nothing(machine: Machine, shape: Shape) -> None:
    lay(machine, shape)
    machine.did("install", shape.client)
    once = machine.tree()
    again = machine.did("install", shape.client, "--json").json
    assert {change["state"] for change in again["changes"]} == {"unchanged"}
    assert machine.tree() == once


@pytest.mark.parametrize(
    "shape", [s for s in SHAPES.values() if s.edit[0]], ids=[k for k, s in SHAPES.items() if s.edit[0]]
)
def test_what_a_person_edited_in_between_stays_and_only_our_entries_go(machine: Machine, shape: Shape) -> None:
    lay(machine, shape)
    machine.did("install", shape.client)
    file = machine.home / shape.file
    old, new = (text.encode() for text in shape.edit)
    assert old in shape.bytes
    file.write_bytes(file.read_bytes().replace(old, new) + b"\n")
    machine.did("uninstall", shape.client)
    assert file.read_bytes() == shape.bytes.replace(old, new) + b"\n"


@shapes
def test_an_installation_changes_no_value_of_others(machine: Machine, shape: Shape) -> None:
    if shape.file.endswith(".md") or not (shape.content or "").strip() or "//" in shape.bytes.decode():
        return
    parse = tomllib.loads if shape.file.endswith(".toml") else json.loads
    lay(machine, shape)
    before = parse(shape.content or "")
    machine.did("install", shape.client)
    assert_kept(before, parse((machine.home / shape.file).read_bytes().decode("utf-8-sig")))


def assert_kept(before: object, after: object) -> None:
    """All that is in ``before`` is in ``after``, in the same order; lists may have grown at their end."""
    if isinstance(before, dict):
        assert isinstance(after, dict)
        assert [key for key in after if key in before] == list(before)
        for key, value in before.items():
            assert_kept(value, after[key])
    elif isinstance(before, list):
        assert isinstance(after, list)
        assert after[: len(before)] == before
    else:
        assert after == before
