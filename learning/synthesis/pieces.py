"""What the varying part of a command line is called: by the option or the program that it stands behind."""

from __future__ import annotations

import re
from collections.abc import Sequence

from prowess.learning.synthesis.commands import JOINT, carried_out, programs_in, runs_task
from prowess.learning.text import table

__all__ = ["ARGUMENTS", "piece_name", "statement_name"]

ARGUMENTS = "_args"  # ends the name of all that a program was given

# What a program is told without an option; behind a comma what comes after that.
_OPERANDS = """
alembic downgrade: revision; alembic upgrade: revision; aws s3 cp: source, destination; aws s3 ls: url
aws s3 sync: source, destination; cargo add: crate; cargo test: test; cd: folder; createdb: database
docker build: folder; docker compose exec: service; docker compose logs: service; docker compose restart: services
docker compose up: services; docker exec: container; docker logs: container; docker pull: image; docker push: image
docker restart: container; docker rm: container; docker run: image; docker stop: container; docker tag: image, new_tag
dropdb: database; gh api: endpoint; gh issue view: issue; gh pr checkout: pull_request; gh pr checks: pull_request
gh pr diff: pull_request; gh pr merge: pull_request; gh pr view: pull_request; gh release create: tag
gh run view: run_id; git add: files; git branch: branch; git checkout: branch; git cherry-pick: commit
git clone: repository; git fetch: remote_and_branch, branch; git merge: branch; git mv: files
git pull: remote_and_branch, branch; git push: remote_and_branch, branch; git rebase: base; git restore: files
git revert: commit; git rm: files; git show: commit; git switch: branch; git tag: tag, commit; go build: packages
go get: module; go run: program; go vet: packages; grep: text; helm rollback: release, revision
helm upgrade: release, chart; kubectl delete: resource; kubectl describe: resource; kubectl exec: pod
kubectl logs: pod; kubectl rollout restart: resource; kubectl rollout status: resource; kubectl rollout undo: resource
kubectl scale: resource; kubectl set env: resource, variable; kubectl set image: resource, image; mkdir: folder
node: program; npm install: packages; npm uninstall: packages; npm view: package; pip install: packages
pnpm add: packages; poetry add: packages; python3: program; python: program; rg: text; sed: script, files
sleep: seconds; terraform force-unlock: lock_id; terraform workspace select: workspace; uv add: packages
uv remove: packages; yarn add: packages
"""
_OF_PROGRAM = {program: names.split(", ") for program, names in table(_OPERANDS).items()}
_INNER = re.compile(r"\$\(|`")  # before a command whose output is part of another
_GLUE = frozenset({"do", "else", "for", "if", "read", "then", "until", "while"})  # of shells: they take commands
_OPTIONS = """
alembic revision -m: message; cargo build -p: package; cargo run -p: package; cargo test -p: package
cmake --build: folder; curl -H: header; curl -X: method; curl -d: data; curl -o: output; docker build -f: file
docker build -t: tag; docker run -e: variable; docker run -p: ports; docker run -v: volume; gh api -F: field
gh api -X: method; gh api -f: field; gh api -q: query; gh pr create -b: body; gh pr create -t: title
git checkout -b: branch; git commit -am: message; git commit -m: message; git log -n: count
git stash push -m: message; git switch -c: branch; git tag -m: message; go build -o: output; go test -run: test
helm upgrade -f: file; journalctl -u: service; kubectl apply -f: file; kubectl delete -f: file
kubectl get -l: selector; kubectl logs -c: container; kubectl logs -l: selector; pg_dump -U: user
pg_dump -d: database; pg_dump -f: file; pg_dump -h: host; pg_dump -t: table; pg_restore -U: user
pg_restore -d: database; pg_restore -h: host; psql -U: user; psql -c: query; psql -d: database; psql -f: file
psql -h: host; psql -p: port; pytest -k: test; pytest -m: marker; ssh -i: key_file; ssh -p: port; tar -C: folder
tar -cf: archive; tar -czf: archive; tar -xf: archive; tar -xzf: archive
"""
_OF_OPTION = table(_OPTIONS)
# Options that take no value: what stands behind them is the program's own. Others of one letter may.
_FLAGS = frozenset(
    """
    -a -A -D -E -f -force -i -it -l -nr -P -q -r -recursive -rin -rn -rni -s -u -v -x -y --all --amend --annotate
    --autogenerate --build --cached --check --debug --delete --detach --dev --draft --dry-run --editable --exact
    --ff-only --fix --follow --force --force-with-lease --frozen --global --graph --hard --interactive
    --legacy-peer-deps --list --locked --name-only --name-status --oneline --porcelain --prune --quiet --rebase
    --recursive --release --rm --save --save-dev --save-exact --short --soft --squash --staged --stat --strict --tags
    --tty --upgrade --verbose --wait --watch --workspace --yes
    """.split()  # noqa: SIM905 - a list of quoted options would be no easier to read
)
# What a word of a statement in SQL is, by the word before it.
_OF_STATEMENT = {
    "(": "column", "=": "value", "and": "column", "analyze": "table", "by": "column", "column": "column",
    "concurrently": "index", "d": "table", "exists": "name", "from": "table", "index": "index", "into": "table",
    "join": "table", "on": "table", "select": "column", "set": "column", "table": "table", "update": "table",
    "where": "column",
}  # fmt: skip
_IS_OPTION = re.compile(r"--?[A-Za-z]")


