"""Command lines in one form: which programs they run, without what merely places them or trims their output.

``cd /home/me/app && git push 2>&1 | tail -5`` and ``git -C /srv/app push`` are the same move; ``cd web && npm test`` is
not that of ``npm test``. Only lines that begin with a tool of software projects are read so: in other work ``cd``,
``head`` and ``echo`` are what is asked for.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from prowess.learning.remembered import remembered
from prowess.learning.text import entries
from prowess.storage.models import COMMAND_ARGUMENTS, line_of

__all__ = [
    "COMMAND_ARGUMENTS",
    "JOINT",
    "LONGEST_LINE",
    "carried_out",
    "in_one_line",
    "line_of",
    "options_in",
    "places",
    "plain_line",
    "programs_in",
    "project_program",
    "quotes_in",
    "runs_task",
    "unquoted",
]

JOINT = re.compile(r"&&|\|\|?|;")  # between the commands of a line
LONGEST_LINE = 2_000  # characters of a command line that are read; what follows is mostly a file that it writes
MOST_PROGRAMS = 4
MOST_WORDS = 60  # of a command, among which its program is: enough for assignments and options before it
MOST_TRIMS = 8  # of one line

_MULTIPLEXERS = """
airflow alembic apt apt-get aws az brew bun bundle cargo composer conda dart dbt deno docker dotnet flutter flyctl
gcloud gh git glab go gradle gradlew hatch helm heroku just kubectl make mise mix npm npx nx pdm pip pip3 pipenv pnpm
podman poetry prisma pulumi rails rake ruff rustup rye swift task terraform terragrunt tofu turbo uv vercel wrangler
yarn
"""
MULTIPLEXERS = frozenset(_MULTIPLEXERS.split())
_PROJECT_TOOLS = """
actionlint bazel black clippy cmake createdb ctest cypress dropdb eslint flake8 gofmt goimports golangci-lint isort java
javac jest mocha mongosh mvn mypy mysql mysqldump ninja node nox pg_dump pg_restore php phpunit playwright pre-commit
prettier psql pylint pyright pytest python python3 redis-cli rspec rubocop ruby rustc rustfmt shellcheck sqlite3 tox
ts-node tsc tsx vitest xcodebuild
"""
PROJECT_TOOLS = frozenset(_PROJECT_TOOLS.split()) | MULTIPLEXERS
WRAPPERS = frozenset({"sudo", "env", "time", "timeout", "nohup", "command", "exec"})
# What makes the surroundings of the commands behind it: they are what is done.
_PLACING = frozenset({".", "cd", "export", "popd", "pushd", "source", "ulimit", "umask", "unset"})
_STRICT = re.compile(r"-[eux]+(?:o|$)")  # of a shell's set, as it begins scripts

# Programs that are told what to do in SQL: its statement is their sub-command.
_DATABASES = frozenset({"duckdb", "mysql", "psql", "sqlite3"})
_STATEMENT = re.compile(
    r"\s*(?:(alter|comment|create|drop)\b(?:\s+(?:or|replace|unique|on|materialized|temp(?:orary)?|if|not|exists))*\s+"
    r"(column|database|extension|function|index|role|schema|sequence|table|trigger|type|user|view)\b"
    r"|(analyze|copy|delete|explain|grant|insert|refresh|reindex|revoke|select|truncate|update|vacuum|with)\b|\\(?=[a-z]))",
    re.IGNORECASE,
)
# Sub-commands whose own sub-command tells what is done.
_GROUPS = """
airflow dags; airflow tasks; aws s3; docker compose; gh issue; gh pr; gh release; gh repo; gh run; gh workflow
git remote; git stash; git submodule; git worktree; go mod; kubectl rollout; kubectl set; terraform state
terraform workspace; uv pip
"""
_GROUPED = frozenset(entries(_GROUPS))
_TASKS_OF = {"bun": "run", "mise": "run", "npm": "run", "pnpm": "run", "yarn": "run"}  # a project's own tasks
_TASKS = frozenset({"just", "make", "rake", "task"})  # the same without a word before
# What only starts another program: ``uv run pytest`` is pytest.
_RUNNERS = """
bundle exec; mise exec; npm exec; pdm run; pipenv run; pnpm exec; poetry run; python -m; python3 -m; rye run; uv run
"""
_RUNNING = frozenset(entries(_RUNNERS))
_RUNNING_ALONE = frozenset({"bunx", "npx", "uvx"})
# Options before the sub-command, or before the program that is started, that take a value.
_VALUED = frozenset(
    """
    -C -c --cd --cwd --context --dir --directory --extra --filter --git-dir --group --manifest-path -n --namespace
    --package --prefix --project --python -R --repo --with --work-tree
    """.split()  # noqa: SIM905 - a list of quoted options would be no easier to read
)

_QUOTE = re.compile("[\"']")
_QUOTED = re.compile(r"\"[^\"\\]*+(?:\\.[^\"\\]*+)*+|'[^']*+")  # up to what ends it, if anything does
_ASSIGNED = re.compile(r"^\w+=(?:(?=\$\(|`)|.*)")  # X=1 is no program, in X=$(date it is date
_BODY = re.compile(r"<<-?[ \t]*(['\"]?)(\w++)\1([^\n]*)\n(?:[^\n]*\n)*?[ \t]*\2(?!\w)")  # a text that a line hands over
_JOINTS = re.compile(r"\|\|?|&&|;|\n")
_WORD = r"(?:\"[^\"$`]*\"|'[^']*'|[^\s\"'&;|<>()]+)"
_WHOLE = r"(?=[\"']?(?:[/~]|[A-Za-z]:|\$(?:HOME|PWD)\b))"  # before a folder that is told from the root or the home on
_PLACED = re.compile(rf"\s*cd\s+{_WHOLE}{_WORD}\s*(?:&&|;)\s*")
_PLACED_GIT = re.compile(rf"(?<![\w/.-])git -C {_WHOLE}{_WORD} ")
_SAID = rf"echo(?:\s+{_WORD})*"
_TRIMMED = re.compile(
    rf"\s*(?:\|\s*(?:tail(?![^|;&]*[\s\w=]\+\d)|head|cat|less|more)(?:\s+-?[\w.=+{{}}]+)*|\|\|\s*(?:true|:|{_SAID})|(?:&&|;)\s*{_SAID}"
    r"|2>\s?&1|2>\s?/dev/null|;)\s*\Z"
)
_CONTINUED = re.compile(r"[ \t]*\\\r?\n[ \t]*")
_WHOSE = ("-u", "-g")  # what sudo and env are told a name after
_DURATION = re.compile(r"[\d.]+[smhd]?")
_MAY_TRIM = re.compile(r"[|;>]|&&")
_JOINED_STREAMS = re.compile(r"\s+2>&1(?=\s|\Z)")
_INTO_FILE = re.compile(r"(?<![2=-])>(?!\s?&)")  # then what stands behind says what is in the file


def plain_line(line: str) -> str:
    """``line`` without whole folders it goes to and what trims or joins its output, where a project's tool runs.

    A folder that is told from where one stands is part of what is done, and so is a file that the output goes to.
    """
    return line if len(line) > LONGEST_LINE else _plain(line)  # so that no longer one is remembered


@remembered(20_000)
def _plain(line: str) -> str:
    bare = in_one_line(line.strip())
    if not bare:
        return line
    while bare.startswith("cd ") and (placed := _PLACED.match(bare)):
        bare = bare[placed.end() :]
    bare = _PLACED_GIT.sub("git ", bare) if "git -C " in bare else bare
    first = next(iter(programs_in(bare)), "")
    if not project_program(first) or "<<" in bare:
        return line
    if not _MAY_TRIM.search(bare) or _INTO_FILE.search(unquoted(bare, "")):
        return bare
    return _untrimmed(bare) or line


def _untrimmed(bare: str) -> str:
    for _ in range(MOST_TRIMS):
        bare, trims = _TRIMMED.subn("", bare, count=1)
        if not trims:
            break
    streams = [found.span() for found in _JOINED_STREAMS.finditer(bare) if not _is_quoted(bare[: found.start()])]
    for start, end in reversed(streams):
        bare = bare[:start] + bare[end:]
    return bare


def _is_quoted(before: str) -> bool:
    rest = unquoted(before, "")
    return '"' in rest or "'" in rest


def quotes_in(line: str) -> Iterator[tuple[int, int]]:
    """Where each quoted text of a command line begins and ends.

    Of a double quote that nothing ends, what follows is looked through once: it has escaped ones alone, which nothing
    ends either. To try each of them would take the square of the line.
    """
    at = unended = 0
    while found := _QUOTE.search(line, at):
        begin, at = found.span()
        if found[0] == '"' and begin < unended:
            continue
        if (text := _QUOTED.match(line, begin)) and line.startswith(found[0], text.end()):
            at = text.end() + 1
            yield begin, at
        elif text and found[0] == '"':
            unended = text.end()


def unquoted(line: str, instead: str = "''") -> str:
    """``line`` with ``instead`` in the place of each quoted text."""
    parts, at = list[str](), 0
    for begin, end in quotes_in(line):
        parts.append(line[at:begin])
        at = end
    return instead.join([*parts, line[at:]])


def project_program(name: str) -> bool:
    """Whether a program, as ``programs_in`` names it, is a usual tool of software projects."""
    return name.split(" ")[0] in PROJECT_TOOLS


def runs_task(name: str) -> str:
    """The task of the project's own that a program runs: ``test:ci`` of ``mise run test:ci``; "" for others."""
    words = name.split(" ")
    if len(words) == 3 and _TASKS_OF.get(words[0]) == words[1]:
        return words[2]
    return words[1] if len(words) == 2 and words[0] in _TASKS else ""


