"""The tools that coding clients bring along to read and change files, run commands and note plans.

What such a call was told is mostly the task's own: a skill says which file is changed and which command is run.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from prowess.learning.synthesis.commands import COMMAND_ARGUMENTS, line_of, plain_line

__all__ = ["CHANGING", "PLACES", "is_change", "is_note", "is_of_client", "is_reading", "is_shell", "plain_args"]

# By their names in small letters.
_TOOLS = {
    "change": "apply_patch create_file edit edit_file multiedit notebookedit replace search_replace write write_file",
    "read": "glob grep ls notebookread read",
    "note": """
        askuserquestion bashoutput enterplanmode exitplanmode killbash killshell request_user_input taskcreate taskget
        tasklist taskoutput taskstop taskupdate todoread todowrite todo_write toolsearch update_plan write_stdin
        write_todos
    """,
    "hand on": "agent spawn_agent task",
    "shell": """
        bash container.exec exec exec_command execute_command local_shell powershell run_command run_in_terminal
        run_shell_command run_terminal_cmd shell terminal
    """,
}
_ANY_AGENT = frozenset({"Explore", "Plan", "general-purpose"})  # those that a client has of its own
_OF = {kind: frozenset(names.split()) for kind, names in _TOOLS.items()}
CHANGING = _OF["change"]
PLACES = frozenset({"absolute_path", "filePath", "file_path", "notebook_path", "path", "target_file"})

# Arguments that a skill leaves out: how a call is carried out, and the text of files and of other agents' orders.
_OF_COMMANDS = frozenset(
    """
    cwd dangerouslyDisableSandbox description env explanation isBackground is_background justification login
    max_output_tokens prefix_rule run_in_background sandbox_permissions timeout timeout_ms tty user workdir
    working_directory yield_time_ms
    """.split()  # noqa: SIM905 - a list of quoted names would be no easier to read
)
_OF_CHANGES = frozenset(
    """
    cell_id cell_type content contents edit_mode edits expected_replacements input newString new_source new_string
    oldString old_string patch replaceAll replace_all
    """.split()  # noqa: SIM905
)
_OF_READING = frozenset({"-A", "-B", "-C", "-i", "-n", "head_limit", "limit", "multiline", "offset", "output_mode"})
_OF_ORDERS = frozenset({"description", "message", "prompt", "run_in_background"})


def is_change(tool: str, args: Mapping[str, Any]) -> bool:
    """Whether a call is a client's own way to change a file."""
    name = tool.lower()
    return name == "apply_patch" or (name in CHANGING and not PLACES.isdisjoint(args))


def is_reading(tool: str) -> bool:
    """Whether it is a client's own tool to look at files. In small letters these are programs and other tools."""
    return tool[:1].isupper() and tool.lower() in _OF["read"]


def is_shell(tool: str) -> bool:
    """Whether it runs command lines and nothing else: ``Bash``, ``mcp__box__run_command``."""
    return tool.lower().rsplit("__", 1)[-1] in _OF["shell"]


def is_note(tool: str, args: Mapping[str, Any]) -> bool:
    """Whether it is a client's tool to note plans, to ask the user, or to have any agent look something up."""
    return tool.lower() in _OF["note"] or (_hands_on(tool, args) and str(args["subagent_type"]) in _ANY_AGENT)


def is_of_client(tool: str, args: Mapping[str, Any]) -> bool:
    """Whether every agent knows the tool from its client, whatever the task."""
    return is_change(tool, args) or is_reading(tool) or is_note(tool, args) or _hands_on(tool, args)


def _hands_on(tool: str, args: Mapping[str, Any]) -> bool:
    return tool.lower() in _OF["hand on"] and "subagent_type" in args


def plain_args(tool: str, args: Mapping[str, Any]) -> dict[str, Any]:
    """The arguments that are part of a procedure, command lines in plain form; of other tools all.

    Templates can be given as well.
    """
    for name in COMMAND_ARGUMENTS if is_shell(tool) else ():
        if line := line_of(args.get(name)):
            return {key: value for key, value in args.items() if key not in _OF_COMMANDS} | {name: plain_line(line)}
    if is_change(tool, args):
        return _without(args, _OF_CHANGES)
    if is_reading(tool):
        return _without(args, _OF_READING)
    return _without(args, _OF_ORDERS) if _hands_on(tool, args) else dict(args)


def _without(args: Mapping[str, Any], names: frozenset[str]) -> dict[str, Any]:
    return {key: value for key, value in args.items() if key not in names}
