"""What the usual programs of a shell do, in a verb and its object."""

from __future__ import annotations

import re

__all__ = ["PROGRAMS"]

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
cargo build: build the code; cargo run: run the code; cargo test: run the tests; docker build: build an image
docker exec: run a command in a container; docker logs: show the logs; docker ps: list containers
docker run: run a container; gh api: query the GitHub API; gh issue: handle issues; gh pr: handle pull requests
gh run: follow a workflow; git add: stage files; git branch: list branches; git checkout: switch the branch
git clone: clone a repository; git commit: commit changes; git diff: show the changes; git fetch: fetch changes
git log: show the history; git merge: merge a branch; git pull: pull changes; git push: push commits
git rebase: rebase the branch; git reset: reset changes; git restore: restore files; git show: show a commit
git stash: stash changes; git status: show the state; git switch: switch the branch; git tag: tag a commit
go build: build the code; go mod: handle modules; go run: run the code; go test: run the tests; go vet: check the code
kubectl apply: apply manifests; kubectl get: list resources; kubectl logs: show the logs; npm ci: install packages
npm install: install packages; npm run: run a script; npm test: run the tests; pip install: install packages
pnpm install: install packages; poetry install: install packages; uv pip: install packages; uv run: run a command
uv sync: install packages; yarn install: install packages
"""
_SAID = re.split(r"[;\n]\s*", _PROGRAMS.strip())
_SAID_OF_TWO = re.split(r"[;\n]\s*", _COMMANDS.strip())
PROGRAMS = {name: tuple(said.split()) for name, _, said in (line.partition(" ") for line in _SAID)} | {
    name: tuple(said.split()) for name, _, said in (line.partition(": ") for line in _SAID_OF_TWO)
}
