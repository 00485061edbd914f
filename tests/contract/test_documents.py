"""What the documents say about the code must be so, whoever changes either."""

from __future__ import annotations

import json
import re
import shlex
import subprocess
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import click
import pytest

from prowess.server.cli.main import cli
from prowess.server.hub.schema import schema

ROOT = Path(__file__).resolve().parents[2]
WRITTEN = [
    ROOT / "README.md",
    ROOT / "CHANGELOG.md",
    *sorted(ROOT.glob("docs/*.md")),
    *sorted(ROOT.glob("*/README.md")),
]
GUIDES = [path for path in WRITTEN if path.name not in ("CHANGELOG.md", "cli.md")]  # cli.md is made from the commands

_LINK = re.compile(r"\]\(\s*(?!\w+:)([^)#\s]*)(?:#([^)\s]+))?\s*\)")
_PATH = re.compile(
    r"(?<![\w/.~{<-])((?:server|tools|learning|storage|providers|training|tests|benchmarks|docs|examples|scripts|redb-py)"
    r"/[\w./*-]*)"
)
_VARIABLE = re.compile(r"\b(?:PROWESS_|TURSO_|REDB_PATH|ANTHROPIC_)[A-Z_]*\b")
_COMMAND = re.compile(r"\s*(?:\S*/)?prowess (.*)")
_INLINE = re.compile(r"`(?:\.venv/bin/)?prowess ([^`]*)`")
_BETWEEN = re.compile(r"&&|\|\||[;|]")
_SCHEMATIC = re.compile(r"[\[\]…]|<\S.*?>")


def name_of(path: Path) -> str:
    return str(path.relative_to(ROOT))


def test_the_architecture_names_every_folder() -> None:
    """Those at the top by their path, those of layers that have folders in a table of their own."""
    told = (ROOT / "docs" / "architecture.md").read_text()
    listed = subprocess.run(["git", "ls-files"], cwd=ROOT, capture_output=True, text=True, check=True, timeout=30)
    folders = {tuple(Path(line).parts[:-1]) for line in listed.stdout.splitlines()}
    top = {parts[0] for parts in folders if parts and not parts[0].startswith(".")}
    assert {"server", "storage", "redb-py", "benchmarks"} <= top
    assert sorted(name for name in top if f"`{name}/`" not in told) == []
    for layer in ("learning", "server", "storage"):
        there = {parts[1] for parts in folders if parts[:1] == (layer,) and len(parts) > 1}
        table = told.partition(f"| folder of `{layer}/` |")[2].partition("\n\n")[0]
        assert set(re.findall(r"^\| `(\w+)/` \|", table, re.MULTILINE)) == there, layer


def test_the_hub_s_greeting_has_the_formats_of_now() -> None:
    assert f'"schema": {json.dumps(schema())}' in (ROOT / "docs" / "hub.md").read_text()


def _parts(text: str) -> tuple[list[str], str]:
    """The lines within fences, and the text between them."""
    pieces = re.split(r"^```.*$", text, flags=re.MULTILINE)
    return [line for block in pieces[1::2] for line in block.splitlines()], "\n".join(pieces[::2])


def _anchors(path: Path) -> set[str]:
    """The anchors of the headings in a Markdown file, as forges make them."""
    found: Counter[str] = Counter()
    anchors = set()
    for heading in re.findall(r"^#+ (.*)$", _parts(path.read_text())[1], re.MULTILINE):
        words = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", heading).lower()
        name = re.sub(r"[^\w\- ]", "", words).strip().replace(" ", "-")
        anchors.add(f"{name}-{found[name]}" if found[name] else name)
        found[name] += 1
    return anchors


@pytest.mark.parametrize("path", WRITTEN, ids=name_of)
def test_links_lead_to_files_and_headings_that_are_there(path: Path) -> None:
    broken = []
    for place, anchor in _LINK.findall(path.read_text()):
        target = path.parent / place if place else path
        if not target.exists() or (anchor and target.suffix == ".md" and anchor not in _anchors(target)):
            broken.append(f"{place}#{anchor}")
    assert broken == []


@pytest.mark.parametrize("path", GUIDES, ids=name_of)
def test_the_files_that_are_named_are_there(path: Path) -> None:
    named = {found.rstrip("./") for found in _PATH.findall(path.read_text())}
    assert sorted(name for name in named if not any(ROOT.glob(name))) == []


@pytest.mark.parametrize("path", GUIDES, ids=name_of)
def test_the_variables_that_are_named_are_settings(path: Path) -> None:
    settings = set(_VARIABLE.findall((ROOT / "docs" / "settings.md").read_text()))
    others = {"PROWESS_IN_PROCESS", "PROWESS_TOKEN"}  # a switch of one process, and a name that an example gives
    assert set(_VARIABLE.findall(path.read_text())) - settings - others == set()


def _commands(path: Path) -> Iterator[str]:
    lines, prose = _parts(path.read_text())
    shown = [line.partition(" #")[0] for line in lines if "─" not in line]  # no drawings
    for part in (part for line in shown for part in _BETWEEN.split(line)):
        if found := _COMMAND.match(part):
            yield found[1]
    yield from _INLINE.findall(" ".join(prose.split()))


def _wrong(line: str) -> str:
    """What the commands would not understand of ``line``. Words in capitals stand for any value."""
    words = shlex.split(_SCHEMATIC.sub("", line))
    command: click.Command = cli
    context = click.Context(cli, info_name="prowess")
    while isinstance(command, click.Group) and words and not words[0].startswith("-"):
        found = command.get_command(context, words.pop(0))
        if found is None:
            return f"{line}: no such command"
        command, context = found, click.Context(found, parent=context, info_name=found.name)
    parser = command.make_parser(context)
    try:
        try:
            given, rest, _ = parser.parse_args([*words])
        except click.BadOptionUsage:  # an option that is only named
            given, rest, _ = parser.parse_args([*words, "VALUE"])
    except click.UsageError as error:
        return f"{line}: {error.format_message()}"
    for option in command.params:
        value = given.get(option.name or "")
        if isinstance(option.type, click.Choice) and isinstance(value, str) and not value.isupper():
            rest = rest if value in option.type.choices else [*rest, value]
    return f"{line}: {rest}" if rest else ""


@pytest.mark.parametrize("path", GUIDES, ids=name_of)
def test_the_commands_that_are_shown_are_understood(path: Path) -> None:
    assert [wrong for line in _commands(path) if (wrong := _wrong(line))] == []


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("skills export --to claude --scope project", ""),
        ("hub logs [-n N]", ""),
        ("serve --http", ""),
        ("hook CLIENT EVENT", ""),
        ("skill list", "no such command"),
        ("skills lst", "no such command"),
        ("find --limits 3 x", "No such option"),
        ("status now", "now"),
        ("skills export --to claude --scope team", "team"),
    ],
)
def test_what_a_command_would_refuse_is_found(line: str, said: str) -> None:
    assert said in _wrong(line)
    assert bool(said) == bool(_wrong(line))
