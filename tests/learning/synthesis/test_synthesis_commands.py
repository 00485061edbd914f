"""How command lines are read: by the programs they run, whatever places them or trims their output."""

from __future__ import annotations

import pytest

from prowess.learning.synthesis.calls import is_lookup, key_of
from prowess.learning.synthesis.commands import line_of, plain_line, programs_in, runs_task, unquoted


@pytest.mark.parametrize(
    ("line", "programs"),
    [
        ("git -C /srv/app push", "git push"),
        ("git --no-pager -c color.ui=never log -3", "git log"),
        ("npm --prefix web run test:ci", "npm run test:ci"),
        ("npm run", "npm run"),
        ("gh pr view 12 --json title", "gh pr view"),
        ("gh api repos/x/y", "gh api"),
        ("docker compose up -d", "docker compose up"),
        ("cargo +nightly test", "cargo test"),
        ("uv run --with rich pytest -q", "pytest"),
        ("poetry run python -m pytest", "pytest"),
        ("npx --yes eslint .", "eslint"),
        ("python -m http.server", "http.server"),
        ("python3 -m", "python3"),
        ("uv run", "uv run"),
        ("make -j4 all", "make all"),
        ("make", "make"),
        ("mise run fmt && mise run lint", "mise run fmt|mise run lint"),
        ("cd /srv/app && go test ./... 2>&1 | tail -20", "go test"),
        ("find . -name x | head -3", "find|head"),
        ("python - <<'EOF' | wc -l\nimport os\nprint(os | x)\nEOF\ngit add x", "python|wc|git add"),
        ("cat > a.txt <<END\nrm -rf | x\nEND", "cat"),
        ("cat <<-EOF\nnever ended", "cat|never"),
        ("export CI=1 && cd web && npm test", "npm test"),
        ("source .venv/bin/activate && pytest -q", "pytest"),
        ("set -euo pipefail\ncargo build", "cargo build"),
        ("set -o emacs; bind -P | grep x", "set|bind|grep"),
        ("export CI=1", "export"),
        ("cd web && source env", "source"),
        ("sudo -n timeout -k 5 60s env CI=1 cargo test", "cargo test"),
        ("docker exec -it db psql", "docker exec"),
        ("docker compose exec airflow airflow dags list", "docker compose exec"),
        ("kubectl exec deploy/api -- env", "kubectl exec"),
        ("command -v rg", "command"),
        ("env | sort", "sort"),
        ("helm upgrade api charts/api \\\n  -n api \\\n  --wait && \\\n git push", "helm upgrade|git push"),
        ("python - <<'EOF'\nx = 1 + \\\n  2\nEOF", "python"),
        ("uv run alembic revision -m x", "alembic revision"),
        ("dbt build --select +orders", "dbt build"),
    ],
)
def test_a_line_is_known_by_its_programs_and_their_sub_commands(line: str, programs: str) -> None:
    assert key_of("Bash", {"command": line}) == f"Bash:{programs}"


@pytest.mark.parametrize(
    ("line", "plain"),
    [
        ("cd /srv/app && git push", "git push"),
        ("cd '/srv/my app'; git push", "git push"),
        ("git -C /a add x && git -C /a commit -m y", "git add x && git commit -m y"),
        ("mise run lint 2>&1 && mise run test 2>&1", "mise run lint && mise run test"),
        ("mise run test:ci 2>&1 | tail -40", "mise run test:ci"),
        ("go vet ./... 2>/dev/null || true", "go vet ./..."),
        ("make all && echo done", "make all"),
        ('pytest -q | head -n 50; echo "exit: 1"', "pytest -q"),
        ("cargo test | grep FAILED", "cargo test | grep FAILED"),  # what is looked for is part of it
        ("git commit -m 'say 2>&1 | tail'", "git commit -m 'say 2>&1 | tail'"),
        ('git commit -m "a 2>&1 b" 2>&1', 'git commit -m "a 2>&1 b"'),
        ("git apply <<'X' 2>&1\nbody\nX", "git apply <<'X' 2>&1\nbody\nX"),
        ("cd /srv && ls | head -3", "cd /srv && ls | head -3"),  # no project's tool: that is what was asked for
        ("find . 2>&1 | tail -1", "find . 2>&1 | tail -1"),
        ("cd /srv/app", "cd /srv/app"),
        ("git log {count} 2>&1 | tail {lines}", "git log {count}"),
        ("cd ~/app && make all", "make all"),
        ("cd $HOME/app; make all", "make all"),
        ("cd C:/app && make all", "make all"),
        ("cd web && npm test 2>&1 | tail -3", "cd web && npm test"),  # in another folder it is another move
        ("cd .. && make all", "cd .. && make all"),
        ("cd /srv/app && cd web && npm test", "cd web && npm test"),
        ("git -C web push", "git -C web push"),
        ("npm test > log 2>&1", "npm test > log 2>&1"),  # what the file has in it
        ("cd /srv && make all &> log; tail -3 log", "make all &> log; tail -3 log"),
        ("git commit -m 'a > b' 2>&1", "git commit -m 'a > b'"),
        ("make all &> log 2>&1", "make all &> log 2>&1"),
        ("git log --oneline | tail -n +5", "git log --oneline | tail -n +5"),  # all but the first, not the last few
        ("git log | tail +5", "git log | tail +5"),
        ("git log | tail --lines=+5", "git log | tail --lines=+5"),
        ("helm upgrade api \\\n  -n api \\\n  --wait", "helm upgrade api -n api --wait"),
        ("", ""),
    ],
)
def test_what_places_a_projects_tool_or_trims_its_output_is_left_out(line: str, plain: str) -> None:
    assert plain_line(line) == plain
    assert plain_line(plain) == plain


