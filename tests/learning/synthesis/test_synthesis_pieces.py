"""What the varying part of a command line is called."""

from __future__ import annotations

import pytest

from prowess.learning.synthesis.pieces import piece_name


@pytest.mark.parametrize(
    ("before", "parts", "name"),
    [
        ("git commit -am ", ["fix it", "add it"], "message"),
        ("uv run alembic revision --autogenerate -m ", ["add a", "add b"], "message"),
        ("uv add --dev ", ["respx", "argon2"], "packages"),  # not "dev", which takes no value
        ("terraform force-unlock -force ", ["3f7c", "9e01"], "lock_id"),
        ("git push --force-with-lease origin ", ["feat", "fix"], "branch"),
        ("git push ", ["origin feat", "origin fix"], "remote_and_branch"),
        ("docker build -t app:1 ", ["api", "web"], "folder"),
        ("docker build -t ", ["app:1", "app:2"], "tag"),
        ("kubectl -n shop set image ", ["deployment/api", "deployment/web"], "resource"),
        ("kubectl -n shop set image deployment/api ", ["api=r/api:1", "web=r/web:2"], "image"),
        ("pg_dump -Fc -h db -U backup -d ", ["shop", "crm"], "database"),
        ("aws s3 cp ", ["/var/a.dump", "/var/b.dump"], "source"),
        ("aws s3 cp /var/a.dump ", ["s3://a/", "s3://b/"], "destination"),
        ("curl -sSL ", ["https://a.org/x", "https://b.org/y"], "url"),
        ("npm install ", ["zod", "vite --legacy-peer-deps"], "npm_install_args"),
        ("cargo test ", ["lexer", "parser"], "test"),
        ("cargo test ", ["lexer one", "parser two"], "cargo_test_args"),  # several words are not one test
        ("sed -i ", ["s/3.11/3.12/", "s/20/22/"], "script"),
        ("grep -rn ", ["3.11", "20"], "text"),
        ("git log --oneline ", ["main", "feat"], "git_log_args"),
        ("docker compose up -d --build ", ["auth", "mail"], "services"),
        ("gh pr create --title ", ["A b", "C d"], "title"),
        ("helm upgrade --install api ", ["chart-a", "chart-b"], "chart"),
    ],
)
def test_a_piece_is_called_by_its_option_or_its_place(before: str, parts: list[str], name: str) -> None:
    assert piece_name(before, parts) == name
