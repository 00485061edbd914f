"""Formats, places and look-alikes that were written down after the last rule was mended, for the reported part only.

Whoever mends a rule because of what is missed here moves the entry to ``_secrets.py`` and writes a new one.
"""

from __future__ import annotations

import json
from collections.abc import Callable

from _makers import ALNUM, DIGITS, HEX, LOWER, UPPER, WORDS, Maker, base64_of, chars, url64_of, uuid_of

__all__ = ["FRESH_LOOKALIKES", "FRESH_PLACES", "FRESH_PROVIDERS"]

FRESH_PROVIDERS: dict[str, Maker] = {
    "github oauth": lambda r: "gh" + "o_" + chars(r, 36),
    "gitlab runner": lambda r: "gl" + "rt-" + chars(r, 20, ALNUM + "-_"),
    "gitlab deploy": lambda r: "gl" + "dt-" + chars(r, 20, ALNUM + "-_"),
    "atlassian": lambda r: "ATA" + "TT3xFfGF0" + chars(r, 171, ALNUM + "-_") + "=" + chars(r, 8, "0123456789ABCDEF"),
    "airtable": lambda r: "pa" + f"t{chars(r, 14)}.{chars(r, 64, HEX)}",
    "contentful": lambda r: "CF" + "PAT-" + chars(r, 43, ALNUM + "-_"),
    "dynatrace": lambda r: "dt0" + f"c01.{chars(r, 24, UPPER)}.{chars(r, 64, UPPER)}",
    "hubspot": lambda r: "pa" + f"t-na1-{uuid_of(r)}",
    "netlify": lambda r: "nf" + "p_" + chars(r, 36),
    "planetscale password": lambda r: "pscale" + "_pw_" + chars(r, 43, ALNUM + "-_"),
    "pulumi": lambda r: "pu" + "l-" + chars(r, 40, HEX),
    "prefect": lambda r: "pn" + "u_" + chars(r, 36, LOWER),
    "shippo": lambda r: "shippo" + "_live_" + chars(r, 40, HEX),
    "sourcegraph": lambda r: "sg" + f"p_{chars(r, 16, HEX)}_{chars(r, 40, HEX)}",
    "tailscale": lambda r: "tsk" + f"ey-auth-{chars(r, 12)}CNTRL-{chars(r, 32)}",
    "typeform": lambda r: "tf" + f"p_{chars(r, 44, ALNUM + '-_')}_{chars(r, 14)}",
    "slack user": lambda r: (
        "xo" + f"xp-{chars(r, 12, DIGITS)}-{chars(r, 12, DIGITS)}-{chars(r, 12, DIGITS)}-{chars(r, 32, HEX)}"
    ),
    "slack app": lambda r: "xa" + f"pp-1-A{chars(r, 10, UPPER)}-{chars(r, 13, DIGITS)}-{chars(r, 64, HEX)}",
    "vault batch": lambda r: "hv" + "b." + chars(r, 160, ALNUM + "-_"),
    "docker hub": lambda r: "dc" + "kr_pat_" + chars(r, 27, ALNUM + "-_"),
    "nuget": lambda r: "oy" + "2" + chars(r, 43, LOWER),
    "openrouter": lambda r: "sk-" + "or-v1-" + chars(r, 64, HEX),
    "langsmith": lambda r: "lsv" + f"2_pt_{chars(r, 32, HEX)}_{chars(r, 10, HEX)}",
    "stripe webhook": lambda r: "wh" + "sec_" + chars(r, 32),
    "stripe test": lambda r: "sk" + "_test_" + chars(r, 24),
    "mapbox": lambda r: "sk" + f".eyJ1{url64_of(r, 60)}.{url64_of(r, 16)}",
    "cloudflare origin": lambda r: "v1" + f".0-{chars(r, 24, HEX)}-{chars(r, 146, HEX)}",
    "readme": lambda r: "rd" + "me_" + chars(r, 70, LOWER),
}

