"""The work of coding agents: what of a call is the procedure, and which calls merely carry it along.

Every client has tools to read, search and change files and to note what is to be done; each episode is full of them.
What they were told is the task's own: a skill says which files are changed, and between which commands.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from prowess.learning.synthesis.calls import Call, Run, is_lookup, is_of_project, runs_of
from prowess.learning.synthesis.clients import PLACES, is_change, is_note, is_of_client, is_reading
from prowess.learning.synthesis.commands import COMMAND_ARGUMENTS, JOINT, project_program, runs_task, unquoted
from prowess.learning.synthesis.search import Keys, contains
from prowess.learning.synthesis.templates import is_open, placeholders

__all__ = ["changed_files", "form_of", "is_open_command", "is_told_by", "says_something", "working_runs"]

MAX_LOOP = 4  # moves of a loop: change, format, build, test
MOST_OF_FILES = 0.8  # of the changed files that have one ending: then they are told by it

# How every agent stages, commits and pushes.
_USUAL = frozenset("-A -a -am -m -u --all --message --set-upstream . HEAD main master origin".split())  # noqa: SIM905
_HANDING_IN = frozenset({"git add", "git commit", "git push"})
_IN_LINE = re.compile(r"\{\w+\}|&&|\|\|?|;|\s+|\.\.\.|[./]+(?=\s|$)")
_ENDINGS = {
    "c": "C", "cc": "C++", "cpp": "C++", "cs": "C#", "css": "CSS", "dart": "Dart", "ex": "Elixir", "exs": "Elixir",
    "go": "Go", "hpp": "C++", "html": "HTML", "ipynb": "notebook", "java": "Java", "js": "JavaScript", "json": "JSON",
    "jsx": "JavaScript", "kt": "Kotlin", "lua": "Lua", "md": "Markdown", "mjs": "JavaScript", "php": "PHP",
    "proto": "protobuf", "py": "Python", "pyi": "Python", "rb": "Ruby", "rs": "Rust", "scala": "Scala", "scss": "CSS",
    "sh": "shell", "sql": "SQL", "svelte": "Svelte", "swift": "Swift", "tf": "Terraform", "tfvars": "Terraform",
    "toml": "TOML", "ts": "TypeScript", "tsx": "TypeScript", "vue": "Vue", "yaml": "YAML", "yml": "YAML",
    "zig": "Zig",
}  # fmt: skip
_NAMED = frozenset({"Dockerfile", "Makefile"})  # files that are told by their whole name


def working_runs(calls: Sequence[Call]) -> tuple[Run, ...]:
    """The runs of calls that carry the work: without reading files and noting plans, of a loop the last round."""
    kept = [call for call in calls if not (is_reading(call.tool) or is_note(call.tool, call.args))]
    return _without_rounds(runs_of(kept))


def _without_rounds(runs: Sequence[Run]) -> tuple[Run, ...]:
    """Where changes and commands follow each other again and again, only the round that ended it."""
    left = list(runs)
    for size in range(2, MAX_LOOP + 1):
        at = 0
        while at + 2 * size <= len(left):
            block = [run.key for run in left[at : at + size]]
            again = block == [run.key for run in left[at + size : at + 2 * size]]
            if again and any(is_change(run.calls[0].tool, run.calls[0].args) for run in left[at : at + size]):
                del left[at : at + size]
            else:
                at += 1
    return tuple(left)


def changed_files(calls: Iterable[Call]) -> str:
    """What kind of files the calls changed, as ``Go files``; "" where they are of many kinds."""
    paths = [str(value) for call in calls for name, value in call.args.items() if name in PLACES]
    kinds = list(map(_kind, paths))
    most = max(sorted(set(kinds)), key=kinds.count, default="")
    return most if most and kinds.count(most) >= MOST_OF_FILES * len(kinds) else ""


def _kind(path: str) -> str:
    name = re.split(r"[/\\]", path)[-1]
    own = next((one for one in sorted(_NAMED) if one in name.split(".")), "")
    language = _ENDINGS.get(name.rpartition(".")[2], "")
    return f"{own}s" if own else " ".join((language, "files")) if language else ""


def says_something(keys: Sequence[str], templates: Sequence[Mapping[str, Any]], tools: Sequence[str]) -> bool:
    """Whether steps tell more than what each agent knows of its client's tools and of the usual commands."""
    steps = list(zip(keys, templates, tools, strict=True))
    changes = any(is_change(tool, template) for _, template, tool in steps)
    if changes and len(steps) == 1:
        return False  # that a file is changed now and then is no procedure
    telling = [step for step in steps if not (changes and _seeks(step[0], step[1]))]
    if any(_tells(key, template, tool) for key, template, tool in telling):
        return True
    known = {key for key, template, tool in steps if is_lookup(key) or is_of_client(tool, template) or _hands_in(key)}
    acting = set(keys) - known
    return len(acting) + changes > 1


def _seeks(key: str, template: Mapping[str, Any]) -> bool:
    """Whether a command line only looks for what is to be changed, and that is another each time."""
    return bool(placeholders(_line(template))) and is_lookup(key)


def _hands_in(key: str) -> bool:
    """Whether it only commits and pushes what was done, as work mostly ends."""
    return set(key.partition(":")[2].split("|")) <= _HANDING_IN


def _tells(key: str, template: Mapping[str, Any], tool: str) -> bool:
    """Whether a step says something by itself: by a tool of its own kind, a constant, or a project's own task."""
    line = _line(template)
    programs = key.partition(":")[2].split("|") if line else []
    if any(map(project_program, programs)):
        return not is_lookup(key) and not is_open(line) and (any(map(runs_task, programs)) or _own(line, programs))
    if is_of_client(tool, template):
        return any(not placeholders(value) and len(str(value)) > 1 for value in template.values())
    return True


def is_open_command(key: str, template: Mapping[str, Any]) -> bool:
    """Whether a step runs a project's tool and does not say how: its whole command is a placeholder."""
    return is_open(_line(template)) and is_of_project(key)


def _line(args: Mapping[str, Any]) -> str:
    return next((str(args[name]) for name in COMMAND_ARGUMENTS if name in args), "")


def form_of(args: Mapping[str, Any], key: str) -> str:
    """The form of a project's command line: what joins its commands, and which of them have arguments; "" of others."""
    line = _line(args)
    programs = key.partition(":")[2].split("|")
    if not line or not all(map(project_program, programs)):
        return ""
    bare = unquoted(line)
    given = [
        len(part.split()) > max(1, len(program.split()))
        for part, program in zip(JOINT.split(bare), programs, strict=False)
    ]
    return f"{JOINT.findall(bare)} {given}"


def _own(line: str, programs: Sequence[str]) -> bool:
    """Whether a command line has constants beside the usual programs and their sub-commands."""
    known = {word for program in programs for word in program.split(" ")}
    known |= _USUAL if all(program.startswith("git ") for program in programs) else set()
    words = [word for word in _IN_LINE.sub(" ", line).split() if word.strip("\"'")]
    return any(word not in known for word in words)


def is_told_by(keys: Keys, longer: Keys) -> bool:
    """Whether a procedure of coding is part of a ``longer`` one: that a shorter one exists too tells nothing then."""
    return len(keys) < len(longer) and any(map(is_of_project, keys)) and contains(longer, keys)