def in_one_line(line: str) -> str:
    """``line`` with what a backslash continues in the line below as one; a text that it hands over stays as it is."""
    return _CONTINUED.sub(" ", line) if "\\\n" in line.replace("\r", "") and "<<" not in line else line


@remembered(20_000)
def programs_in(line: str) -> tuple[str, ...]:
    """The programs of a command line, a multiplexer's with its sub-command: ``git commit``, ``gh pr view``."""
    line = _BODY.sub(r"\3", line) if "<<" in line else in_one_line(line)
    parts = _JOINTS.split(unquoted(_with_statements(line)))
    found = [program for part in parts if (program := _program(part.split(maxsplit=MOST_WORDS)[:MOST_WORDS]))]
    done = [program for program in found if program not in _PLACING]
    return tuple((done or [program for program in found if program != "cd"] or found)[:MOST_PROGRAMS])


def _with_statements(line: str) -> str:
    """``line`` with ``@create-index`` in the place of a quoted statement in SQL, where it may be for a database."""
    if not any(name in line for name in _DATABASES):
        return line
    parts, at = list[str](), 0
    for begin, end in quotes_in(line):
        if found := _STATEMENT.match(line, begin + 1, end):
            said = [word.lower() for word in found.groups() if word] or ["describe"]
            parts += [line[at:begin], f"@{'-'.join(said)}"]
            at = end
    return "".join([*parts, line[at:]])


