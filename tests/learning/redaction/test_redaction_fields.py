"""Secrets that a JSON value's shape tells: a field beside them, the option before them, the words of a command."""

from __future__ import annotations

import json
from typing import Any

import pytest

from prowess.learning.redaction.masking import mask, mask_fields, mask_value

PASSWORD = "Tr0ub4dor3xQ"
MASKS = [mask_value, mask_fields]

TOLD: list[Any] = [
    [{"name": "DB_PASSWORD", "value": PASSWORD}],
    {"Name": "/app/db_password", "Type": "SecureString", "Value": PASSWORD},
    {"value": PASSWORD, "key": "DB_PASSWORD"},
    {"ParameterKey": "DBPassword", "ParameterValue": PASSWORD},
    {"DBPassword": PASSWORD},
    {"env": {"PGPASSWORD": PASSWORD}},
    {"element": "Password field", "ref": "e12", "text": PASSWORD},
    {"fields": [{"name": "Password", "type": "textbox", "ref": "e1", "value": PASSWORD}]},
    {"selector": "#password", "text": PASSWORD},
    {"selector": "input[type=password]", "value": PASSWORD},
    {"label": "Your API key", "text": f"{PASSWORD}{PASSWORD}"},
    {"password": {"value": PASSWORD}},
    {"adminPassword": {"type": "securestring", "value": PASSWORD}},
    {"passwords": [PASSWORD]},
    {"args": ["--password", PASSWORD]},
    {"command": ["mysql", "-u", "root", f"-p{PASSWORD}"]},
    {"argv": ["curl", "-u", f"admin:{PASSWORD}"]},
    ["mysql", "-u", "root", f"-p{PASSWORD}", "a name with blanks"],
]

KEPT: list[Any] = [
    {"name": "DB_PASSWORD", "value": "${DB_PASSWORD}"},
    {"name": "password", "value": "required"},
    {"name": "max_tokens", "value": 1000},
    {"OLDPWD": "/srv/app2", "nopassword": True, "tokenizer": "bert4base", "passthrough": "always1"},
    {"name": "cache_key", "value": "user:42:profile"},
    {"key": "password.min.length", "value": "12345"},
    {"label": "Password policy", "text": "Must contain 8 characters"},
    {"selector": "button.show-password", "text": "Show"},
    {"element": "Search box", "text": "password reset"},
    {"element": "Forgot password link", "text": PASSWORD},
    {"element": "Reset password email field", "text": "bob@x.test"},
    {"element": "Filter by token name", "text": PASSWORD},
    {"PWD": "/srv/app2"},
    {"password": "Must have 8 characters"},
    {"password": {"type": "string", "title": "Your password2"}},
    {"file_path": "/x/password.py", "text": PASSWORD},
    {"name": "Token", "text": "the"},
    {"name": "DB_PASSWORD", "note": PASSWORD},
    ["grep", "-rn", "password", "src"],
    ["git", "commit", "-m", "token"],
    ["--name", "--password"],
    ["psql", "--no-password", "alice"],
]


@pytest.mark.parametrize("masked", MASKS)
@pytest.mark.parametrize("value", TOLD, ids=repr)
def test_what_another_field_or_word_tells_to_be_a_secret_is_masked(masked: Any, value: Any) -> None:
    once = masked(value)
    assert PASSWORD not in json.dumps(once)
    assert masked(once) == once


@pytest.mark.parametrize("masked", MASKS)
@pytest.mark.parametrize("phrase", ["correct horse", "Blue dog 8!", "correct horse battery staple"])
def test_a_passwords_field_may_hold_words(masked: Any, phrase: str) -> None:
    told = {"password": phrase, "fields": [{"name": "Password", "value": phrase}], "note": phrase}
    assert json.dumps(masked(told)).count(phrase) == 1


@pytest.mark.parametrize("masked", MASKS)
@pytest.mark.parametrize("value", KEPT, ids=repr)
def test_what_only_has_such_words_beside_it_is_kept(masked: Any, value: Any) -> None:
    assert masked(value) == value


