"""What the usual programs of a shell do, in a verb and its object."""

from __future__ import annotations

import re
from collections.abc import Collection

from prowess.learning.text import table

__all__ = ["PROGRAMS", "changed_by_options", "task_in_words"]

_PROGRAMS = """
ack: search for text; alembic downgrade: migrate the database; alembic revision: write a migration
alembic upgrade: migrate the database; ansible-playbook: apply a playbook; apt install: install packages
apt-get install: install packages; apt-get update: update the package lists; apt: install packages; awk: process text
aws s3 cp: copy S3 files; aws s3 ls: list files in S3; aws s3 sync: sync S3 files; aws sso: log in to AWS
base64: encode data; basename: get a file name; bash: run a command; black: format the code
brew install: install packages; brew upgrade: update packages; bun add: add a package; bun install: install packages
bun test: run the tests; bundle install: install packages; bzip2: compress files; cal: show a calendar
cargo add: add a package; cargo bench: run the benchmarks; cargo build: build the code; cargo check: check the code
cargo clippy: check the code; cargo fmt: format the code; cargo install: install a program
cargo publish: publish the package; cargo release: publish a release; cargo run: run the code
cargo test: run the tests; cargo update: update packages; cat: show a file; cd: change the folder
chgrp: change the group of files; chmod: change the mode of files; chown: change the owner of files
clippy: check the code; cmp: compare files; column: align columns; comm: compare files
composer install: install packages; cp: copy files; createdb: create a database; crontab: schedule jobs
ctest: run the tests; curl: fetch a URL; cut: cut out columns; date: show the date; dbt build: build the models
dbt run: build the models; dbt test: test the models; dd: copy data; deno fmt: format the code
deno lint: check the code; deno test: run the tests; df: show disk space; diff: compare files
dig: look up a host name; dirname: get a folder; docker build: build an image; docker compose build: build images
docker compose down: stop containers; docker compose exec: run a command in a container
docker compose logs: show the logs; docker compose ps: list containers; docker compose pull: pull images
docker compose restart: restart containers; docker compose run: run a container; docker compose up: start containers
docker exec: run a command in a container; docker inspect: describe a container; docker login: log in to the registry
docker logs: show the logs; docker ps: list containers; docker pull: pull an image; docker push: push an image
docker restart: restart containers; docker rm: remove containers; docker rmi: remove images
docker run: run a container; docker stop: stop containers; docker tag: tag an image; dotnet build: build the code
dotnet publish: publish the app; dotnet restore: install packages; dotnet run: run the code
dotnet test: run the tests; dropdb: drop a database; du: measure disk usage; echo: print text; egrep: search for text
env: show the environment; eslint: check the code; ffmpeg: convert media; fgrep: search for text
file: identify a file; find: find files; flake8: check the code; flutter build: build the app
flutter test: run the tests; flyctl deploy: deploy the app; free: show memory; gh api: query the GitHub API
gh issue close: close an issue; gh issue comment: comment on an issue; gh issue create: open an issue
gh issue edit: edit an issue; gh issue list: list issues; gh issue view: show an issue; gh issue: handle issues
gh pr checkout: check out a pull request; gh pr checks: show the checks of a pull request
gh pr close: close a pull request; gh pr comment: comment on a pull request; gh pr create: open a pull request
gh pr diff: show a pull request; gh pr edit: edit a pull request; gh pr list: list pull requests
gh pr merge: merge a pull request; gh pr ready: mark a pull request as ready; gh pr review: review a pull request
gh pr view: show a pull request; gh pr: handle pull requests; gh release create: publish a release
gh repo clone: clone a repository; gh run list: list workflow runs; gh run rerun: rerun a workflow
gh run view: show a workflow run; gh run watch: follow a workflow run; gh run: follow a workflow
gh workflow run: start a workflow; git add: stage files; git apply: apply a patch; git bisect: bisect the history
git blame: show who changed a file; git branch: list branches; git checkout: switch the branch
git cherry-pick: pick commits; git clean: remove untracked files; git clone: clone a repository
git commit: commit changes; git config: configure git; git diff: show the changes; git fetch: fetch changes
git grep: search for text; git init: create a repository; git log: show the history; git ls-files: list tracked files
git ls-tree: list tracked files; git merge-base: find the common commit; git merge: merge a branch; git mv: move files
git pull: pull changes; git push: push commits; git rebase: rebase the branch; git remote: list remotes
git reset: reset changes; git restore: restore files; git revert: revert a commit; git rm: remove files
git show: show a commit; git stash pop: restore stashed changes; git stash push: stash changes
git stash: stash changes; git status: show the state; git submodule update: update the submodules
git switch: switch the branch; git tag: tag a commit; git worktree add: add a worktree
git worktree remove: remove a worktree; glob: find files; go build: build the code; go doc: show the documentation
go fmt: format the code; go generate: generate code; go get: add a module; go install: install a program
go mod tidy: tidy the modules; go mod: handle modules; go run: run the code; go test: run the tests
go vet: check the code; gofmt: format the code; goimports: format the code; golangci-lint: check the code
gradle build: build the code; gradle test: run the tests; gradlew build: build the code; gradlew test: run the tests
grep: search for text; groups: show groups; gunzip: unpack files; gzip: compress files; head: show the first lines
helm install: install a release; helm rollback: roll back a release; helm uninstall: uninstall a release
helm upgrade: upgrade a release; history: show the history; host: look up a host name; hostname: show the host name
id: show the user ID; ifconfig: show the network; install: install files; ip: show the network
isort: sort the imports; jest: run the tests; join: join files; journalctl: show the logs; jq: query JSON
kill: stop a process; kubectl apply: apply manifests; kubectl create: create resources
kubectl delete: delete resources; kubectl describe: describe resources; kubectl exec: run a command in a container
kubectl get: list resources; kubectl logs: show the logs; kubectl rollout restart: restart a deployment
kubectl rollout status: follow a rollout; kubectl rollout undo: roll back a rollout; kubectl rollout: follow a rollout
kubectl scale: scale a deployment; kubectl set env: change the environment; kubectl set image: change the image
less: show a file; ln: link files; locate: find files; ls: list files; lsof: list open files; make: build a target
md5sum: compute checksums; mkdir: create a folder; mktemp: create a temporary file; mocha: run the tests
mongosh: query a database; more: show a file; mount: mount a file system; mv: move files; mvn: build the code
mypy: check types; mysql: query a database; mysqldump: back up a database; nl: number lines; node: run JavaScript
nox: run the tests; npm audit: audit the packages; npm ci: install packages; npm install: install packages
npm outdated: list outdated packages; npm publish: publish the package; npm run: run a script
npm start: start the app; npm test: run the tests; npm uninstall: remove packages; npm update: update packages
npm version: set the version; npm view: look up a package; nslookup: look up a host name; od: dump data
openssl: handle certificates; pandoc: convert documents; paste: join lines; patch: apply a patch
pdftotext: extract text from a PDF; perl: process text; pg_dump: back up a database; pg_restore: restore a database
phpunit: run the tests; ping: reach a host; pip install: install packages; pip uninstall: remove packages
pkill: stop processes; playwright: run the browser tests; pnpm add: add a package; pnpm build: build the code
pnpm install: install packages; pnpm lint: check the code; pnpm test: run the tests; pnpm update: update packages
poetry add: add a package; poetry build: build the package; poetry install: install packages
poetry lock: lock the packages; poetry publish: publish the package; poetry remove: remove a package
poetry update: update packages; pre-commit: run the commit hooks; prettier: format the code
printenv: show the environment; printf: print text; prisma migrate: migrate the database; ps: list processes
psql: query a database; pstree: show the process tree; pwd: show the current folder; pylint: check the code
pyright: check types; pytest: run the tests; python3: run Python code; python: run Python code
readlink: follow a link; realpath: resolve a path; redis-cli: query Redis; rename: rename files; rev: reverse lines
rg: search for text; rm: remove files; rmdir: remove a folder; rspec: run the tests; rsync: copy files
rubocop: check the code; ruff check: check the code; ruff format: format the code; ruff: check the code
rustc: compile the code; rustfmt: format the code; scp: copy files; sed: edit text; seq: print numbers
sh: run a command; sha1sum: compute checksums; sha256sum: compute checksums; shellcheck: check shell scripts
shuf: shuffle lines; sort: sort lines; split: split a file; sqlite3: query a database; ssh: run a remote command
stat: show the state of a file; swift build: build the code; swift test: run the tests; systemctl: manage services
tac: reverse lines; tail: show the last lines; tar: pack files; tee: save the output; terraform apply: apply the plan
terraform destroy: destroy the resources; terraform fmt: format the code; terraform force-unlock: unlock the state
terraform import: import a resource; terraform init: set up terraform; terraform output: show the outputs
terraform plan: plan the changes; terraform state: change the state; terraform test: run the tests
terraform validate: check the configuration; terraform workspace select: switch the workspace
tesseract: read text in images; timeout: limit the time; top: list processes; touch: create a file; tox: run the tests
tr: replace characters; tree: show a folder tree; truncate: cut files; tsc: check types; twine: upload the package
uname: show the system; uniq: drop repeated lines; unittest: run the tests; unzip: unpack files
uptime: show the uptime; useradd: add a user; uv add: add a package; uv build: build the package
uv lock: lock the packages; uv pip install: install packages; uv pip: install packages
uv publish: publish the package; uv remove: remove a package; uv run: run a command; uv sync: install packages
uv venv: create a virtual environment; vercel: deploy the app; vitest: run the tests; wc: count lines
wget: fetch a URL; which: locate a program; who: list users; whoami: show the user; wrangler deploy: deploy the app
yarn add: add a package; yarn build: build the code; yarn install: install packages; yarn lint: check the code
yarn remove: remove a package; yarn test: run the tests; yes: print text; zip: pack files
"""
# The same with an option that makes it something else.
_WITH_OPTIONS = """
black --check: check the format; cargo clippy --fix: fix the code; cargo fmt --check: check the format
crontab -l: list scheduled jobs; docker compose down --volumes: remove containers and their volumes
docker compose down -v: remove containers and their volumes; docker compose up --build: build and start containers
eslint --fix: fix the code; git branch --delete: delete a branch; git branch --move: rename a branch
git branch -D: delete a branch; git branch -M: rename a branch; git branch -d: delete a branch
git branch -m: rename a branch; git checkout --: discard changes; git checkout -B: create a branch
git checkout -b: create a branch; git clean --dry-run: list untracked files; git clean -n: list untracked files
git commit --amend: amend the commit; git push --delete: delete a remote branch; git push --force: force-push commits
git push --force-with-lease: force-push commits; git push --tags: push the tags; git push -d: delete a remote branch
git push -f: force-push commits; git rebase --abort: abort the rebase; git rebase --continue: continue the rebase
git merge --abort: abort the merge; git reset --hard: discard changes; git switch -C: create a branch
git switch -c: create a branch; git tag --delete: delete a tag; git tag --list: list tags; git tag -d: delete a tag
git tag -l: list tags; gofmt -l: check the format; gzip --decompress: unpack files; gzip -d: unpack files
isort --check: check the imports; isort --check-only: check the imports; pg_restore --list: list a backup
pg_restore -l: list a backup; prettier --check: check the format; ruff check --fix: fix the code
ruff format --check: check the format; rustfmt --check: check the format; sed -n: show lines
tar --extract: unpack files; tar --list: list an archive; tar -t: list an archive; tar -x: unpack files
terraform apply -destroy: destroy the resources; terraform fmt -check: check the format
terraform plan -destroy: plan to destroy the resources
"""
# What a database is told in SQL.
_STATEMENTS = """
alter table: alter a table; analyze: update the statistics; copy: copy rows; create database: create a database
create extension: add an extension; create function: create a function; create index: create an index
create role: create a role; create schema: create a schema; create table: create a table; create user: create a user
create view: create a view; delete: delete rows; describe: describe a database; drop database: drop a database
drop index: drop an index; drop table: drop a table; drop view: drop a view; explain: explain a query
grant: grant rights; insert: insert rows; refresh: refresh a view; reindex: rebuild an index; revoke: revoke rights
select: query a database; truncate: empty a table; update: update rows; vacuum: vacuum a database
with: query a database
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
build doc: build the documentation; build docs: build the documentation; fmt check: check the format
format check: check the format; lint fix: fix the code
"""