def options_in(line: str) -> dict[str, list[str]]:
    """The options of a command line, without their values, by the program that has them."""
    found: dict[str, list[str]] = {}
    for part in _JOINTS.split(unquoted(in_one_line(line))):
        words = part.split(maxsplit=MOST_WORDS)[:MOST_WORDS]
        if program := _program(words):
            options = [word.partition("=")[0] for word in words if word.startswith("-")]
            if program == "tar" and (bundled := words[words.index("tar") + 1 :] if "tar" in words else []):
                options.append(f"-{bundled[0].lstrip('-')}")  # "tar xzf" means "tar -xzf"
            found.setdefault(program, []).extend(options)
    return found


def places(line: str) -> bool:
    """Whether a command line does nothing but to make the surroundings of what follows."""
    return set(programs_in(line)) <= _PLACING


def _unwrapped(words: list[str]) -> list[str]:
    """The words from the program on, without what is assigned and what only carries it out in another way."""
    rest = [plain for word in words if (plain := _ASSIGNED.sub("", word))]
    while len(rest) > 1 and rest[0] in WRAPPERS and rest[1] not in ("-v", "-V"):
        at = 1
        while at < len(rest) and (rest[at].startswith("-") or rest[at - 1] in _WHOSE or _DURATION.fullmatch(rest[at])):
            at += 1
        rest = rest[at:]
    return [] if rest and rest[0] in WRAPPERS and len(rest) == 1 else rest


def carried_out(words: list[str]) -> list[str]:
    """The words from the program on that a command is about: ``uv run pytest -q`` is about ``pytest -q``."""
    rest = _unwrapped(words)
    while started := _started(rest):
        rest = _unwrapped(started)
    return rest


def _started(words: list[str]) -> list[str]:
    """What a program only starts, from its name on; empty where it does something itself."""
    name, after = _named(words)
    if name in _RUNNING_ALONE:
        return _operands(after)
    return _operands(after[1:]) if f"{name} {after[0] if after else ''}" in _RUNNING else []


def _named(words: list[str]) -> tuple[str, list[str]]:
    """A program's name, and the words behind it; of those that have sub-commands from that on."""
    if not words:
        return "", []
    name = words[0].rsplit("/", 1)[-1].strip("()`$'\"")
    return name, _operands(words[1:]) if name in MULTIPLEXERS or name in _RUNNING_ALONE else words[1:]


def _program(words: list[str]) -> str:
    name, after = _named(carried_out(words))
    second = after[0] if after else ""
    if name == "set" and _STRICT.match(second):
        return ""
    if name in _DATABASES:
        statement = next((word[1:] for word in after if word.startswith("@")), "")
        return " ".join(filter(None, (name, *statement.split("-"))))
    if f"{name} {second}" in _RUNNING:
        return " ".join(filter(str.isalpha, (name, second))) or name
    if name not in MULTIPLEXERS:
        return name
    if not _is_sub_command(second, own=name in _TASKS):
        return name
    third = next(iter(_operands(after[1:])), "")
    own = _TASKS_OF.get(name) == second
    if (own or f"{name} {second}" in _GROUPED) and _is_sub_command(third, own=own):
        return f"{name} {second} {third}"
    return f"{name} {second}"


def _operands(words: list[str]) -> list[str]:
    """The words from the first one on that is no option."""
    at = 0
    while at < len(words) and (words[at].startswith("-") or words[at].startswith("+")):
        at += 2 if words[at] in _VALUED else 1
    return words[at:]


def _is_sub_command(word: str, *, own: bool) -> bool:
    if own:
        return re.fullmatch(r"[A-Za-z][\w:.-]*", word) is not None
    return re.fullmatch(r"[A-Za-z][A-Za-z-]*(?:\d[a-z]*)?", word) is not None  # s3, ec2, k8s
