"""The same value is a secret or none, by what stands around it; and in one place some values are and others are not."""

from __future__ import annotations

import random
import re

import pytest

from prowess.learning.redaction.masking import mask

RNG = random.Random(3)
SMALL = "".join(RNG.choices("abcdefghjkmnpqrstuvwxyz23456789", k=40))
TOKEN = "".join(RNG.choices("abcdefghjkmnpqrstuvwxyzABCDEFGHJKMNPQRSTUVWXYZ23456789", k=40))
STRONG = TOKEN[:16]
PASSWORD = "correct-" + "horse7"
PLAIN = "home-page-2"
UUID = "3f2b8c1e-9d4a-4f6b-8a7c-1e2d3c4b5a69"


@pytest.mark.parametrize(
    ("around", "secret", "other"),
    [
        ("session_key = {}", TOKEN[:24], PLAIN),
        ('api_key = "{}"', PLAIN, "home page"),
        ("DB_PASS={}", PASSWORD, "$DB_PASS"),
        ("pass: '{}'", PLAIN, "{secret}"),
        ("smtp_pass {}\nport 25", PASSWORD, "was wrong"),
        ("auth_token {}\nport 25", TOKEN, PLAIN),
        ("secret('{}')", TOKEN, PLAIN),
        ("builder.secret('{}')", PLAIN, "name"),
        ("<adminPassword>{}</adminPassword>", PASSWORD, "required"),
        ("<adminToken>{}</adminToken>", TOKEN, PLAIN),
        ("PASSWORD '{}'", PLAIN, "field"),
        ("TOKEN '{}'", STRONG, PLAIN),
        ("| token | {} |", TOKEN, PLAIN),
        ("use pat-{} here", UUID, "argument-2"),
        ("use key_{} here", SMALL[:32], SMALL[:31]),
        ("use xyp_{} here", SMALL[:36], SMALL[:35]),
        ("use xyp_{} here", TOKEN, TOKEN[:10]),
        ("GET /?session={} HTTP/1.1", TOKEN, UUID),
        ("GET /?PHPSESSID={} HTTP/1.1", UUID, "12"),
        ("git clone https://bob:{}@git.test/a.git", "horse7", "a/b"),
    ],
)
def test_in_one_place_what_looks_like_a_secret_is_masked_and_what_does_not_stays(
    around: str, secret: str, other: str
) -> None:
    before, after = map(re.escape, around.split("{}"))
    assert re.fullmatch(rf"{before}\[masked:[a-z-]+\]{after}", mask(around.format(secret)))
    assert mask(around.format(other)) == around.format(other)


@pytest.mark.parametrize(
    ("around", "value"),
    [
        ("unexpected password '{}'", PLAIN),
        ("invalid token '{}'", STRONG),
        ("they pass '{}' on", PLAIN),
        ("pass = {}", PLAIN),
        ("use api-{} here", UUID),
        ("compass = {}", PLAIN),
        ("a line about the token {} and more", PLAIN),
    ],
)
def test_where_no_secret_is_told_a_value_stays(around: str, value: str) -> None:
    assert mask(around.format(value)) == around.format(value)


@pytest.mark.parametrize(
    "around",
    [
        '"value": "{}", "name": "DB_PASSWORD"',
        '{{\\"value\\": \\"{}\\", \\"name\\": \\"DB_PASSWORD\\"}}',
        "- value: {}\n  name: DB_PASSWORD\n",
        '<add value="{}" key="DbPassword" />',
        '"dbPassword": {{"type": "String", "value": "{}"}}',
        'output "db_password" {{\n  value = "{}"\n}}',
        'passwords = ["{}", "x"]',
        'password             = "{}"',
        "process.env.DB_PASSWORD || '{}'",
        "password: <%= ENV['X'] || '{}' %>",
        "password=SecretStr('{}')",
        '["password"]=>\n  string(15) "{}"',
        "default\tlogin\tbob\tpassword\t{}",
        "*:*:*:bob:{}",
        "BASIC_AUTH=bob:{}",
        "AZURE_PAT={}",
        "DB_PSWD={}",
        "user=bob&pass={}",
        "HTTPBasicAuth('bob', '{}')",
        "new PDO('mysql:host=h', 'bob', '{}')",
        "bcrypt.hash('{}', 10)",
        "root:{}@tcp(127.0.0.1:3306)/db",
        "[sudo] password for bob: {}",
        "Enter passphrase for key '/root/.ssh/id': {}",
        'expect "password:"\nsend "{}\\r"',
        "**Password:** {}",
        "| password | {} |",
        "log in with password {} please",
        "mot de passe : {}",
        "contraseña: {}",
    ],
)
def test_a_password_is_told_by_what_stands_around_it(around: str) -> None:
    for secret in ("mQ7xw2Rkf9zT4bN", "Summer!Lake#91"):
        given = around.replace("{{", "{").replace("}}", "}").replace("{}", secret)
        masked = mask(given)
        assert secret not in masked
        assert mask(masked) == masked