def _in_words(written: str) -> dict[str, tuple[str, ...]]:
    return {name: tuple(told.split()) for name, told in table(written).items()}


PROGRAMS = _in_words(_PROGRAMS)
PROGRAMS |= {
    f"{database} {statement}": words
    for database in ("duckdb", "mysql", "psql", "sqlite3")
    for statement, words in _in_words(_STATEMENTS).items()
}
_CHANGED = _in_words(_WITH_OPTIONS)
_CLUSTER = re.compile(r"-[A-Za-z]{2,5}")
_OF_TASK = _in_words(_TASKS)


def changed_by_options(name: str, options: Collection[str]) -> tuple[str, ...] | None:
    """What a program does with one of these options, where that is something else; None where it is not."""
    each = [word for option in options for word in (option, *_letters(option))]
    return next((told for option in each if (told := _CHANGED.get(f"{name} {option}"))), None)


def _letters(option: str) -> list[str]:
    """The options of one letter that are written as one: ``-x`` and ``-z`` of ``-xz``."""
    return [f"-{letter}" for letter in option[1:]] if _CLUSTER.fullmatch(option) else []


def task_in_words(task: str) -> tuple[str, ...]:
    """What a project's own task does, verb first: ``test:ci`` is *run the ci tests*, ``seed`` *run the seed task*.

    Some second words make it something else (``lint:fix``), others say nothing (``lint:all``, ``docs:build``).
    """
    first, *more = [word for word in re.split(r"[^a-z0-9]+", task.lower()) if word] or ["own"]
    if more and (known := _OF_TASK.get(f"{first} {more[0]}")):
        more = more[1:]
    else:
        known = _OF_TASK.get(first)
    if known:
        *head, last = known
        return (*head, *(word for word in more if word not in ("all", "watch", head[0])), last)
    return ("run", "the", first, *more, "task")