def piece_name(before: str, parts: Sequence[str]) -> str:
    """The name of the ``parts`` that follow ``before`` in several command lines; "" where ``before`` names no
    program."""
    command = _INNER.split(JOINT.split(before)[-1])[-1]
    program = next(iter(programs_in(command)), "")
    words = command.split()
    option = words[-1].rstrip("=\"'") if words else ""
    if _takes_value(program, option, assigned=bool(words) and "=" in words[-1]):
        if known := _OF_OPTION.get(f"{program} {option}"):
            return known
        if word := re.fullmatch(r"--([A-Za-z][\w-]+)|-([a-z][a-z-]{2,})", option):
            return (word[1] or word[2]).replace("-", "_")
    elif operand := _operand(program, words, parts):
        return operand
    if all("/" in part and not re.search(r"\s", part) for part in parts):
        return "url" if all("://" in part for part in parts) else "path"
    if not re.search(r"[A-Za-z]", program) or program in _GLUE:
        return ""
    return re.sub(r"\W+", "_", runs_task(program) or program, flags=re.ASCII).strip("_") + ARGUMENTS


def _takes_value(program: str, option: str, *, assigned: bool) -> bool:
    """Whether the last word is an option that says what the next one is."""
    if not option.startswith("-"):
        return False
    flag = option in _FLAGS or option.startswith("--no-")
    return assigned or f"{program} {option}" in _OF_OPTION or not flag


def _operand(program: str, words: Sequence[str], parts: Sequence[str]) -> str:
    """What the program calls this operand, by how many it was given before; "" where options are among ``parts``, or
    several words in the place of one."""
    names = _OF_PROGRAM.get(program, [])
    if any(_IS_OPTION.match(word) for part in parts for word in part.split()):
        return ""
    if not names:
        return ""
    rest, last = carried_out(list(words)), program.split()[-1]
    told = rest[rest.index(last) + 1 :] if last in rest else rest
    given = [
        word
        for word, before in zip(told, ["", *told], strict=False)
        if not word.startswith("-") and f"{program} {before}" not in _OF_OPTION
    ]
    name = names[min(len(given), len(names) - 1)]
    many = name.endswith("s") or "_and_" in name
    return name if many or not any(re.search(r"\s", part) for part in parts) else ""


def statement_name(before: Sequence[str]) -> str:
    """The name of a word of a statement in SQL that these words stand ``before``."""
    last = next((word.lower() for word in reversed(before) if not word.isspace()), "")
    return _OF_STATEMENT.get(last, "query_part")
