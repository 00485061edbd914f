"""What kind of error a text tells: its most telling line with everything that varies abstracted.

Two failures with the same template are taken for the same failure, so numbers, paths, ids and quoted strings become
``<num>``, ``<path>``, ``<hex>``, ``<str>`` …, while the exception's class and the words of the message stay.
"""

from __future__ import annotations

import re

from prowess.learning.text import ends, plain

__all__ = ["NO_MESSAGE", "SIZE", "says_little", "telling_line", "template"]

SIZE = 200  # longest template, characters
NO_MESSAGE = "no message"  # stands for the template of an error without words
LOOKED_AT = 20_000  # characters of the text's start and end that are looked at
LONGEST_LINE = 1_000

_REFUSED = re.compile(r"\s{0,9}(?:<tool_use_error>|The user doesn't want to )")
_BEFORE = re.compile(r"^(?:[E\u2500-\u257f]\s{1,8})+")  # pytest's sign, and frames that programs draw, also nested
_WRAPPER = re.compile(r"</?(?:tool_use_error|error|stderr|stdout|output)>", re.IGNORECASE)
# Claude Code's, of a file that is missing
_PLACE = re.compile(r"\s{1,4}Note: your current working directory is \S{1,400}")
_SHELL = re.compile(r"^(?:/[\w/]{1,40}/)?(?:ba|da|z)?sh: (?:line )?\d{1,6}: ")  # where in its line
_EXIT_CODE = re.compile(r"(?:command )?exit(?:ed with)?(?: status| code)?:? -?\d+\.?", re.IGNORECASE)
_LITTLE = re.compile(
    rf"{NO_MESSAGE}|(?:<\w+>\W*)+"
    r"|FAIL\s<path>(?:\s(?:\(<num>(?:\s\w{1,2})?\)|<num>))?"
    r"|(?:(?:command|process) )?(?:exit(?:ed with)?(?: status| code)?:? <num>|failed)\.?|error:?"
    r"|<num> (?:failed|errors?)(?:, <num> [a-z]{1,20}){0,6}(?: in <num>)?",
    re.IGNORECASE,
)
_NONE_FAILED = re.compile(r"(?<![\w.])(?:0|no) (?:errors?|fail(?:ed|ing|ures?))\b", re.IGNORECASE)
_OF_MAKE = re.compile(r"g?make(?:\[\d{1,3}\])?: \*\*\* \[")
_MOVES = re.compile(r"g?make(?:\[\d{1,3}\])?: (?:Entering|Leaving) directory ")
_SPOKEN = re.compile(r"[\w.+/-]{1,200}(?::\d{1,7})?: \S.{5}")  # what a program or a file's name introduces
_TRACEBACK = "Traceback (most recent call last)"
_EXCEPTION = re.compile(
    r"(?:[A-Za-z_]\w*\.){0,8}[A-Z]\w*(?:Error|Exception|Interrupt|Exit|Warning|Failure|Timeout|Panic)\b"
)