def test_a_command_that_is_told_as_a_list_is_a_line() -> None:
    assert line_of(["bash", "-lc", "pytest -q"]) == "pytest -q"
    assert line_of(["git", "push"]) == "git push"
    assert line_of(["git", 1]) == line_of(7) == line_of([]) == ""
    assert key_of("shell", {"command": ["bash", "-lc", "git -C /a push"]}) == "shell:git push"


def test_a_projects_own_task_is_told_from_a_programs_sub_command() -> None:
    assert runs_task("mise run test:ci") == "test:ci"
    assert runs_task("make docs") == "docs"
    assert runs_task("npm run") == runs_task("git push") == runs_task("npm install") == ""


def test_what_only_shows_is_a_lookup_and_what_changes_is_none() -> None:
    assert is_lookup("Bash:git status|git log|head")
    assert is_lookup("Bash:gh pr view")
    assert not is_lookup("Bash:git log|git push")
    assert not is_lookup("Bash:gh api")


def test_a_long_line_costs_no_more_than_its_length() -> None:
    hostile = "git log " + "2>&1 " * 390 + "|" * 40
    assert plain_line(hostile).startswith("git log")
    assert plain_line("git push " + "x" * 3_000).endswith("x")
    assert programs_in("make <<" + "a" * 1_000 + "\n" + "-\n" * 50_000) == ("make", "-", "-", "-")


@pytest.mark.parametrize(
    ("line", "bare"),
    [
        ('git commit -m "it\'s; done" && make', "git commit -m '' && make"),
        (r'echo "a \" b" c', "echo '' c"),
        (r"echo \"a; b' c' d", r"echo \"a; b'' d"),  # nothing ends the first, nor the escaped ones behind it
        ("echo it's", "echo it's"),
    ],
)
def test_quoted_texts_are_told_from_the_rest_of_a_line(line: str, bare: str) -> None:
    assert unquoted(line) == bare


def test_escaped_quotes_that_nothing_ends_cost_no_more_than_their_length() -> None:
    hostile = "cat <<EOF " + r"\"" * 200_000
    assert unquoted(hostile) == hostile


def test_programs_that_start_each_other_without_end_are_no_error() -> None:
    assert programs_in("npx " * 5_000 + "eslint") == ("npx",)
    assert programs_in("uv run " * 5_000 + "eslint") == ("uv run",)


def test_what_an_agents_own_command_hands_over_names_no_programs() -> None:
    assert key_of("edit", {"command": "edit 1:1\nfrom shop import cart\nend_of_edit"}) == "edit:edit"
    assert key_of("bash", {"command": "cd /srv\nls"}) == "bash:ls"
    assert key_of("deploy", {"command": "git pull\nnpm test"}) == "deploy:git pull|npm test"


def test_a_sub_command_may_end_with_a_digit() -> None:
    assert programs_in("aws s3 cp a s3://b") == ("aws s3 cp",)
    assert programs_in("aws ec2 describe-instances") == ("aws ec2",)
    assert programs_in("git 2fa") == ("git",)


@pytest.mark.parametrize(
    ("line", "programs"),
    [
        ('psql "$URL" -c "CREATE UNIQUE INDEX CONCURRENTLY i ON t (c)"', ("psql create index",)),
        ("sqlite3 app.db 'insert into t values (1)' && echo done", ("sqlite3 insert", "echo")),
        ('psql -c "\\d orders"', ("psql describe",)),
        ("mysql -e 'drop table if exists t'", ("mysql drop table",)),
        ("psql -f seed.sql", ("psql",)),
        ("grep -rn 'select 1' psql.md", ("grep",)),  # a text about it
    ],
)
def test_a_database_is_known_with_the_statement_that_it_is_told(line: str, programs: tuple[str, ...]) -> None:
    assert programs_in(line) == programs
