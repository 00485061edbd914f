"""What a client answers about the use of its own tools: nothing of the project in it, and every agent is told at once.

Claude Code's and Codex' words, and those of editors with the same tools. What a hook of the project says, or where a
file lies, is no part of it.
"""

from __future__ import annotations

import re

__all__ = ["is_of_client", "is_of_shell", "misses_a_file"]

_OWN = re.compile(
    r"(?:error: )?(?:<\w+>\s*)?(?:"
    r"file has (?:not been read yet|been (?:unexpectedly )?modified)"
    r"|(?:the )?(?:string|text) to (?:replace|edit) (?:was )?not found"
    r"|(?:the )?old_?string (?:was )?not found|found \S+ (?:matches|occurrences) of the string|no changes to make\b"
    r"|(?:the )?old_?string and new_?string are|file content \(.{0,80}\) exceeds|inputvalidationerror|sibling tool call"
    r"|output does not match required schema\b"
    r"|no such tool available|agent type \S+ not found|permission to use \S+ .{0,4000}denied"
    r"|this command requires approval"
    r"|ripgrep search timed out|apply_patch verification failed|failed to find (?:expected lines|context)"
    r"|eisdir: illegal operation|cannot (?:create new file|write) .{0,40}already exists"
    r"|invalid (?:tool )?(?:patch|parameters)\b)",
    re.IGNORECASE,
)
_MISSING = re.compile(
    r"(?:file|path|directory) does not exist\b|(?:enoent: )?no such file or directory\b", re.IGNORECASE
)
_OF_SHELL = re.compile(
    r"(?:\(eval\)|-?(?:/\S*/)?(?:ba|da|k|z|fi)?sh)(?:: -c)?:(?: line)?\s?(?:\d+|<num>)?:?\s?(?:warning: )?"
    r"(?:parse error\b|syntax error\b|unexpected EOF\b|unmatched\b|no matches found\b|bad (?:substitution|pattern)\b"
    r"|event not found\b|unterminated\b|here-document\b)",
    re.IGNORECASE,
)


def is_of_shell(error: str) -> bool:
    """Whether an error, or its template, is a shell's word on how a line was written, whatever the line was to run."""
    return _OF_SHELL.match(error.lstrip()) is not None


def is_of_client(error: str) -> bool:
    """Whether an error, or its template, is a client's word on how its tools are called."""
    return _OWN.match(error.lstrip()) is not None


def misses_a_file(tool: str, error: str) -> bool:
    """Whether a client's own tool found no file of that name: worth knowing only with the name that there is."""
    return ":" not in tool and _MISSING.match(error.lstrip()) is not None