@pytest.mark.parametrize(
    "text",
    [
        "PWD=/home/dev2/app",
        '"OLDPWD": "/opt/app2", "PWD": "/srv/app3"',
        "HOSTNAME=4d01390b86bf\\nPWD=/w2/x\\nSHLVL=1",
        "if password1 != password2:",
        "if self.update_password == 'always':",
        "self.dot2_token == other.dot2_token",
        "tokens: proc_macro2::TokenStream",
        "cancelToken: defaultToConfig2,",
        "axios.CancelToken = CancelToken$1;",
        '"pbkdf2-password": "1.2.2",',
        'CHALLENGE_PASSWORD = "challengePassword"',
        "[`quote::ToTokens`]: https://docs.test/quote/0.6/trait.ToTokens",
        "<usage>subagent_tokens: 15039\\ntool_uses: 2\\nduration_ms: 178</usage>",
        '"fail_to_pass":["pandas/tests/test_datetime2.py::TestX::test_y2"]',
        'tokens = ["hello2", "world3"]',
        'if a or "authtoken" in query2:',
        "<password>Enter your password</password>",
        '"password": "The password is too short"',
        "ENABLE_AUTH=oauth2_proxy",
        "password hash algorithm: sha256",
        "password: v2.3.1 ",
        "COMPASS=north",
        "BYPASS=everything",
        "export GIT_ASKPASS=helper",
        "PWD=relative",
        "SHOW_PASSWORD=sometimes",
        "MAX_PASSWORD=12345",
        "DB_PASSWORD=prompt",
        "DB_PASSWORD=change_me",
        "DB_PASSWORD=replace_with_password",
        "SMTP_PASS=TODO",
        "FILE_PAT=*.log.2024",
        "DATE_PAT=%Y-%m-%d1x",
        "MY_AUTH: https://x1.test",
    ],
)
def test_names_paths_versions_and_labels_are_no_secrets(text: str) -> None:
    assert mask(text) == text


def test_a_passphrase_may_be_of_words_where_its_name_tells() -> None:
    assert mask("<password>correct horse</password>") == "<password>[masked:element]</password>"
    assert "horse" not in mask('"password": "correct horse battery staple"')


def test_a_value_ends_at_an_escape_of_the_text_that_it_stands_in() -> None:
    assert mask('{"out": "DB_PASSWORD=Tr0ub4dor3x\\nPORT=8000\\n"}') == (
        '{"out": "DB_PASSWORD=[masked:secret-assignment]\\nPORT=8000\\n"}'
    )


@pytest.mark.parametrize(
    ("around", "secret", "other"),
    [
        ("DB_PASSWORD={}", "hunter", "$DB_PASSWORD"),
        ("export PGPASSWORD={}", "postgres", "None"),
        ("docker run -e MYSQL_ROOT_PASSWORD={} db", "secret", "${ROOT}"),
        ("# REDIS_PASSWORD={}", "foobared", "settings.REDIS_PASSWORD"),
        ("REDIS_PASSWORD={}\nX=1", "12345678", ""),
        ("    PASSWORD={}", "hunter", "password,"),
        ("password: {}", "correct-horse-battery", "current-password"),
        ("TESTS_PASS={}", "hunter", "1234"),
    ],
)
def test_a_password_of_words_is_masked_where_a_shell_or_a_file_sets_it(around: str, secret: str, other: str) -> None:
    masked = mask(around.format(secret))
    assert secret not in masked
    assert mask(masked) == masked
    assert mask(around.format(other)) == around.format(other)
