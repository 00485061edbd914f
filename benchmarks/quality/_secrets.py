"""Secrets made at run time by the formats that their issuers document, in the places where they are found, and text
that only looks like them. No file holds anything that a scanner would take for a secret."""

from __future__ import annotations

import base64
import json
import random
import string
import urllib.parse
from collections.abc import Callable, Iterator
from typing import NamedTuple

from _makers import (
    ALNUM,
    DIGITS,
    HEX,
    LETTERS,
    LOWER,
    UPPER,
    WORDS,
    Maker,
    base64_of,
    chars,
    jwt,
    password,
    pem,
    uuid_of,
)
from _secrets_fifth import FIFTH_PLACES
from _secrets_fourth import FOURTH_LOOKALIKES, FOURTH_PLACES, FOURTH_PROVIDERS
from _secrets_fresh import FRESH_LOOKALIKES, FRESH_PLACES, FRESH_PROVIDERS
from _secrets_more import MORE_LOOKALIKES, MORE_PLACES, MORE_PROVIDERS
from _secrets_third import THIRD_LOOKALIKES, THIRD_PLACES, THIRD_PROVIDERS

__all__ = ["Sample", "lookalikes", "samples", "split"]


class Sample(NamedTuple):
    """``text`` holds ``secret`` as ``provider`` gives it out, in ``context``; a look-alike has no secret."""

    provider: str
    context: str
    text: str
    secret: str


