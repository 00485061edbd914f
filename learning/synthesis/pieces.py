"""What the varying part of a command line is called: by the option or the program that it stands behind."""

from __future__ import annotations

import re
from collections.abc import Sequence

from prowess.learning.synthesis.commands import JOINT, programs_in, runs_task
from prowess.learning.text import table

__all__ = ["ARGUMENTS", "piece_name"]

ARGUMENTS = "_args"  # ends the name of all that a program was given

_OPERANDS = """
git add: files; git branch: branch; git checkout: branch; git cherry-pick: commit; git clone: repository
git fetch: remote_and_branch; git merge: branch; git mv: files; git pull: remote_and_branch; git push: remote_and_branch
git rebase: branch; git restore: files; git revert: commit; git rm: files; git show: commit; git switch: branch
git tag: tag; gh api: endpoint; gh issue view: issue; gh pr checkout: pull_request; gh pr checks: pull_request
gh pr diff: pull_request; gh pr merge: pull_request; gh pr view: pull_request; gh run view: run_id; go build: packages
go get: module; go run: program; go vet: packages; cargo add: crate; npm install: packages; pip install: packages
cd: folder; mkdir: folder; python: program; python3: program; node: program; sleep: seconds
"""
_OF_PROGRAM = table(_OPERANDS)
_INNER = re.compile(r"\$\(|`")  # before a command whose output is part of another
_GLUE = frozenset({"do", "else", "for", "if", "read", "then", "until", "while"})  # of shells: they take commands
_OPTIONS = """
curl -H: header; curl -X: method; curl -d: data; curl -o: output; docker build -t: tag; docker run -p: ports
gh api -F: field; gh api -X: method; gh api -f: field; gh api -q: query; gh pr create -b: body; gh pr create -t: title
git commit -m: message; git log -n: count; git tag -m: message; go build -o: output; go test -run: test
psql -U: user; psql -c: query; psql -d: database; psql -h: host
pytest -k: test; tar -C: folder
"""
_OF_OPTION = table(_OPTIONS)


def piece_name(before: str, parts: Sequence[str]) -> str:
    """The name of the ``parts`` that follow ``before`` in several command lines; "" where ``before`` names no
    program."""
    command = _INNER.split(JOINT.split(before)[-1])[-1]
    program = next(iter(programs_in(command)), "")
    words = command.split()
    option = words[-1].rstrip("=\"'") if words else ""
    if option.startswith("-") and (known := _OF_OPTION.get(f"{program} {option}")):
        return known
    if word := re.fullmatch(r"--([A-Za-z][\w-]+)|-([A-Za-z][\w-]{2,})", option):
        return (word[1] or word[2]).replace("-", "_")
    if program in _OF_PROGRAM and not any(word.startswith("-") for word in [*words, *" ".join(parts).split()]):
        return _OF_PROGRAM[program]
    if all("/" in part and not re.search(r"\s", part) for part in parts):
        return "path"
    if not re.search(r"[A-Za-z]", program) or program in _GLUE:
        return ""
    return re.sub(r"\W+", "_", runs_task(program) or program, flags=re.ASCII).strip("_") + ARGUMENTS
