"""Secrets that no name stands before: in columns, among a Kubernetes secret's values, in base64."""

from __future__ import annotations

import base64
import json

import pytest

from prowess.learning.redaction.masking import mask

SECRET = "mQ7xw2Rkf9zT4bN"


def _encoded(text: str) -> str:
    return base64.b64encode(text.encode()).decode()


@pytest.mark.parametrize(
    ("text", "mark"),
    [
        ("user,password\nbob,{}\n", "secret-column"),
        ('"user","password","role"\n"bob","{}","x"\n', "secret-column"),
        ("name;api_key\nbob;{}", "secret-column"),
        ("name\tdb_password\nbob\t{}", "secret-column"),
        ("| user | password |\n|---|---|\n| bob | {} |\n", "secret-column"),
        (" user | password \n------+------\n bob  | {}\n(1 row)\n", "secret-column"),
        ("+--+--+\n| user | password |\n+--+--+\n| bob | {} |\n+--+--+\n", "secret-column"),
        ("INSERT INTO users (name, password) VALUES ('b''ob, x', '{}');", "secret-column"),
        ("insert into a (id, token, password) values (1, 'a', 'b'), (2, '', '{}')", "secret-column"),
        ("insert into a (b, password, at) values ('x', '{}', now())", "secret-column"),
        ("insert into a (b, password) values (coalesce('a', 'b'), N'{}')", "secret-column"),
        ("insert into a (b, password) values (N'bob', crypt('{}', 'x'))", "secret-column"),
        ("data:\n  url: {}\nkind: Secret\n", "kubernetes-secret"),
        ("kind: Secret\nstringData:\n  conf: |\n    {}\n  b: c\n", "kubernetes-secret"),
        ("kind: Secret\nstringData:\n  conf: |\n    {}", "kubernetes-secret"),
        ("kind: Secret\nstringData:\n  db: '{}'", "kubernetes-secret"),
        ("kind: Secret\nstringData:\n  db: {}", "kubernetes-secret"),
        ("kind: Secret\nstringData:\n  db: {}\n", "kubernetes-secret"),
        ('{{"data": {{"u": "{}"}}, "kind": "Secret"}}', "kubernetes-secret"),
    ],
)
def test_a_value_is_masked_that_a_heading_or_a_kind_tells(text: str, mark: str) -> None:
    given = text.replace("{{", "{").replace("}}", "}").replace("{}", SECRET)
    assert mask(given) == given.replace(SECRET, f"[masked:{mark}]")
    assert mask(mask(given)) == mask(given)
    told = mask(json.dumps({"out": given, "code": 0}))
    assert SECRET not in told
    assert json.loads(told)["code"] == 0


def test_each_row_and_value_is_masked() -> None:
    rows = "".join(f"u{number},x{number}Q!z88{number % 100}\n" for number in range(5_000))
    assert mask("user,password\n" + rows).count("[masked:secret-column]") == 5_000
    values = "".join(f"  v{number}: {_encoded(f'value {number} of it')}\n" for number in range(20))
    assert mask(f"data:\n{values}kind: Secret\ntype: Opaque\n").count("[masked:kubernetes-secret]") == 20


@pytest.mark.parametrize(
    "text",
    [
        "    'password',\n    'expm1',\n    'log2p3x',\n",
        "user,password\nbob,required\n",
        "from a1 import user, password\nb2 = c3\n",
        "def f(user, password):\n    return x1, y2\n",
        "| field | password |\n|---|---|\n| type | string |\n| max | 128 |\n",
        "PID,PWD,CMD\n12,/home/a1b2,bash\n13,/srv/app2/x,bash\n",
        "id,secret\n1,projects/p1/secrets/s1\n",
        "INSERT INTO users (name, age) VALUES ('mQ7xw2Rkf9zT4bN', 3);",
        "kind: ConfigMap\ndata:\n  mode: keepme1\n",
        "kind: Secret\ndata:\n  a: {{ .Values.token }}\n---\nkind: ConfigMap\ndata:\n  mode: keepme1\n",
    ],
)
def test_other_columns_and_kinds_stay(text: str) -> None:
    assert mask(text) == text