# What a line is worth as the one to remember, by the first pattern that it matches. Ties go to the first line.
_WORTH = tuple(
    (worth, re.compile(pattern, flags))
    for worth, pattern, flags in (
        (-1, r"> (?:\S{1,100}@\d\S{0,40} \S|[\w./-])", 0),  # npm's: the script that it runs
        (-1, r"(?:error: )?usage: ", re.IGNORECASE),  # what was wrong stands below
        # What went wrong comes further down, or came before.
        (1, r"(?:\S{1,40}: )?(?:fatal|error|panic|failed|failure)[:.!]{0,3}$", re.IGNORECASE),
        (
            1,
            r"\d{1,7} (?:failed|errors?)(?:, \d{1,7} [a-z]{1,20}){0,6}(?: in [\d.:]{1,12} ?m?s?| \([\d.]{1,12}m?s\))?$",
            0,
        ),
        (3, r"ImportError while (?:importing test module|loading conftest)", 0),
        (1, r"g?make(?:\[\d{1,3}\])?: \*\*\* \[", 0),
        (1, r"npm (?:ERR!|error)(?:$| (?:code|errno|Lifecycle|command|path|syscall) )", 0),
        # What only counts the errors above it, or tells that another program found some.
        (1, r"Found \d{1,7} errors?\b|\u2716 \d{1,7} problems? |collect2: error: ld returned ", 0),
        (1, r"error: (?:could not compile |failed to push some refs |test failed, to rerun )", 0),
        (8, r"! \[(?:remote )?rejected\]", 0),  # git's reason; what it counts as an error says that something was
        (9, rf"(?:Uncaught |Unhandled |Caused by: |\w{{1,20}}: )?{_EXCEPTION.pattern}", 0),
        (8, r"assert\b|.{0,40}\bassertion\b.{0,40}\bfail", re.IGNORECASE),
        (7, r"(?:\S{1,200}: )?(?:fatal|error|panic|failed|failure)(?:\[\w{1,12}\])?[:!]", re.IGNORECASE),
        (6, r"\S{1,200}[:(]\d{1,7}[:,]\d{1,7}\)?:?\s|g?make(?:\[\d{1,3}\])?: \*\*\* ", 0),
        # Linters' rules, under the file's name or above it: eslint, ruff
        (6, r"\d{1,7}:\d{1,5}\s{1,9}error\s|[A-Z]{1,5}\d{3,4} (?:\[\*\] )?\S.{5}", 0),
        # A file or package of tests (Jest's, Go's): what failed in it says more.
        (4, r"FAIL\s{1,4}\S{1,200}(?:\s{1,4}(?:\([\d.]{1,12} m?s\)|[\d.]{1,12}s))?$", 0),
        (6, r"(?:npm ERR!|ERROR|FATAL|FAIL|✗|✘|\u00d7|❌)\s{0,3}\S.{8}", 0),
        (
            5,
            r".{0,160}(?:command not found|no such file|not found|permission denied|has been denied|does not exist|"
            r"doesn't exist|connection refused|timed? ?out|parse error|syntax error|cannot|can't|could not|unable to|"
            r"illegal|invalid|no module named|unrecogni[sz]ed|unexpected|undefined|conflict)",
            re.IGNORECASE,
        ),
        (4, r".{0,160}\b(?:errors?|fail(?:ed|ure|s)?|fatal|denied|refused|missing|did not|rejected)\b", re.IGNORECASE),
        (2, r".{0,160}\b(?:issues? found|would (?:be )?reformat|nothing (?:added )?to commit)", re.IGNORECASE),
    )
)

_ENDINGS = "[cm]?[jt]sx?|py|go|rs|rb|java|kt|c|cc|cpp|h|hpp|cs|php|sh|sql|json|ya?ml|toml|md|txt|lock|cfg|ini|html?|css"
_NUMBER = r"(?<![\w<])[-+]?\d{1,40}(?:[.,_:]\d{1,40}){0,8}%?(?:(?:e[-+]?\d{1,4})|[kKMGT]?i?B|[mnuµ]?s|px|x)?(?![\w>])"
_SAFE = "[bcdf-hj-np-tv-xz2-9]"  # Kubernetes': no vowels, nothing that looks like another sign
# A number in a name that is no number of one thing: another is another kind.
_KINDS = (
    r"(?:(?:aes|blake|cp|ed|es|hs|iso|latin|ps|py|python|rfc|rs|rsa|sha|utf|windows)[_-]?\d{3,5}|[hx]\d{3}|i\d86"
    r"|u?int128|s390x)"
)
_VARYING = tuple(
    (re.compile(pattern), name)
    for pattern, name in (
        (r"\b[a-z][a-z0-9+.-]{1,15}://[^\s\"'`<>)\]]{1,500}", "<url>"),
        (r"(?<![\w.+-])[\w.+-]{1,64}@(?:[\w-]{1,64}\.){1,6}[A-Za-z]{2,24}\b", "<email>"),
        (r"(! \[(?:remote )?rejected\]\s{1,20})\S{1,200} -> \S{1,200}", r"\1<str> -> <str>"),
        (r"\b[0-9a-fA-F]{8}-(?:[0-9a-fA-F]{4}-){3}[0-9a-fA-F]{12}\b", "<id>"),
        (r"\b\d{4}-\d\d-\d\d(?:[T ]\d\d:\d\d(?::\d\d(?:[.,]\d{1,9})?)?(?:Z|[+-]\d\d:?\d\d)?)?", "<time>"),
        (
            r"\b(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun),? {1,2}(?:\d{1,2} )?(?:Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec)"
            r"(?:,? {1,2}(?:\d\d:\d\d:\d\d|\d{1,4}|[A-Z]{3,4}|[+-]\d{4})\b){1,5}",
            "<time>",
        ),
        (r"(?<![\w:.])\d{1,2}:\d\d:\d\d(?:[.,]\d{1,9})?(?![\w:])", "<time>"),
        (r'"[^"\n]{0,400}"|`[^`\n]{0,400}`|“[^”\n]{0,400}”|(?<!\w)\'[^\'\n]{0,400}\'(?!\w)', "<str>"),
        (r"(?<![\w<])(?:[A-Za-z]:)?(?:[~.]{0,2}[/\\])?[\w.@+%-]{1,100}(?:[/\\][\w.@+%-]{0,100}){1,30}", "<path>"),
        (r"(?<![\w<])(?:~|\.{1,2})?/[\w.@+%-]{1,100}", "<path>"),
        (rf"(?<![\w<])[\w.-]{{0,80}}\w\.(?:{_ENDINGS})\b", "<path>"),
        (r"<path>(?::\d{1,9}){1,3}|<path>\(\d{1,9}(?:,\d{1,9})?\)", "<path>"),
        (r"\b0[xX][0-9a-fA-F]{1,64}\b", "<hex>"),
        (r"\b((?:[Nn]o such|[Uu]nknown) (?:column|function|index|module|table|type|view): )[\w.]{1,100}", r"\1<str>"),
        # Names that a cluster and a temporary file get
        (rf"(?<![\w-])[a-z][a-z0-9-]{{0,60}}-(?=[a-z]{{0,9}}\d){_SAFE}{{8,10}}-{_SAFE}{{5}}(?![\w-])", "<id>"),
        (r"\b0[0-7][0-9A-HJKMNP-TV-Z]{24}\b", "<id>"),  # a ULID
        (r"\btmp(?=[a-z_]{0,7}\d)[a-z0-9_]{8}\b", "<id>"),
        (rf"#\w{{0,40}}\d\w{{0,40}}|\b(?!{_KINDS}\b)[a-z][a-zA-Z_-]{{0,60}}\d{{3,40}}\w{{0,40}}", "<id>"),
        (r"\b(?=[0-9a-f]{0,64}\d)(?=[0-9a-f]{0,64}[a-f])[0-9a-f]{7,64}\b", "<hex>"),
        (_NUMBER, "<num>"),
    )
)  # fmt: skip
_REPEATED = re.compile(r"(<\w+>)(?:[,;:]?\s?\1){1,400}")
_SPACE = re.compile(r"\s+")