# The prefixes are parted so that this file matches no scanner's rule.
PROVIDERS: dict[str, Maker] = {
    "github classic": lambda r: "gh" + "p_" + chars(r, 36),
    "github fine-grained": lambda r: "github" + "_pat_" + chars(r, 22) + "_" + chars(r, 59),
    "github app": lambda r: "gh" + "s_" + chars(r, 36),
    "gitlab": lambda r: "gl" + "pat-" + chars(r, 20),
    "aws access key id": lambda r: "AK" + "IA" + chars(r, 16, string.ascii_uppercase + "234567"),
    "google api key": lambda r: "AI" + "za" + chars(r, 35, ALNUM + "-_"),
    "google oauth secret": lambda r: "GOC" + "SPX-" + chars(r, 28, ALNUM + "-_"),
    "slack bot": lambda r: "xo" + f"xb-{chars(r, 12, DIGITS)}-{chars(r, 12, DIGITS)}-{chars(r, 24)}",
    "slack webhook": lambda r: (
        "https://hooks.slack" + f".com/services/T{chars(r, 8, UPPER)}/B{chars(r, 10, UPPER)}/{chars(r, 24)}"
    ),
    "stripe live": lambda r: "sk" + "_live_" + chars(r, 24),
    "stripe restricted": lambda r: "rk" + "_live_" + chars(r, 24),
    "openai project": lambda r: "sk-" + f"proj-{chars(r, 74, ALNUM + '-_')}T3Blbk" + f"FJ{chars(r, 74, ALNUM + '-_')}",
    "openai": lambda r: "sk-" + f"{chars(r, 20)}T3Blbk" + f"FJ{chars(r, 20)}",
    "anthropic": lambda r: "sk-" + f"ant-api03-{chars(r, 93, ALNUM + '-_')}AA",
    "hugging face": lambda r: "h" + "f_" + chars(r, 34, LETTERS),
    "npm": lambda r: "np" + "m_" + chars(r, 36),
    "python index": lambda r: "py" + "pi-AgEIcHlwaS5vcmc" + chars(r, 80, ALNUM + "-_"),
    "sendgrid": lambda r: "S" + f"G.{chars(r, 22, ALNUM + '-_')}.{chars(r, 43, ALNUM + '-_')}",
    "twilio": lambda r: "S" + "K" + chars(r, 32, HEX),
    "digitalocean": lambda r: "do" + "p_v1_" + chars(r, 64, HEX),
    "shopify": lambda r: "shp" + "at_" + chars(r, 32, HEX),
    "telegram": lambda r: chars(r, 10, "123456789") + ":A" + "A" + chars(r, 33, ALNUM + "-_"),
    "azure storage": lambda r: "AccountKey=" + base64_of(r, 64),
    "databricks": lambda r: "da" + "pi" + chars(r, 32, HEX),
    "doppler": lambda r: "d" + "p.pt." + chars(r, 43),
    "linear": lambda r: "lin" + "_api_" + chars(r, 40),
    "notion": lambda r: "nt" + "n_" + chars(r, 11, DIGITS) + chars(r, 35),
    "figma": lambda r: "fig" + "d_" + chars(r, 40, ALNUM + "-_"),
    "grafana": lambda r: "gl" + f"sa_{chars(r, 32)}_{chars(r, 8, HEX)}",
    "vault": lambda r: "hv" + "s." + chars(r, 94, ALNUM + "-_"),
    "terraform cloud": lambda r: chars(r, 14) + ".atl" + "asv1." + chars(r, 64, ALNUM + "-_"),
    "postman": lambda r: "PM" + f"AK-{chars(r, 24, HEX)}-{chars(r, 34, HEX)}",
    "new relic": lambda r: "NR" + "AK-" + chars(r, 27, UPPER),
    "square": lambda r: "sq0" + "atp-" + chars(r, 22, ALNUM + "-_"),
    "planetscale": lambda r: "pscale" + "_tkn_" + chars(r, 43, ALNUM + "-_"),
    "supabase": lambda r: "sb" + "p_" + chars(r, 40, HEX),
    "groq": lambda r: "gs" + "k_" + chars(r, 52),
    "replicate": lambda r: "r" + "8_" + chars(r, 37),
    "perplexity": lambda r: "pp" + "lx-" + chars(r, 48),
    "xai": lambda r: "xa" + "i-" + chars(r, 80),
    "fly.io": lambda r: "fo" + "1_" + chars(r, 43, ALNUM + "-_"),
    "rubygems": lambda r: "ruby" + "gems_" + chars(r, 48, HEX),
    "age": lambda r: "AGE-SECRET-" + "KEY-1" + chars(r, 58, "QPZRY9X8GF2TVDW0S3JN54KHCE6MUA7L"),
    "sentry": lambda r: "sntr" + "yu_" + chars(r, 64, HEX),
    "mailchimp": lambda r: "mailchimp key " + chars(r, 32, HEX) + f"-us{r.randrange(1, 21)}",
    "jwt": jwt,
    "rsa key": lambda r: pem(r, "RSA"),
    "openssh key": lambda r: pem(r, "OPENSSH"),
    "ec key": lambda r: pem(r, "EC"),
    "pgp key": lambda r: pem(r, "PGP").replace("KEY-", "KEY BLOCK-"),
}

# Values that only their place tells; each place is its own context.
UNNAMED: dict[str, Maker] = {
    "password": password,
    "hex token": lambda r: chars(r, 32, HEX),
    "base64 token": lambda r: base64_of(r, 30),
    "alphanumeric token": lambda r: chars(r, 40),
    "uuid token": uuid_of,
}

# Where a token that tells its issuer by itself is found.
CONTEXTS: dict[str, Callable[[str], str]] = {
    "env file": lambda s: f"DEBUG=1\nSERVICE_TOKEN={s}\nPORT=8000\n",
    "shell export": lambda s: f"export SERVICE_KEY='{s}' && ./run.sh",
    "json": lambda s: json.dumps({"name": "app", "auth": {"value": s}, "port": 8000}),
    "json in json": lambda s: json.dumps({"body": json.dumps({"value": s})}),
    "yaml": lambda s: (
        f"service:\n  url: https://api.test\n  value: {s}\n" if "\n" not in s else f"value: {json.dumps(s)}"
    ),
    "toml": lambda s: f'[service]\nvalue = "{s}"\nretries = 3\n',
    "python": lambda s: f'client = Client("{s}", timeout=30)\n',
    "option": lambda s: f"deploy --env prod --credential {s} --verbose",
    "header": lambda s: f"curl -sS -H 'X-Service: {s}' https://api.test/v1/items",
    "bearer": lambda s: f'headers = {{"Authorization": "Bearer {s}"}}',
    "url": lambda s: f"GET https://api.test/v1/items?page=2&sig={s}&sort=up HTTP/1.1",
    "log line": lambda s: f"2026-11-29T10:00:00Z INFO auth: using {s} for account 7, 3 retries left",
    "prose": lambda s: f"I created a new one ({s}), please use that, and delete the old one.",
    "diff": lambda s: f"@@ -1,2 +1,2 @@\n-    connect(None)\n+    connect({s})\n",
    "terminal": lambda s: f"\x1b[32m$ echo $X\x1b[0m\n{s}\n$ ",
}