@pytest.mark.parametrize(
    "text",
    [
        f'[{{"name": "DB_PASSWORD", "slotSetting": false, "value": "{PASSWORD}"}}]',
        f'{{"Name": "/app/db_password", "Type": "SecureString", "Value": "{PASSWORD}"}}',
        f'{{"ParameterKey": "DBPassword", "ParameterValue": "{PASSWORD}"}}',
        f"ParameterKey=DBPassword,ParameterValue={PASSWORD}",
        f'<input type="password" name="p" value="{PASSWORD}">',
        f"<password>\n    {PASSWORD}\n  </password>",
        f"&lt;password&gt;{PASSWORD}&lt;/password&gt;",
    ],
)
def test_a_name_is_a_values_also_with_something_between(text: str) -> None:
    assert PASSWORD not in mask(text)
    assert mask(mask(text)) == mask(text)


@pytest.mark.parametrize(
    "text",
    [
        '{"name": "password", "type": "text", "value": ""}',
        '<input id="password" type="text" placeholder="Password" value="Enter it here">',
        '<option name="token" selected="true" value="basic">',
        f'{{"name": "password", "hint": "{PASSWORD} is none"}}',
    ],
)
def test_what_lies_between_a_name_and_no_secret_is_kept(text: str) -> None:
    assert mask(text) == text


FORMS = [
    "await page.getByRole('textbox', { name: 'Password', exact: true }).fill('@');",
    "await page.locator('#password').first().fill('@');",
    "page.fill('#password', '@')",
    'page.type("#user_password", "@", {delay: 100})',
    'driver.find_element(By.ID, "password").send_keys("@")',
    "cy.get('input[name=password]').type('@')",
    "document.querySelector('#password').value = '@'",
    'await userEvent.type(screen.getByLabelText(/password/i), "@")',
    'fill_in "Password", with: "@"',
    '- textbox "Password" [active] [ref=e8]: @',
]


@pytest.mark.parametrize("secret", [PASSWORD, "secret_sauce"])
@pytest.mark.parametrize("form", FORMS)
def test_what_is_typed_into_a_form_is_masked(form: str, secret: str) -> None:
    text = form.replace("@", secret)
    once = mask(text)
    assert secret not in once
    assert mask(once) == once
    assert secret not in mask(json.dumps({"code": f"login()\n{text}\nend"}))


@pytest.mark.parametrize(
    "text",
    [
        "await page.getByLabel('Password').fill(process.env.LOGIN_PASSWORD);",
        "page.fill('#password', `${password}`)",
        "await page.getByLabel('Password').fill('');",
        "await page.getByText('Forgot password').click(); await page.getByLabel('Name').fill('Anna')",
        'raise InvalidPassword("password", "too short for this")',
        '- button "Show password" [ref=e8]: pressed',
        "expect(page.locator('#password')).toHaveAttribute('type', 'password')",
    ],
)
def test_what_types_nothing_secret_is_kept(text: str) -> None:
    assert mask(text) == text


@pytest.mark.parametrize(
    "command",
    [
        f"zip -r -P {PASSWORD} x.zip y",
        f"unzip -P {PASSWORD} x.zip",
        f"7z a -p{PASSWORD} x.7z y",
        f"openssl enc -aes-256-cbc -k {PASSWORD} -in x",
        f"bcp t out f -U sa -P {PASSWORD}",
        f"wpa_passphrase home {PASSWORD}",
        f"nmcli dev wifi connect home password {PASSWORD}",
        f"lftp -u bob,{PASSWORD} host",
        f"xfreerdp /u:bob /p:{PASSWORD} /v:host",
        f"aws ssm put-parameter --name /app/x --value {PASSWORD} --type SecureString",
    ],
)
def test_a_program_that_takes_a_password_is_known_by_its_option(command: str) -> None:
    assert PASSWORD not in mask(command)
    assert mask(command).split(" ")[0] == command.split(" ")[0]


@pytest.mark.parametrize(
    "command",
    [
        "zip -r x2.zip y",
        "unzip -p x1.zip a2.txt",
        "7z x -o/tmp/x1 a1.7z",
        "openssl enc -aes-256-cbc -in x1",
        "nmcli dev wifi list",
        "aws ssm put-parameter --name /app/x --value v1.2.3 --type String",
        "lftp -u bob host1",
    ],
)
def test_a_program_that_is_given_no_password_is_kept(command: str) -> None:
    assert mask(command) == command
