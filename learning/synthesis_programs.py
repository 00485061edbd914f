"""What the usual programs of a shell do, in a verb and its object."""

from __future__ import annotations

import re

__all__ = ["PROGRAMS", "task_in_words"]

_PROGRAMS = """
ack search for text; apt install packages; awk process text; base64 encode data; basename get a file name
bash run a command; bzip2 compress files; cal show a calendar; cat show a file; cd change the folder
chgrp change the group of files; chmod change the mode of files; chown change the owner of files; cmp compare files
column align columns; comm compare files; cp copy files; crontab schedule jobs; curl fetch a URL; cut cut out columns
date show the date; dd copy data; df show disk space; diff compare files; dig look up a host name; dirname get a folder
du measure disk usage; echo print text; egrep search for text; env show the environment; fgrep search for text
glob find files; file identify a file; find find files; free show memory; grep search for text; groups show groups
gunzip unpack files; gzip compress files; head show the first lines; history show the history
host look up a host name; hostname show the host name; id show the user ID; ifconfig show the network
install install files; ip show the network; join join files; jq query JSON; kill stop a process; less show a file
ln link files; locate find files; ls list files; lsof list open files; make build a target; md5sum compute checksums
mkdir create a folder; mktemp create a temporary file; more show a file; mount mount a file system; mv move files
mypy check types; nl number lines; node run JavaScript; nslookup look up a host name; od dump data; paste join lines
patch apply a patch; perl process text; ping reach a host; pkill stop processes; printenv show the environment
printf print text; ps list processes; pstree show the process tree; pwd show the current folder; pytest run the tests
python run Python code; python3 run Python code; readlink follow a link; realpath resolve a path; rename rename files
rev reverse lines; rg search for text; rm remove files; rmdir remove a folder; rsync copy files; ruff check the code
scp copy files; sed edit text; seq print numbers; sh run a command; sha1sum compute checksums
sha256sum compute checksums; shuf shuffle lines; sort sort lines; split split a file; ssh run a remote command
stat show the state of a file; tac reverse lines; tail show the last lines; tar pack files; tee save the output
timeout limit the time; top list processes; touch create a file; tr replace characters; tree show a folder tree
truncate cut files; uname show the system; uniq drop repeated lines; unzip unpack files; uptime show the uptime
useradd add a user; wc count lines; wget fetch a URL; which locate a program; who list users; whoami show the user
yes print text; zip pack files
"""
_COMMANDS = """
apt install: install packages; apt-get install: install packages; terraform force-unlock: unlock the state
alembic downgrade: migrate the database; alembic revision: write a migration; alembic upgrade: migrate the database
cargo add: add a package; cargo bench: run the benchmarks; cargo release: publish a release; dbt build: build the models
dbt run: build the models; dbt test: test the models; docker compose exec: run a command in a container
helm rollback: roll back a release; helm upgrade: upgrade a release; kubectl rollout: follow a rollout
terraform apply: apply the plan; terraform init: set up terraform; terraform plan: plan the changes
cargo build: build the code; cargo check: check the code; cargo clippy: check the code; cargo fmt: format the code
cargo run: run the code; cargo test: run the tests; docker build: build an image; docker compose down: stop containers
docker compose logs: show the logs; docker compose up: start containers; docker exec: run a command in a container
docker logs: show the logs; docker ps: list containers; docker run: run a container; dotnet build: build the code
dotnet test: run the tests; gh api: query the GitHub API; gh issue: handle issues; gh issue comment: comment on an issue
gh issue create: open an issue; gh issue list: list issues; gh issue view: show an issue; gh pr: handle pull requests
gh pr checkout: check out a pull request; gh pr checks: show the checks of a pull request
gh pr comment: comment on a pull request; gh pr create: open a pull request; gh pr diff: show a pull request
gh pr edit: edit a pull request; gh pr list: list pull requests; gh pr merge: merge a pull request
gh pr review: review a pull request; gh pr view: show a pull request; gh release create: publish a release
gh repo clone: clone a repository; gh run: follow a workflow; gh run list: list workflow runs
gh run view: show a workflow run; gh run watch: follow a workflow run; git add: stage files; git apply: apply a patch
git blame: show who changed a file; git branch: list branches; git checkout: switch the branch
git cherry-pick: pick commits; git clone: clone a repository; git commit: commit changes; git config: configure git
git diff: show the changes; git fetch: fetch changes; git grep: search for text; git init: create a repository
git log: show the history; git ls-files: list tracked files; git ls-tree: list tracked files; git merge: merge a branch
git merge-base: find the common commit; git mv: move files; git pull: pull changes; git push: push commits
git rebase: rebase the branch; git reset: reset changes; git restore: restore files; git revert: revert a commit
git rm: remove files; git show: show a commit; git stash: stash changes; git stash pop: restore stashed changes
git status: show the state; git switch: switch the branch; git tag: tag a commit; git worktree add: add a worktree
go build: build the code; go doc: show the documentation; go fmt: format the code; go generate: generate code
go get: add a module; go install: install a program; go mod: handle modules; go mod tidy: tidy the modules
go run: run the code; go test: run the tests; go vet: check the code; kubectl apply: apply manifests
kubectl get: list resources; kubectl logs: show the logs; npm ci: install packages; npm install: install packages
npm publish: publish the package; npm run: run a script; npm test: run the tests; pip install: install packages
pnpm install: install packages; pnpm test: run the tests; poetry add: add a package; poetry install: install packages
uv add: add a package; uv pip: install packages; uv pip install: install packages; uv run: run a command
uv sync: install packages; yarn add: add a package; yarn install: install packages; yarn test: run the tests
"""
_TOOLS = """
black format the code; clippy check the code; ctest run the tests; eslint check the code; flake8 check the code
gofmt format the code; goimports format the code; golangci-lint check the code; isort sort the imports
jest run the tests; mocha run the tests; mvn build the code; nox run the tests; phpunit run the tests
playwright run the browser tests; pre-commit run the commit hooks; prettier format the code; pylint check the code
pyright check types; rspec run the tests; rubocop check the code; rustc compile the code; rustfmt format the code
shellcheck check shell scripts; tox run the tests; tsc check types; unittest run the tests; vitest run the tests
"""
# What a project's own task does, by the words of its name.
_TASKS = """
bench run the benchmarks; benchmark run the benchmarks; build build the code; check check the code; ci run the checks
clean clean up the build; compile compile the code; coverage measure the coverage; deploy deploy the code
dev start the app; doc build the documentation; docs build the documentation; fmt format the code
format format the code; generate generate code; install install the project; lint check the code
migrate migrate the database; release make a release; serve start the app; setup set up the project; start start the app
test run the tests; tests run the tests; typecheck check the types; types check the types
"""
_SAID = re.split(r"[;\n]\s*", _PROGRAMS.strip())
_SAID_OF_TWO = re.split(r"[;\n]\s*", _COMMANDS.strip())
_SAID_OF_TOOLS = re.split(r"[;\n]\s*", _TOOLS.strip())
_SAID_OF_TASKS = re.split(r"[;\n]\s*", _TASKS.strip())


def _entries(said: list[str], end: str) -> dict[str, tuple[str, ...]]:
    return {name: tuple(told.split()) for name, _, told in (entry.partition(end) for entry in said)}


PROGRAMS = _entries(_SAID, " ") | _entries(_SAID_OF_TOOLS, " ") | _entries(_SAID_OF_TWO, ": ")
_OF_TASK = _entries(_SAID_OF_TASKS, " ")


def task_in_words(task: str) -> tuple[str, ...]:
    """What a project's own task does, verb first: ``test:ci`` is *run the ci tests*, ``seed`` *run the seed task*."""
    first, *more = [word for word in re.split(r"[^a-z0-9]+", task.lower()) if word] or ["own"]
    if known := _OF_TASK.get(first):
        *head, last = known
        return (*head, *more, last)
    return ("run", "the", first, *more, "task")