# Where a value is a secret because of its place. Some places hold passwords only.
PLACES: dict[str, Callable[[str], str]] = {
    "env password": lambda s: f"DB_HOST=db\nDB_PASSWORD={s}\n",
    "env secret": lambda s: f"APP_SECRET_KEY={s}\n",
    "yaml password": lambda s: f"database:\n  user: app\n  password: {s}\n",
    "json api key": lambda s: json.dumps({"api_key": s, "region": "eu"}),
    "json camel case": lambda s: json.dumps({"clientSecret": s, "clientId": "app"}),
    "python keyword": lambda s: f'connect(host="db", user="app", password="{s}")',
    "javascript object": lambda s: f"const config = {{ authToken: '{s}', retries: 3 }};",
    "go": lambda s: f'apiKey := "{s}"\n',
    "postgres url": lambda s: f"DATABASE_URL=postgresql://app:{urllib.parse.quote(s, safe='')}@db.test:5432/app",
    "mongodb url": lambda s: f"mongodb+srv://app:{urllib.parse.quote(s, safe='')}@cluster.test/app?retryWrites=true",
    "redis url": lambda s: f"redis://:{urllib.parse.quote(s, safe='')}@cache.test:6379/0",
    "git url": lambda s: f"git clone https://oauth2:{urllib.parse.quote(s, safe='')}@git.test/team/app.git",
    "jdbc": lambda s: f"jdbc:mysql://db.test/app?user=app&password={urllib.parse.quote(s, safe='')}&useSSL=true",
    "ado": lambda s: f"Server=tcp:db.test,1433;Database=app;User ID=app;Password={s};Encrypt=true;",
    "netrc": lambda s: f"machine api.test\n  login app\n  password {s}\n",
    "pgpass": lambda s: f"PGPASSWORD={s} psql -h db.test -U app",
    "mysql option": lambda s: f"mysql -h db.test -u app -p'{s}' app < dump.sql",
    "sshpass": lambda s: f"sshpass -p '{s}' ssh app@host.test uptime",
    "docker login": lambda s: f"docker login -u app -p {s} registry.test",
    "long option": lambda s: f"tool push --user app --password {s} --force",
    "token option": lambda s: f"tool push --token={s} --force",
    "curl user": lambda s: f"curl -u 'app:{s}' https://api.test",
    "x-api-key": lambda s: f"curl -H 'X-Api-Key: {s}' https://api.test",
    "basic header": lambda s: f"Authorization: Basic {base64.b64encode(f'app:{s}'.encode()).decode()}",
    "query": lambda s: f"GET /v1/items?api_key={urllib.parse.quote(s, safe='')}&page=2 HTTP/1.1",
    "access token query": lambda s: f"https://api.test/cb?access_token={urllib.parse.quote(s, safe='')}&state=7",
    "cookie": lambda s: f"Cookie: theme=dark; sessionid={urllib.parse.quote(s, safe='')}; lang=en",
    "set-cookie": lambda s: f"Set-Cookie: sid={urllib.parse.quote(s, safe='')}; HttpOnly; Path=/",
    "npmrc": lambda s: f"//registry.test/:_authToken={s}\nalways-auth=true\n",
    "docker config": lambda s: json.dumps(
        {"auths": {"registry.test": {"auth": base64.b64encode(f"app:{s}".encode()).decode()}}}
    ),
    "kubernetes": lambda s: "kind: Secret\ndata:\n  password: " + base64.b64encode(s.encode()).decode() + "\n",
    "aws credentials": lambda s: f"[default]\naws_secret_access_key = {s}\n",
    "properties": lambda s: f"spring.datasource.username=app\nspring.datasource.password={s}\n",
    "xml": lambda s: f'<add key="ApiKey" value="{s}" />',
    "xml element": lambda s: f"<server><username>app</username><password>{s}</password></server>",
    "github actions": lambda s: f"      env:\n        DEPLOY_TOKEN: {s}\n",
    "dockerfile": lambda s: f"FROM app\nENV API_TOKEN={s}\nRUN make\n",
    "terraform": lambda s: f'variable "db_password" {{\n  default = "{s}"\n}}\n',
    "prose password": lambda s: f"the login is app and the password is {s} if you need it",
    "question": lambda s: f"Password: {s}\nLogin successful\n",
}


