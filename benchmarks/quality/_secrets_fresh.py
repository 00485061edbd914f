"""Formats, places and look-alikes that were written down after the last rule was mended, for the reported part only.

The formats and places were drawn by lot from longer lists. Whoever mends a rule because of what is missed here moves
the entries to a module of the build part and writes new ones.
"""

from __future__ import annotations

import json
from collections.abc import Callable

from _makers import ALNUM, DIGITS, HEX, LOWER, UPPER, WORDS, Maker, base64_of, chars, url64_of, uuid_of

__all__ = ["FRESH_LOOKALIKES", "FRESH_PLACES", "FRESH_PROVIDERS"]

FRESH_PROVIDERS: dict[str, Maker] = {
    "akamai": lambda r: "ak" + f"ab-{chars(r, 16, LOWER)}-{chars(r, 16, LOWER)}",
    "amazon marketplace": lambda r: "amzn" + f".mws.{uuid_of(r)}",
    "confluence": lambda r: "ATC" + "TT3xFfGN0" + chars(r, 171, ALNUM + "-_") + "=" + chars(r, 8, "0123456789ABCDEF"),
    "convex": lambda r: f"prod:quick-{r.choice(WORDS)}-{r.randrange(999)}|" + "eyJ2MiI6" + base64_of(r, 60).rstrip("="),
    "digitalocean oauth": lambda r: "do" + "o_v1_" + chars(r, 64, HEX),
    "docker organization": lambda r: "dc" + "kr_oat_" + chars(r, 32, ALNUM + "-_"),
    "duffel": lambda r: "duffel" + "_live_" + chars(r, 43, ALNUM + "-_"),
    "facebook": lambda r: "EAA" + "C" + chars(r, 150),
    "fly macaroon": lambda r: "fm" + "2_lJPE" + base64_of(r, 120).rstrip("="),
    "gitlab agent": lambda r: "glag" + "ent-" + chars(r, 50, ALNUM + "-_"),
    "langfuse": lambda r: "sk-" + f"lf-{uuid_of(r)}",
    "linear oauth": lambda r: "lin" + "_oauth_" + chars(r, 64, HEX),
    "mailersend": lambda r: "ml" + "sn." + chars(r, 64, HEX),
    "mailgun": lambda r: "ke" + "y-" + chars(r, 32, HEX),
    "modal": lambda r: "as" + "-" + chars(r, 22),
    "paystack": lambda r: "sk" + "_live_" + chars(r, 40, HEX),
    "posthog": lambda r: "ph" + "x_" + chars(r, 43),
    "roboflow": lambda r: "r" + "f_" + chars(r, 20),
    "square": lambda r: "EA" + "AA" + "l" + chars(r, 59, ALNUM + "-_"),
    "supabase secret": lambda r: "sb" + f"_secret_{chars(r, 22, ALNUM + '-_')}_{chars(r, 8, ALNUM + '-_')}",
    "tinybird": lambda r: "p" + f".eyJ1{url64_of(r, 90)}.{url64_of(r, 32)}",
    "together": lambda r: "tg" + "p_v1_" + chars(r, 43, ALNUM + "-_"),
    "vault recovery": lambda r: "hv" + "r.CAESI" + chars(r, 90, ALNUM + "-_"),
    "vercel": lambda r: "vc" + "p_" + chars(r, 56),
}

FRESH_PLACES: dict[str, Callable[[str], str]] = {
    "ansible option": lambda s: f"ansible-playbook site.yml -e 'db_pass={s} app_env=prod'\n",
    "borg": lambda s: f"export BORG_PASSPHRASE='{s}'\nborg create ::now /data\n",
    "cisco": lambda s: f"hostname core1\nenable secret {s}\nline vty 0 4\n",
    "composer": lambda s: json.dumps({"http-basic": {"repo.test": {"username": "app", "password": s}}}, indent=2),
    "curl data": lambda s: f"""curl -X POST https://api.test/login -d '{{"user":"app","password":"{s}"}}'\n""",
    "mail": lambda s: f"Hello,\n\nyour account is ready.\n  User: app\n  Password: {s}\n\nRegards\n",
    "gem": lambda s: f"---\n:rubygems_api_key: {s}\n",
    "gpg": lambda s: f"gpg --batch --yes --passphrase {s} -d backup.gpg\n",
    "archive of requests": lambda s: json.dumps(
        {
            "request": {
                "headers": [{"name": "Authorization", "value": f"Bearer {s}"}, {"name": "Accept", "value": "*/*"}]
            }
        }
    ),
    "matlab": lambda s: f"token = '{s}';\nopts = weboptions('Timeout', 10);\n",
    "objective-c": lambda s: f'static NSString *const kApiKey = @"{s}";\n',
    "postman": lambda s: json.dumps({"variable": [{"key": "access_token", "value": s, "type": "string"}]}),
    "proxy": lambda s: f"export https_proxy=http://app:{s.replace('#', '%23').replace('/', '%2F')}@proxy.test:3128\n",
    "pypirc": lambda s: f"[pypi]\nusername = __token__\npassword = {s}\n",
    "rclone": lambda s: f"[backup]\ntype = sftp\nuser = app\npass = {s}\n",
    "sql server": lambda s: f"CREATE LOGIN app WITH PASSWORD = '{s}';\nGO\n",
    "exception": lambda s: (
        f"Traceback (most recent call last):\nConnectionError: connect(host='db.test', password='{s}') failed\n"
    ),
    "terraform option": lambda s: f"terraform apply -var 'db_password={s}' -auto-approve\n",
    "terraform variable": lambda s: f"TF_VAR_db_password={s} terraform plan\n",
    "fragment": lambda s: f"https://app.test/callback#access_token={s.replace('#', '%23')}&token_type=bearer\n",
}

