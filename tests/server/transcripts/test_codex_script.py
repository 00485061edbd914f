"""Scripts in which Codex calls its tools: which call one comes to."""

from __future__ import annotations

from typing import Any

import pytest

from prowess.server.transcripts.codex_script import call_of


@pytest.mark.parametrize(
    ("script", "tool", "args"),
    [
        (
            'const r = await tools.exec_command({"cmd": "make all"});\ntext(r.output);',
            "exec_command",
            {"cmd": "make all"},
        ),
        (
            "text(await tools.exec_command({\n  cmd: 'echo \"a\\nb\"',\n  login: false, tty: null, wait: 9,\n}));",
            "exec_command",
            {"cmd": 'echo "a\nb"', "login": False, "tty": None, "wait": 9},
        ),
        (
            "await tools.mcp__shop__find({names: ['a', \"b\"], at: {row: -1.5}})",
            "mcp__shop__find",
            {"names": ["a", "b"], "at": {"row": -1.5}},
        ),
        (
            "const patch = `*** Begin\n+\\`x\\``;\nawait tools.apply_patch(patch)",
            "apply_patch",
            {"input": "*** Begin\n+`x`"},
        ),
        (
            'const cmd = "ls"; await tools.exec_command({cmd, workdir: "/a"})',
            "exec_command",
            {"cmd": "ls", "workdir": "/a"},
        ),
        ("await tools.list_agents()", "list_agents", {}),
        (
            "const [a, b] = await Promise.all([tools.exec_command({cmd: 'ls'}), tools.exec_command({cmd: \"make\"})]);",
            "exec_command",
            {"cmd": "ls\nmake"},
        ),
        ("tools.say({text: '\\u{1F642} \\ud83d\\ude42 \\x41 \\ud83d'})", "say", {"text": "🙂 🙂 A \ufffd"}),
    ],
)
def test_what_is_written_out_is_the_call(script: str, tool: str, args: dict[str, Any]) -> None:
    assert call_of(script) == (tool, args)


@pytest.mark.parametrize(
    "script",
    [
        "text('nothing')",
        "await tools.exec_command({cmd: command})",
        "await tools.exec_command({cmd: 'ls ' + folder})",
        "await tools.exec_command({cmd: `ls ${folder}`})",
        "const cmd = 'ls ' + folder; await tools.exec_command({cmd})",
        "const cmd = 'ls '\n  + folder\nawait tools.exec_command({cmd})",
        "const cmd = 'x'.repeat(3); await tools.exec_command({cmd})",
        "let cmd = 'ls'; if (deep) cmd = 'tree'; await tools.exec_command({cmd})",
        "let cmd = 'ls'; cmd += ' -l'; await tools.exec_command({cmd})",
        "await tools.exec_command({...given, cmd: 'ls'})",
        "await tools.exec_command(given)",
        "await tools.exec_command({cmd: 'ls'",
        "await tools.exec_command({cmd: 'ls'}); await tools.apply_patch('x')",
        "await tools.exec_command({cmd: 1}); await tools.exec_command({cmd: 'ls'})",
        "tools.a(" + "[" * 5_000,
        "tools.a({n: " + "9" * 5_000 + "})",
        "tools.a('" + "x" * 200_000 + "')",
    ],
)
def test_what_has_to_be_run_to_be_known_is_left(script: str) -> None:
    assert call_of(script) is None