def split(name: str) -> str:
    """Whether a file of clean code may be looked at while rules are mended ("build"), or is only reported."""
    return "build" if random.Random(f"split {name}").random() < 0.5 else "report"


def _encoded(place: str, secret: str, put: Callable[[str], str]) -> str:
    """What of the secret can be read in that place."""
    if place in ("basic header", "docker config"):
        return base64.b64encode(f"app:{secret}".encode()).decode()
    if place == "kubernetes":
        return base64.b64encode(secret.encode()).decode()
    quoted = urllib.parse.quote(secret, safe="")
    return quoted if quoted != secret and quoted in put(secret) else secret


_BEFORE = {"mailchimp": " ", "discord webhook": "/"}  # what stands before the part that is secret


def samples(part: str, seed: int, each: int) -> Iterator[Sample]:
    """``each`` secret of every provider in every context, and of every kind of value in every place, of a part."""
    rng = random.Random(seed)
    providers, contexts, places = _PARTS[part]
    for _ in range(each):
        for provider, make in providers.items():
            for context, put in contexts.items():
                secret = make(rng)
                body = secret.rpartition(_BEFORE.get(provider, "\0"))[2]
                yield Sample(provider, context, put(secret), body.removeprefix("AccountKey="))
        for kind, make in UNNAMED.items():
            for place, put in places.items():
                secret = make(rng)
                yield Sample(kind, place, put(secret), _encoded(place, secret, put))