FRESH_LOOKALIKES: dict[str, Maker] = {
    "swift pins": lambda r: (
        f'"identity" : "keychain-access",\n"revision" : "{chars(r, 40, HEX)}",\n"version" : "4.2.2"\n'
    ),
    "gemfile lock": lambda r: (
        f"    bcrypt (3.1.{r.randrange(30)})\n  password-strength (1.0) sha256={chars(r, 64, HEX)}\n"
    ),
    "composer lock": lambda r: f'"dist": {{"reference": "{chars(r, 40, HEX)}", "shasum": ""}}, "name": "app/token"\n',
    "bun lock": lambda r: f'"jsonwebtoken": ["jsonwebtoken@9.0.2", "", {{}}, "sha512-{base64_of(r, 64)}"],\n',
    "deno lock": lambda r: f'"https://deno.test/std/crypto/key.ts": "{chars(r, 64, HEX)}",\n',
    "service worker": lambda r: (
        f'{{"url":"/static/js/main.{chars(r, 8, HEX)}.chunk.js","revision":"{chars(r, 32, HEX)}"}}\n'
    ),
    "svg": lambda r: f'<path id="key" d="M{r.randrange(99)} 12C5.37 {r.randrange(99)}.5 0 5.37v13.2H24z"/>\n',
    "wasm": lambda r: f'const wasm = "data:application/wasm;base64,AGFzbQEAAAAB{base64_of(r, 150)}";\n',
    "zone signature": lambda r: f"example.test. 3600 IN DS {r.randrange(65536)} 13 2 {chars(r, 64, HEX).upper()}\n",
    "mail key": lambda r: (
        f'mail._domainkey IN TXT "v=DKIM1; k=rsa; p=MIGfMA0GCSqGSIb3DQEBAQUAA4GNADCBiQKB{base64_of(r, 120)}"\n'
    ),
    "event": lambda r: (
        f'{{"uuid": "{uuid_of(r)}", "parentUuid": "{uuid_of(r)}", "requestId": "req_011C{chars(r, 20)}"}}\n'
    ),
    "message ids": lambda r: f"msg_01{chars(r, 22)} resp_{chars(r, 48, HEX)} fc_{chars(r, 48, HEX)}\n",
    "etag of a part": lambda r: (
        f'"ETag": "{chars(r, 32, HEX)}-{r.randrange(1, 99)}", "Key": "uploads/{uuid_of(r)}.bin"\n'
    ),
    "page token": lambda r: f"next page: /items?cursor={chars(r, 12, DIGITS)}&key=name&order=token_asc\n",
    "locale": lambda r: f'"passwordHint": "At least {r.randrange(8, 20)} characters", "tokenExpired": "Log in again"\n',
    "stylesheet": lambda r: f".password-field__token--{chars(r, 6, LOWER)} {{ color: #{chars(r, 6, HEX)}; }}\n",
    "fixture": lambda r: (
        f"@pytest.mark.parametrize('key', ['token_{r.randrange(9)}', 'secret-name-{r.randrange(9)}'])\n"
    ),
    "kubernetes names": lambda r: (
        f"default-token-{chars(r, 5, LOWER)}  kubernetes.io/service-account-token  3  {r.randrange(99)}d\n"
    ),
    "enum": lambda r: f"enum TokenKind {{ KEYWORD = {r.randrange(9)}, SECRET_KEY2 = 0x{chars(r, 8, HEX)} }}\n",
    "regular expression": lambda r: f"const PASSWORD_PATTERN = /^(?=.*[a-z])(?=.*\\d).{{{r.randrange(8, 20)},}}$/;\n",
    "answer": lambda r: f"The token is valid for {r.randrange(99)}h; the key is {r.choice(WORDS)}-{r.randrange(9)}.\n",
    "user agent": lambda r: (
        f"Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.{r.randrange(99)} KeyHTML/1.0 {chars(r, 10, UPPER)}\n"
    ),
}