def template(text: str) -> str:
    """The template of an error text, at most ``SIZE`` characters; "" when there is nothing to read.

    Deterministic, and a template is its own template.
    """
    return _settled(telling_line(text))


def says_little(template: str) -> bool:
    """Whether it tells that something failed and not what, so that quite other failures have the same."""
    return _LITTLE.fullmatch(template) is not None


def telling_line(text: str) -> str:
    """The line of ``text`` that says most about what went wrong."""
    text = ends(plain(text), LOOKED_AT)
    lines = [
        _SHELL.sub("", _BEFORE.sub("", line.strip()))[:LONGEST_LINE]
        for line in _PLACE.sub("", _WRAPPER.sub("", text)).split("\n")
    ]
    lines = [line for line in lines if line]
    if len(told := [line for line in lines if not _EXIT_CODE.fullmatch(line)]):
        lines = told
    if lines and _REFUSED.match(text):
        return lines[0]  # what follows quotes the request
    line = _raised(lines) or max(lines, key=_worth, default="")
    return _before_make(lines) or line if _OF_MAKE.match(line) else line


def _before_make(lines: list[str]) -> str | None:
    """What was said last before make told that a recipe failed: that says nothing of why."""
    end = next(place for place, line in enumerate(lines) if _OF_MAKE.match(line))
    before = [line for line in lines[:end] if not _MOVES.match(line)]
    return before[-1] if before and _SPOKEN.match(before[-1]) else None


def _raised(lines: list[str]) -> str | None:
    """The exception that ends the last Python traceback."""
    starts = [place for place, line in enumerate(lines) if line.startswith(_TRACEBACK)]
    if not starts:
        return None
    return next((line for line in lines[starts[-1] :] if _EXCEPTION.match(line)), None)


def _worth(line: str) -> int:
    if "0 " in line or "o " in line:
        line = _NONE_FAILED.sub("", line)
    return next((worth for worth, pattern in _WORTH if pattern.match(line)), 0)


def _settled(line: str) -> str:
    """``line`` abstracted until it stays as it is: cutting and abstracting can each uncover something to abstract."""
    for _ in range(4):
        before, line = line, _abstracted(line)
        if line == before:
            break
    return line


def _abstracted(line: str) -> str:
    for pattern, name in _VARYING:
        line = pattern.sub(name, line)
    line = _SPACE.sub(" ", _REPEATED.sub(r"\1", line)).strip()
    return line if len(line) <= SIZE else _cut(line)


def _cut(line: str) -> str:
    """At most ``SIZE`` characters, ending with a whole word."""
    head = line[:SIZE]
    return head[: head.rfind(" ")].rstrip() if " " in head[SIZE // 2 :] else head