def test_json_in_base64_is_masked_where_it_has_a_secret() -> None:
    docker = _encoded(json.dumps({"auths": {"r.test": {"username": "u", "password": "hunter2x"}}}))
    assert mask(f".dockerconfigjson: {docker}\n") == ".dockerconfigjson: [masked:encoded-json]\n"
    plain = _encoded(json.dumps({"name": "bob", "age": 33, "tokens": 15}))
    assert mask(f"cursor: {plain}\n") == f"cursor: {plain}\n"


def test_what_a_command_puts_into_base64_is_masked() -> None:
    assert mask(f"echo -n '{SECRET}' | base64") == "echo -n '[masked:encoded-password]' | base64"
    assert mask(f"echo {_encoded(SECRET)} | base64 -d") == "echo [masked:encoded-password] | base64 -d"
    for command in ("echo done2 | base64", f"echo {_encoded('hello world')} | base64 -d", "echo $A1 | base64"):
        assert mask(command) == command


@pytest.mark.parametrize(
    "unit", ["user,password\n", "|password|", "INSERT INTO a (password) VALUES ('", "kind: Secret\n"]
)
def test_hostile_tables_end(unit: str) -> None:
    text = unit * 4_000
    assert mask(text) == text


@pytest.mark.parametrize("unit", ["''", "'a''b' ", r"'\\'", "(''", "x(", "\\'"])
def test_a_row_without_an_end_ends_at_once(unit: str) -> None:
    text = "INSERT INTO a (b, password) VALUES (" + unit * 2_000
    assert mask(text) == text


RESOURCES = {
    "apiVersion": "v1",
    "kind": "List",
    "items": [
        {"data": {"LOG_LEVEL": "keepme1"}, "kind": "ConfigMap", "metadata": {"name": "a"}},
        {
            "data": {"one": "c2VjcmV0MQ==", "two": "c2VjcmV0Mg=="},
            "kind": "Secret",
            "metadata": {"name": "b", "ownerReferences": [{"kind": "Secret", "name": "x"}]},
        },
        {"kind": "ConfigMap", "data": {"COLOR": "keepme2"}},
        {"kind": "Secret", "stringData": {"three": "c2VjcmV0Mw=="}},
        {"kind": "ConfigMap", "data": {"SHAPE": "keepme3"}},
    ],
}


def _yaml(value: object, depth: int = 0) -> str:
    """As ``kubectl get -o yaml`` prints it."""
    lead = " " * depth
    if isinstance(value, list):
        return "".join(f"{lead}- {_yaml(each, depth + 2)[depth + 2 :]}" for each in value)
    assert isinstance(value, dict)
    return "".join(
        f"{lead}{key}:\n{_yaml(each, depth if isinstance(each, list) else depth + 2)}"
        if isinstance(each, dict | list)
        else f"{lead}{key}: {each}\n"
        for key, each in value.items()
    )


@pytest.mark.parametrize(
    "shown",
    [
        _yaml(RESOURCES),
        "".join(f"    {line}\n" for line in _yaml(RESOURCES).splitlines()),
        "".join(f"{number:6}\t{line}\n" for number, line in enumerate(_yaml(RESOURCES).splitlines(), 1)),
        json.dumps(RESOURCES),
        json.dumps(RESOURCES, indent=4),
        json.dumps({"stdout": json.dumps(RESOURCES)}),
    ],
)
def test_what_stands_beside_a_secret_in_a_list_of_resources_stays(shown: str) -> None:
    masked = mask(shown)
    assert "c2VjcmV0" not in masked
    assert all(f"keepme{number}" in masked for number in (1, 2, 3))
    assert mask(masked) == masked
