"""Output that is a secret by what was run; what of it is written elsewhere, handed on or an error is none."""

from __future__ import annotations

from time import perf_counter

import pytest

from prowess.learning.redaction.printed import PRINTED, hidden, prints_secret

SECRET = "q7Xw2LpVr9"


@pytest.mark.parametrize(
    "command",
    [
        "pass show prod/db",
        "pass prod/db",
        'op read "op://vault/item/password"',
        "op item get db --fields password --reveal",
        "bw get password github",
        "lpass show --password db",
        "vault kv get -field=password secret/db",
        "secret-tool lookup service shop",
        "security find-generic-password -s db -w",
        "keyring get shop anna",
        "doppler secrets get DB_PASSWORD --plain",
        "sops -d secrets.enc.yaml",
        "ansible-vault view group_vars/all/vault.yml",
        "gpg --decrypt key.gpg",
        "gh auth token",
        "gh auth status --show-token",
        "aws ecr get-login-password --region eu-west-1",
        "aws --profile prod secretsmanager get-secret-value --secret-id a --query SecretString --output text",
        "aws ssm get-parameter --name /shop/db --with-decryption",
        "aws secretsmanager get-secret-value --secret-id a | jq -r '.SecretString | fromjson | .password'",
        "gcloud auth print-access-token",
        "gcloud secrets versions access latest --secret=db",
        "az account get-access-token --query accessToken -o tsv",
        "heroku auth:token",
        "kubectl -n prod get secret db -o jsonpath='{.data.password}' | base64 -d; echo",
        "kubectl create token default",
        "npm token create",
        "printf 'protocol=https\\nhost=x\\n' | cat; git credential fill",
        "openssl rand -hex 32",
        "head -c 32 /dev/urandom | base64",
        "cat /run/secrets/db",
        "cd infra && op read op://x/y/z",
        "AWS_PROFILE=prod aws ecr get-login-password",
        "sudo /usr/bin/pass show x | head -1",
        "if true; then gh auth token; fi",
        'echo "$(gh auth token)"',
        "echo $GITHUB_TOKEN",
        'echo "the token: ${API_TOKEN}"',
        "printenv DB_PASSWORD",
        "cat ~/.vault-token",
        "cat db_password.txt",
    ],
)
def test_what_is_printed_is_a_secret(command: str) -> None:
    assert hidden({"command": command}, f"{SECRET}\n") == PRINTED
    assert hidden({"cmd": ["bash", "-lc", command]}, SECRET) == PRINTED


def test_a_command_may_be_told_as_its_words() -> None:
    assert hidden({"command": ["gh", "auth", "token"]}, SECRET) == PRINTED
    assert hidden({"command": ["gh", "-c", "token"]}, SECRET) == SECRET
    assert hidden({"command": ["token"]}, SECRET) == SECRET


def test_a_file_is_known_by_what_it_holds() -> None:
    assert not prints_secret("cat ~/.vault-token")
    assert prints_secret("cat ~/.vault-token", SECRET)
    assert prints_secret("gh auth token")


@pytest.mark.parametrize(
    "command",
    [
        "export GH_TOKEN=$(gh auth token)",
        "TOKEN=$(gh auth token) curl https://example.org",
        "gh auth token > token.txt",
        "openssl rand -hex 32 >> .env",
        "aws ecr get-login-password | docker login --username AWS --password-stdin 1.dkr.ecr.eu-west-1.amazonaws.com",
        "gh auth token | wc -c",
        "pass ls",
        "pass git push",
        "pass insert prod/db",
        "gh auth status",
        "op item list",
        "vault status",
        "kubectl get secrets",
        "kubectl get pods -o jsonpath='{.items[*].metadata.name}'",
        "aws ssm get-parameter --name /shop/color",
        "openssl x509 -in cert.pem -noout -dates",
        "gpg --list-keys",
        'echo "no token: pass show x"',
        'git commit -m "use gh auth token; then op read x"',
        "grep -rn 'gh auth token' docs",
        "python -c \"print('x'); print('pass show')\"",
        'echo "set: ${API_TOKEN:+yes}"',
        "echo ${#API_TOKEN}",
        "echo $PATH $HOME $TOKENIZERS_PARALLELISM",
        "printenv PATH",
        "cat > run.sh <<'EOF'\necho $API_TOKEN\ngh auth token\nEOF\nsh run.sh",
        "cat tests/password_test.py",
        "cat passwords.md",
        "head -5 access_token.go",
        "docker compose up; docker ps",
    ],
)
def test_what_is_printed_is_none(command: str) -> None:
    assert hidden({"command": command}, f"{SECRET}\n") == f"{SECRET}\n"


@pytest.mark.parametrize(
    ("name", "value"), [("MAX_TOKENS", "4096"), ("API_TOKEN", ""), ("DB_PASSWORD", "${DB_PASSWORD}"), ("TOKEN", "none")]
)
def test_a_variable_that_holds_no_secret_is_shown(name: str, value: str) -> None:
    assert hidden({"command": f"echo ${name}"}, f"{value}\n") == f"{value}\n"


@pytest.mark.parametrize(
    ("path", "said", "is_secret"),
    [
        ("/srv/shop/.vault-token", SECRET, True),
        ("C:\\shop\\db_password.txt", f"     1\u2192{SECRET}", True),
        ("/srv/shop/token", f"     1\t{SECRET}\n", True),
        ("/srv/shop/token.py", SECRET, False),
        ("/srv/shop/db_password.txt", "ask Anna for the password", False),
        ("/srv/shop/db_password.txt", f"{SECRET}\nis old\nsee the wiki", False),
        ("/srv/shop/README", SECRET, False),
        ("/srv/shop/db_password.txt", " \n", False),
    ],
)
def test_a_file_with_a_secrets_name_holds_one_where_it_holds_nothing_else(
    path: str, said: str, *, is_secret: bool
) -> None:
    assert hidden({"file_path": path}, said) == (PRINTED if is_secret else said)


@pytest.mark.parametrize("args", [None, [], "gh auth token", {"command": 7}, {"command": None}, {"path": ["token"]}])
def test_what_is_no_command_hides_nothing(args: object) -> None:
    assert hidden(args, SECRET) == SECRET


@pytest.mark.parametrize(
    "evil",
    [
        "pass " * 900,
        "op --a b " * 500,
        "echo " + "$(" * 2_000,
        "'" * 4_000,
        '"' + "\\a" * 2_000,
        "a=b " * 1_000,
        "kubectl " + "-n x " * 800,
        "vault " + "-a=b " * 600 + "kv",
        "op read x " + "|cat" * 1_000,
        "cat <<A\n" * 500,
        "heroku config:get " + "x " * 500_000,
    ],
)
def test_no_command_takes_long(evil: str) -> None:
    prints_secret("pass show x")  # the rules are made
    begun = perf_counter()
    prints_secret(evil, SECRET)
    assert perf_counter() - begun < 0.5
