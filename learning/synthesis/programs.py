"""What the usual programs of a shell do, in a verb and its object."""

from __future__ import annotations

import re

from prowess.learning.text import table

__all__ = ["PROGRAMS", "task_in_words"]

_PROGRAMS = """
ack: search for text; alembic downgrade: migrate the database; alembic revision: write a migration
alembic upgrade: migrate the database; apt: install packages; apt install: install packages
apt-get install: install packages; awk: process text; aws s3 cp: copy files to or from S3; aws s3 ls: list files in S3
aws s3 sync: sync files with S3; aws sso: log in to AWS; base64: encode data; basename: get a file name
bash: run a command; black: format the code; brew install: install packages; bzip2: compress files
cal: show a calendar; cargo add: add a package; cargo bench: run the benchmarks; cargo build: build the code
cargo check: check the code; cargo clippy: check the code; cargo fmt: format the code; cargo release: publish a release
cargo run: run the code; cargo test: run the tests; cat: show a file; cd: change the folder
chgrp: change the group of files; chmod: change the mode of files; chown: change the owner of files
clippy: check the code; cmp: compare files; column: align columns; comm: compare files; cp: copy files
createdb: create a database; crontab: schedule jobs; ctest: run the tests; curl: fetch a URL; cut: cut out columns
date: show the date; dbt build: build the models; dbt run: build the models; dbt test: test the models; dd: copy data
df: show disk space; diff: compare files; dig: look up a host name; dirname: get a folder; docker build: build an image
docker compose down: stop containers; docker compose exec: run a command in a container
docker compose logs: show the logs; docker compose up: start containers; docker exec: run a command in a container
docker logs: show the logs; docker ps: list containers; docker pull: pull an image; docker push: push an image
docker run: run a container; docker tag: tag an image; dotnet build: build the code; dotnet test: run the tests
dropdb: drop a database; du: measure disk usage; echo: print text; egrep: search for text; env: show the environment
eslint: check the code; ffmpeg: convert media; fgrep: search for text; file: identify a file; find: find files
flake8: check the code; free: show memory; gh api: query the GitHub API; gh issue: handle issues
gh issue comment: comment on an issue; gh issue create: open an issue; gh issue list: list issues
gh issue view: show an issue; gh pr: handle pull requests; gh pr checkout: check out a pull request
gh pr checks: show the checks of a pull request; gh pr comment: comment on a pull request
gh pr create: open a pull request; gh pr diff: show a pull request; gh pr edit: edit a pull request
gh pr list: list pull requests; gh pr merge: merge a pull request; gh pr review: review a pull request
gh pr view: show a pull request; gh release create: publish a release; gh repo clone: clone a repository
gh run: follow a workflow; gh run list: list workflow runs; gh run view: show a workflow run
gh run watch: follow a workflow run; git add: stage files; git apply: apply a patch; git blame: show who changed a file
git branch: list branches; git checkout: switch the branch; git cherry-pick: pick commits
git clone: clone a repository; git commit: commit changes; git config: configure git; git diff: show the changes
git fetch: fetch changes; git grep: search for text; git init: create a repository; git log: show the history
git ls-files: list tracked files; git ls-tree: list tracked files; git merge: merge a branch
git merge-base: find the common commit; git mv: move files; git pull: pull changes; git push: push commits
git rebase: rebase the branch; git remote: list remotes; git reset: reset changes; git restore: restore files
git revert: revert a commit; git rm: remove files; git show: show a commit; git stash: stash changes
git stash pop: restore stashed changes; git status: show the state; git switch: switch the branch
git tag: tag a commit; git worktree add: add a worktree; glob: find files; go build: build the code
go doc: show the documentation; go fmt: format the code; go generate: generate code; go get: add a module
go install: install a program; go mod: handle modules; go mod tidy: tidy the modules; go run: run the code
go test: run the tests; go vet: check the code; gofmt: format the code; goimports: format the code
golangci-lint: check the code; grep: search for text; groups: show groups; gunzip: unpack files; gzip: compress files
head: show the first lines; helm rollback: roll back a release; helm upgrade: upgrade a release
history: show the history; host: look up a host name; hostname: show the host name; id: show the user ID
ifconfig: show the network; install: install files; ip: show the network; isort: sort the imports; jest: run the tests
join: join files; journalctl: show the logs; jq: query JSON; kill: stop a process; kubectl apply: apply manifests
kubectl delete: delete resources; kubectl describe: describe resources; kubectl exec: run a command in a container
kubectl get: list resources; kubectl logs: show the logs; kubectl rollout: follow a rollout; less: show a file
ln: link files; locate: find files; ls: list files; lsof: list open files; make: build a target
md5sum: compute checksums; mkdir: create a folder; mktemp: create a temporary file; mocha: run the tests
more: show a file; mount: mount a file system; mv: move files; mvn: build the code; mypy: check types
mysql: query a database; mysqldump: back up a database; nl: number lines; node: run JavaScript; nox: run the tests
npm ci: install packages; npm install: install packages; npm publish: publish the package; npm run: run a script
npm test: run the tests; nslookup: look up a host name; od: dump data; openssl: handle certificates
pandoc: convert documents; paste: join lines; patch: apply a patch; pdftotext: extract text from a PDF
perl: process text; pg_dump: back up a database; pg_restore: restore a database; phpunit: run the tests
ping: reach a host; pip install: install packages; pip uninstall: remove packages; pkill: stop processes
playwright: run the browser tests; pnpm install: install packages; pnpm test: run the tests; poetry add: add a package
poetry install: install packages; pre-commit: run the commit hooks; prettier: format the code
printenv: show the environment; printf: print text; prisma migrate: migrate the database; ps: list processes
psql: query a database; pstree: show the process tree; pwd: show the current folder; pylint: check the code
pyright: check types; pytest: run the tests; python: run Python code; python3: run Python code; readlink: follow a link
realpath: resolve a path; redis-cli: query Redis; rename: rename files; rev: reverse lines; rg: search for text
rm: remove files; rmdir: remove a folder; rspec: run the tests; rsync: copy files; rubocop: check the code
ruff: check the code; ruff check: check the code; ruff format: format the code; rustc: compile the code
rustfmt: format the code; scp: copy files; sed: edit text; seq: print numbers; sh: run a command
sha1sum: compute checksums; sha256sum: compute checksums; shellcheck: check shell scripts; shuf: shuffle lines
sort: sort lines; split: split a file; sqlite3: query a database; ssh: run a remote command
stat: show the state of a file; systemctl: manage services; tac: reverse lines; tail: show the last lines
tar: pack files; tee: save the output; terraform apply: apply the plan; terraform force-unlock: unlock the state
terraform init: set up terraform; terraform plan: plan the changes; tesseract: read text in images
timeout: limit the time; top: list processes; touch: create a file; tox: run the tests; tr: replace characters
tree: show a folder tree; truncate: cut files; tsc: check types; uname: show the system; uniq: drop repeated lines
unittest: run the tests; unzip: unpack files; uptime: show the uptime; useradd: add a user; uv add: add a package
uv pip: install packages; uv pip install: install packages; uv run: run a command; uv sync: install packages
vitest: run the tests; wc: count lines; wget: fetch a URL; which: locate a program; who: list users
whoami: show the user; yarn add: add a package; yarn install: install packages; yarn test: run the tests
yes: print text; zip: pack files
"""
# What a project's own task does, by the words of its name.
_TASKS = """
bench: run the benchmarks; benchmark: run the benchmarks; build: build the code; check: check the code
ci: run the checks; clean: clean up the build; compile: compile the code; coverage: measure the coverage
deploy: deploy the code; dev: start the app; doc: build the documentation; docs: build the documentation
fmt: format the code; format: format the code; generate: generate code; install: install the project
lint: check the code; migrate: migrate the database; release: make a release; serve: start the app
setup: set up the project; start: start the app; test: run the tests; tests: run the tests; typecheck: check the types
types: check the types
"""


def _in_words(written: str) -> dict[str, tuple[str, ...]]:
    return {name: tuple(told.split()) for name, told in table(written).items()}


PROGRAMS = _in_words(_PROGRAMS)
_OF_TASK = _in_words(_TASKS)


def task_in_words(task: str) -> tuple[str, ...]:
    """What a project's own task does, verb first: ``test:ci`` is *run the ci tests*, ``seed`` *run the seed task*."""
    first, *more = [word for word in re.split(r"[^a-z0-9]+", task.lower()) if word] or ["own"]
    if known := _OF_TASK.get(first):
        *head, last = known
        return (*head, *more, last)
    return ("run", "the", first, *more, "task")
