"""What the exit code of a command line tells: that of ``pytest | tail`` is tail's, whatever became of the tests."""

from __future__ import annotations

import re

from prowess.learning.remembered import remembered
from prowess.learning.synthesis.commands import LONGEST_LINE, in_one_line, quotes_in

__all__ = ["before_echo", "does_several", "echoes", "shows", "shows_first", "untold"]

_JOINT = re.compile(r"\|\||&&|\|&?|;;?|\n|(?<![<>&\d])&(?![&>\d])")
_BODY = re.compile(r"(<<-?[ \t]*(['\"]?)(\w++)\2[^\n]*)\n(?:[^\n]*\n)*?[ \t]*\3(?!\w)")  # a text that is handed over
_STRICT = re.compile(r"\bset\s+-\w{0,6}e|\bset\s+-o\s+errexit\b")
_OF_PIPES = re.compile(r"\bpipefail\b")
_NEVER_FAILS = re.compile(r"\s*(?:true|:|echo|printf|exit 0)(?:\s|$)")
_LEAD = re.compile(
    r"\s*(?:(?:do|then|else|if|while|until|!|\{|\(|sudo(?: -\w)?|time|command|xargs(?: -\S+)*"
    r"|timeout(?: -\S+)* [\d.]+[smhd]?)\s+"
    r"|\(|\w+=\S*\s+)*"
)
_SHOWING = re.compile(
    r"(?:cat|less|head|tail|grep|egrep|fgrep|rg|ag|sed(?!.* (?:-\w*i|--in-place)\b)|awk|cut|sort|uniq|tr"
    r"|column|find(?!.* -(?:delete|(?:exec|ok)(?:dir)? (?:chmod|chown|cp|mv|rm|sed))\b)|ls|tree|jq|yq|wc|diff"
    r"|strings|xxd|file|stat|du|df|ps|env(?=\s*$)|printenv|which|type|id|whoami|hostname|uname|date|pwd|lsof"
    r"|pgrep|nproc|free|git (?:-C \S+ )?(?:log|show|diff|grep|blame|status|branch(?! (?:-[dDmMcC]|\w))"
    r"|remote(?! \w)|rev-parse|describe|ls-files|reflog|stash list)"
    r"|docker (?:compose )?(?:logs|ps|images|inspect|config)|journalctl"
    r"|kubectl (?:-n \S+ )?(?:logs|get|describe|config (?:view|current-context|get-contexts))"
    r"|gh (?:(?:pr|run|issue|repo|release) (?:view|list|diff|checks|status)"
    r"|api(?!.* (?:-[XfF]|--(?:field|input|method|raw-field))\b))"
    r"|(?:npm|pnpm|yarn) (?:ls|list|why|view|outdated)|pip3? (?:list|show|freeze)|uv (?:tree|pip (?:list|show))"
    r"|helm (?:list|status|history|get)|terraform (?:output|show|state list)|cargo (?:tree|metadata))(?=\s|$)"
    r"|\S+ (?:--version|-V|-v)\s*$"
)
_QUOTED = re.compile(r"'[^']*'|\"[^\"]*\"")
_INTO_FILE = re.compile(r"(?<![-=>])>(?!&|\(|>?\s*/dev/)")  # what it shows is kept: `cat > setup.cfg`
_BESIDE = re.compile(
    r"(?:echo|printf|sleep|true|false|:|test|\[|\[\[|cd|pushd|popd|export|source|\.|set|shopt|unset|read|wait|jobs|kill"
    r"|pkill|killall|fg|bg|trap|for|case|esac|done|fi|in|break|exit|function|mkdir -p|rm -r?f|touch|nvm use|ulimit"
    r"|umask|xargs kill)(?=\s|$)"
    r"|[)}]|$|\#|\w+=\S*$|\w+=\$\("
)
_ECHO = re.compile(r"(?:[;\n]|&&|\|\|)\s{0,9}(?:echo|printf)\b[^;|&\n]{0,200}\$(\?|\{?PIPESTATUS\b)[^;|&\n]{0,200}$")


def echoes(line: str) -> bool:
    """Whether a line ends with an echo of the exit code of what stands before it."""
    return _ECHO.search(line) is not None


def before_echo(line: str) -> str:
    """``line`` without such an echo; ``PIPESTATUS`` tells of a pipe's first command, so only that is left."""
    if (echo := _ECHO.search(line)) is None:
        return line
    line = line[: echo.start()]
    return line if echo[1] == "?" or len(line) > LONGEST_LINE else _before_pipe(line)


def _before_pipe(line: str) -> str:
    parts, joints = _split(line)
    while joints and joints[-1] in ("|", "|&"):
        parts, joints = parts[:-1], joints[:-1]
    return "".join(f"{part}{joint}" for part, joint in zip(parts, [*joints, ""], strict=True))


def untold(line: str) -> bool:
    """Whether a line's exit code of 0 leaves open what became of a command in it that does something.

    Of commands in a row it tells the last one's, and of a pipe the last one's; what only shows something, or makes the
    surroundings, may end as it likes.
    """
    return bool(line) and len(line) <= LONGEST_LINE and _untold(line)


def shows(line: str) -> bool:
    """Whether all that a line does is to show what was there before."""
    parts = _that_do(line)
    return bool(parts) and all(_is_showing(part) and not _INTO_FILE.search(_QUOTED.sub("", part)) for part in parts)


def does_several(line: str) -> bool:
    """Whether more than one command of a line does something, so that one's last words tell nothing of the others."""
    return sum(not _is_showing(part) for part in _that_do(line)) > 1


def shows_first(line: str) -> bool:
    """Whether what a line prints begins with what was there before, as that of ``cat build.log && make`` does."""
    return any(map(_is_showing, _that_do(line)[:1]))


@remembered(20_000)
def _that_do(line: str) -> list[str]:
    return [part for part in _parts(line[:LONGEST_LINE]) if not _is_beside(part)]


@remembered(20_000)
def _untold(line: str) -> bool:
    strict, of_pipes = _STRICT.search(line) is not None, _OF_PIPES.search(line) is not None
    parts, joints = _split(line)
    while len(parts) > 1 and not parts[-1].strip():
        if joints[-1].strip() == "&":
            break
        parts, joints = parts[:-1], joints[:-1]
    for part, joint, behind in zip(parts, joints, parts[1:], strict=False):
        if joint == "&&" or (strict and joint in (";", "\n")) or (of_pipes and joint.startswith("|") and joint != "||"):
            continue
        if joint == "||" and not _NEVER_FAILS.match(behind):
            continue  # another way to the same
        if not (_is_beside(part) or _is_showing(part)):
            return True
    return False


def _is_showing(part: str) -> bool:
    return _SHOWING.match(_LEAD.sub("", part, count=1)) is not None


def _is_beside(part: str) -> bool:
    return _BESIDE.match(_LEAD.sub("", part, count=1)) is not None


def _parts(line: str) -> list[str]:
    return _split(line)[0]


def _split(line: str) -> tuple[list[str], list[str]]:
    """The commands of a line, and what stands between them."""
    blank = line = _BODY.sub(r"\1", line) if "<<" in line else in_one_line(line)
    for begin, end in quotes_in(line):
        blank = f"{blank[:begin]}{'x' * (end - begin)}{blank[end:]}"
    joints = list(_JOINT.finditer(blank))
    ends = [0, *(end for joint in joints for end in joint.span()), len(line)]
    parts = [line[start:end] for start, end in zip(ends[::2], ends[1::2], strict=True)]
    return parts, [joint[0] for joint in joints]