LOOKALIKES: dict[str, Callable[[random.Random], str]] = {
    "git commit": lambda r: (
        f"commit {chars(r, 40, HEX)}\nAuthor: A <a@b.test>\n\n    Mend the parser ({chars(r, 7, HEX)})\n"
    ),
    "git index": lambda r: f"index {chars(r, 7, HEX)}..{chars(r, 7, HEX)} 100644\n--- a/key.py\n+++ b/key.py\n",
    "uuid": lambda r: f'{{"id": "{uuid_of(r)}", "request_id": "{uuid_of(r)}"}}',
    "lock integrity": lambda r: f'      "integrity": "sha512-{base64_of(r, 64)}",\n      "dev": true\n',
    "go sum": lambda r: f"example.test/mod v1.2.3 h1:{base64_of(r, 32)}\n",
    "cargo checksum": lambda r: f'name = "token"\nversion = "1.0.1"\nchecksum = "{chars(r, 64, HEX)}"\n',
    "pip hash": lambda r: f"secretstorage==3.3.1 \\\n    --hash=sha256:{chars(r, 64, HEX)}\n",
    "docker digest": lambda r: f"FROM python@sha256:{chars(r, 64, HEX)}\n",
    "png": lambda r: f'<img src="data:image/png;base64,iVBORw0KGgo{base64_of(r, 300)}">',
    "public key": lambda r: f"ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAI{chars(r, 43)} me@host\n",
    "certificate": lambda r: "\n".join(
        ["-----BEGIN CERTIFICATE-----", *(base64_of(r, 48) for _ in range(8)), "-----END CERTIFICATE-----"]
    ),
    "public pem": lambda r: "\n".join(
        ["-----BEGIN PUBLIC KEY-----", *(base64_of(r, 48) for _ in range(5)), "-----END PUBLIC KEY-----"]
    ),
    "fingerprint": lambda r: f"256 SHA256:{base64_of(r, 32).rstrip('=')} me@host (ED25519)\n",
    "etag": lambda r: f'HTTP/1.1 200 OK\nETag: "{chars(r, 32, HEX)}"\nX-Request-Id: {uuid_of(r)}\n',
    "hashed file": lambda r: f"dist/assets/index-{chars(r, 8)}.js   {r.randrange(999)} kB\n",
    "trace": lambda r: f"traceparent: 00-{chars(r, 32, HEX)}-{chars(r, 16, HEX)}-01\n",
    "cache key": lambda r: f"cache_key = 'deps-{chars(r, 16, HEX)}'  # key of the cache\n",
    "primary key": lambda r: f"ERROR: duplicate key value: Key (id)=({uuid_of(r)}) already exists.\n",
    "token count": lambda r: f"total_tokens={r.randrange(99999)} max_tokens: {r.randrange(9999)} tokens/s: 31.5\n",
    "tokenizer": lambda r: f'tokens = ["▁{r.choice(WORDS)}", "##{r.choice(WORDS)}", "{r.choice(WORDS)}3"]\n',
    "from environment": lambda r: f'api_key = os.environ["{r.choice(WORDS).upper()}_API_KEY"]\n',
    "from a call": lambda r: f"password = vault.read('{r.choice(WORDS)}/db')['password']\n",
    "placeholder": lambda r: f"API_KEY=your-{r.choice(WORDS)}-key-here\nSECRET=<your secret>\nTOKEN=${{TOKEN}}\n",
    "template": lambda r: "password: {{ .Values.db.password }}\ntoken: ${{ secrets.DEPLOY_TOKEN }}\n",
    "function": lambda r: f"def verify_password(password: str, hashed: str = {r.choice(WORDS)}) -> bool:\n",
    "typescript": lambda r: "interface Auth { accessToken: string; refreshToken?: string; apiKey: ApiKeyConfig2 }\n",
    "identifier": lambda r: (
        f"key = Async{r.choice(WORDS).title()}{r.choice(WORDS).title()}KeysWithRawResponseHandler2\n"
    ),
    "test id": lambda r: f"tests/test_auth.py::test_token_{chars(r, 6, LOWER)} PASSED\nsecret scanning: 0 findings\n",
    "prose": lambda r: (
        "The secret is to keep the key: short functions, good names. Password rules: at least 12 signs.\n"
    ),
    "path": lambda r: (
        f"/usr/lib/python3/site-packages/{r.choice(WORDS)}_secrets/token_{chars(r, 8, LOWER)}.py:12: in key\n"
    ),
    "array of hashes": lambda r: json.dumps(
        {"key_sha256": chars(r, 64, HEX), "files": [chars(r, 40, HEX) for _ in range(3)]}
    ),
    "keyboard": lambda r: (
        f"key: ArrowDown, keyCode: {r.randrange(99)}, hotkey=Ctrl+Shift+{r.choice(LETTERS).upper()}\n"
    ),
}


def lookalikes(part: str, seed: int, each: int) -> Iterator[Sample]:
    """``each`` of every kind of text that holds no secret."""
    rng = random.Random(seed)
    for _ in range(each):
        for kind, make in _LOOKALIKES[part].items():
            yield Sample(kind, "look-alike", make(rng), "")


_PARTS = {
    "build": (
        PROVIDERS | MORE_PROVIDERS | THIRD_PROVIDERS | FOURTH_PROVIDERS,
        CONTEXTS,
        PLACES | MORE_PLACES | THIRD_PLACES | FOURTH_PLACES | FIFTH_PLACES,
    ),
    "report": (FRESH_PROVIDERS, CONTEXTS, FRESH_PLACES),
}
_LOOKALIKES = {
    "build": LOOKALIKES | MORE_LOOKALIKES | THIRD_LOOKALIKES | FOURTH_LOOKALIKES,
    "report": FRESH_LOOKALIKES,
}