FRESH_PLACES: dict[str, Callable[[str], str]] = {
    "php define": lambda s: f"define('DB_USER', 'app');\ndefine('DB_PASSWORD', '{s}');\n",
    "ruby environment": lambda s: f"ENV['API_KEY'] = '{s}'\n",
    "powershell": lambda s: f'$env:API_KEY = "{s}"\nInvoke-Thing\n',
    "fish": lambda s: f"set -x API_TOKEN {s}\n",
    "builder": lambda s: f'DataSource.builder().username("app").password("{s}").build();\n',
    "authorization token": lambda s: f"curl -H 'Authorization: Token {s}' https://api.test",
    "x-auth-token": lambda s: f"> X-Auth-Token: {s}\n> Accept: */*\n",
    "oauth2 option": lambda s: f"curl --oauth2-bearer {s} https://api.test",
    "libpq": lambda s: f'psql "host=db.test user=app password={s} dbname=app"\n',
    "kubectl": lambda s: f"kubectl create secret generic db --from-literal=password={s}\n",
    "compose": lambda s: f"  db:\n    environment:\n      POSTGRES_PASSWORD: {s}\n",
    "openssl": lambda s: f"openssl pkcs12 -in a.p12 -passin pass:{s} -nodes\n",
    "aws export": lambda s: f"export AWS_SECRET_ACCESS_KEY={s}\n",
    "settings": lambda s: f"SECRET_KEY = '{s}'\nDEBUG = False\n",
    "header call": lambda s: f'req.Header.Set("Authorization", "Bearer {s}")\n',
    "amqp url": lambda s: (
        f"amqps://app:{s.replace('#', '%23')}@mq.test/app" if "#" in s else f"amqps://app:{s}@mq.test/app"
    ),
    "rust": lambda s: f'let client_secret = "{s}";\n',
    "json list": lambda s: json.dumps({"env": [{"name": "DB_PASSWORD", "value": s}, {"name": "PORT", "value": "1"}]}),
    "login form": lambda s: f"username=app&password={s.replace('&', '%26').replace('#', '%23')}&remember=1",
    "yaml list": lambda s: f"credentials:\n  - secret: '{s}'\n",
}

FRESH_LOOKALIKES: dict[str, Maker] = {
    "yarn checksum": lambda r: f"  checksum: 10c0/{chars(r, 128, HEX)}\n",
    "terraform lock": lambda r: f'  hashes = [\n    "h1:{base64_of(r, 32)}",\n    "zh:{chars(r, 64, HEX)}",\n  ]\n',
    "nix hash": lambda r: f'  hash = "sha256-{base64_of(r, 32)}";\n',
    "script integrity": lambda r: f'<script src="a.js" integrity="sha384-{base64_of(r, 48)}"></script>\n',
    "image id": lambda r: f"Successfully built {chars(r, 12, HEX)}\nSuccessfully tagged app:latest\n",
    "object uid": lambda r: f"metadata:\n  name: token-{chars(r, 5, LOWER)}\n  uid: {uuid_of(r)}\n",
    "source map": lambda r: f'{{"version":3,"sources":["key.ts"],"mappings":"{chars(r, 200, ALNUM + ";,")}"}}',
    "minified": lambda r: f'function a(t){{var e=t.key,n=t.token;return e+n+"{chars(r, 6)}"}}\n',
    "css class": lambda r: f'<div class="sc-{chars(r, 6)} {chars(r, 8)} password-field token_{chars(r, 5)}">\n',
    "network": lambda r: (
        f"link/ether {':'.join(chars(r, 2, HEX) for _ in range(6))} inet6 fe80::{chars(r, 4, HEX)}/64\n"
    ),
    "pytest": lambda r: (
        f"FAILED tests/test_token.py::test_secret[{r.choice(WORDS)}-{r.randrange(99)}] - KeyError: 'key'\n"
    ),
    "schema": lambda r: (
        '{"password": {"type": "string", "minLength": 12}, "token": {"$ref": "#/definitions/Token2"}}\n'
    ),
    "sql": lambda r: "CREATE TABLE users (id int PRIMARY KEY, password_hash varchar(255), token char(64));\n",
    "git remote": lambda r: f"origin\tgit@git.test:{r.choice(WORDS)}/{chars(r, 6, LOWER)}.git (fetch)\n",
    "version": lambda r: f"secret-tool==1.{r.randrange(9)}.{r.randrange(99)}+g{chars(r, 7, HEX)}\n",
    "log of a key": lambda r: f"INFO cache: hit key=user:{r.randrange(99999)}:profile ttl={r.randrange(999)}s\n",
    "code": lambda r: (
        "password_ok = bcrypt.checkpw(password.encode(), user.password_hash)\ntoken = self.next_token()\n"
    ),
    "environment lookup": lambda r: 'String apiKey = System.getenv("API_KEY");\nconst token = process.env.API_TOKEN;\n',
}
