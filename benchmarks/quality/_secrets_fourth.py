"""What was fresh in the fourth report: the rest of the lists from which the third one's were drawn."""

from __future__ import annotations

import json
from collections.abc import Callable

from _makers import ALNUM, DIGITS, HEX, LOWER, UPPER, WORDS, Maker, base64_of, chars, url64_of, uuid_of

__all__ = ["FOURTH_LOOKALIKES", "FOURTH_PLACES", "FOURTH_PROVIDERS"]

FOURTH_PROVIDERS: dict[str, Maker] = {
    "1password": lambda r: "op" + "s_eyJ" + url64_of(r, 200),
    "adafruit": lambda r: "ai" + "o_" + chars(r, 28),
    "azure devops": lambda r: chars(r, 52) + "JQQJ99" + chars(r, 18) + "AZ" + "DO" + chars(r, 4),
    "bitbucket": lambda r: "AT" + "BB" + chars(r, 32),
    "builder.io": lambda r: "bp" + "k-" + chars(r, 32, HEX),
    "circleci": lambda r: "CCI" + f"PAT_{chars(r, 22)}_{chars(r, 40, HEX)}",
    "docker swarm": lambda r: "SWM" + f"TKN-1-{chars(r, 50, LOWER)}-{chars(r, 25, LOWER)}",
    "e2b": lambda r: "e2" + "b_" + chars(r, 40, HEX),
    "elevenlabs": lambda r: "sk" + "_" + chars(r, 48, HEX),
    "firecrawl": lambda r: "f" + "c-" + chars(r, 32, HEX),
    "fireworks": lambda r: "f" + "w_" + chars(r, 24),
    "flutterwave": lambda r: "FLW" + f"SECK_TEST-{chars(r, 32, HEX)}-X",
    "github refresh": lambda r: "gh" + "r_" + chars(r, 36),
    "google access": lambda r: "ya" + "29.a0" + chars(r, 150, ALNUM + "-_"),
    "helicone": lambda r: "sk-" + "helicone-" + "-".join(chars(r, 7, LOWER) for _ in range(4)),
    "jina": lambda r: "ji" + "na_" + chars(r, 32, HEX) + chars(r, 33),
    "llama cloud": lambda r: "ll" + "x-" + chars(r, 48),
    "mollie": lambda r: "li" + "ve_" + chars(r, 30),
    "ngrok": lambda r: "2" + chars(r, 26) + "_" + chars(r, 20),
    "plaid": lambda r: "access" + f"-sandbox-{uuid_of(r)}",
    "stackhawk": lambda r: "ha" + f"wk.{chars(r, 20, ALNUM + '-_')}.{chars(r, 20, ALNUM + '-_')}",
    "tavily": lambda r: "tv" + "ly-" + chars(r, 32),
    "workos": lambda r: "sk_te" + "st_a2V5Xz" + chars(r, 62),
    "yandex": lambda r: "y0" + "_AgAAAA" + chars(r, 50, ALNUM + "-_"),
}

FOURTH_PLACES: dict[str, Callable[[str], str]] = {
    "prose after": lambda s: f"log in as app and use {s} as the password, please\n",
    "aws session": lambda s: f"[default]\naws_session_token = {s}\n",
    "csv": lambda s: f"username,password,role\napp,{s},admin\n",
    "dart": lambda s: f"const String apiKey = '{s}';\n",
    "docker variable": lambda s: f"docker run --rm -e API_TOKEN={s} app:latest\n",
    "elixir": lambda s: f'config :app, App.Endpoint,\n  secret_key_base: "{s}"\n',
    "environment of a process": lambda s: f'subprocess.run(["app"], env={{"API_TOKEN": "{s}", "PORT": "1"}})\n',
    "gcloud": lambda s: f"gcloud sql users set-password app --instance=db --password={s}\n",
    "german": lambda s: f"Der Benutzer ist app, das Passwort lautet {s}\n",
    "go struct": lambda s: f'cfg := Config{{User: "app", Password: "{s}", Port: 5432}}\n',
    "haskell": lambda s: f'apiToken = "{s}" :: Text\n',
    "html value": lambda s: f'<input type="password" name="password" value="{s}">\n',
    "jenkins": lambda s: f"environment {{\n  API_TOKEN = '{s}'\n}}\n",
    "julia": lambda s: f'ENV["API_TOKEN"] = "{s}"\n',
    "ldif": lambda s: f"dn: uid=app,dc=test\nuserPassword: {s}\n",
    "lua": lambda s: f'local api_token = "{s}"\n',
    "makefile": lambda s: f"API_TOKEN ?= {s}\ndeploy:\n\t./deploy\n",
    "table": lambda s: f"| Field | Value |\n|---|---|\n| Password | {s} |\n",
    "credential object": lambda s: f'new NetworkCredential("app", "{s}");\n',
    "nginx": lambda s: f'proxy_set_header X-Api-Key "{s}";\n',
    "property": lambda s: f'props.setProperty("db.password", "{s}");\n',
    "systemd": lambda s: f'[Service]\nEnvironment="DB_PASSWORD={s}"\n',
    "vault write": lambda s: f"vault kv put secret/app password={s} user=app\n",
}

FOURTH_LOOKALIKES: dict[str, Maker] = {
    "gradle cache": lambda r: (
        f"~/.gradle/caches/modules-2/files-2.1/org.test/token/1.0/{chars(r, 40, HEX)}/token.jar\n"
    ),
    "bazel digest": lambda r: f"action {chars(r, 64, HEX)}/{r.randrange(9999)} cached\n",
    "import map": lambda r: f'"integrity": {{"/app/token.js": "sha384-{base64_of(r, 48)}"}}\n',
    "module": lambda r: f'url "https://mirror.test/key-1.2.{r.randrange(9)}.tar.gz"\n  sha256 "{chars(r, 64, HEX)}"\n',
    "conda": lambda r: f"openssl-3.2.{r.randrange(9)}-h{chars(r, 7, HEX)}_0.conda#{chars(r, 32, HEX)}\n",
    "public key": lambda r: f"ecdsa-sha2-nistp256 AAAAE2VjZHNhLXNoYTItbmlzdHAyNTY{base64_of(r, 78)} app@host\n",
    "certificate data": lambda r: (
        f"certificate-authority-data: LS0tLS1CRUdJTiBDRVJUSUZJQ0FURS0tLS0t{base64_of(r, 300)}\n"
    ),
    "font": lambda r: f"src: url(data:font/woff2;base64,d09GMgABAAAA{base64_of(r, 240)})\n",
    "gif": lambda r: f'background: url("data:image/gif;base64,R0lGODlh{base64_of(r, 90)}")\n',
    "span": lambda r: f'{{"traceId": "{chars(r, 32, HEX)}", "spanId": "{chars(r, 16, HEX)}", "key": "http.method"}}\n',
    "thread": lambda r: f"thread_{chars(r, 24)} run_{chars(r, 24)} asst_{chars(r, 24)} file-{chars(r, 22)}\n",
    "container": lambda r: f"{chars(r, 12, HEX)}   app-token-1   Up {r.randrange(60)} minutes   0.0.0.0:8080->80/tcp\n",
    "slack ids": lambda r: (
        f"channel C{chars(r, 10, UPPER)} user U{chars(r, 10, UPPER)} ts {chars(r, 10, DIGITS)}.000200\n"
    ),
    "lambda": lambda r: f"/aws/lambda/app-token-rotation 2026/11/29/[$LATEST]{chars(r, 32, HEX)}\n",
    "type error": lambda r: f"TypeError: Cannot read 'token{r.randrange(9)}' of undefined (password is undefined)\n",
    "password policy": lambda r: (
        f"password_min_length = {r.randrange(8, 32)}\npassword_regex = ^(?=.*[A-Z])(?=.*[0-9]).*$\n"
    ),
    "variables": lambda r: f"PASSWORD=$(cat /run/secret{r.randrange(9)})\nTOKEN=${{1:-none}}\nAPI_KEY=%API_KEY%\n",
    "secret reference": lambda r: f"secretKeyRef:\n  name: app-secret-v{r.randrange(9)}\n  key: password\n",
    "options of a form": lambda r: f"password: new FormControl('', [Validators.minLength({r.randrange(9)})]),\n",
    "declaration": lambda r: (
        f"def reset(password: str, token: Token{r.randrange(9)}, key: bytes = KEY{r.randrange(9)}) -> None: ...\n"
    ),
    "renamed": lambda r: (
        f"rename from src/password_{r.choice(WORDS)}2.py\nindex {chars(r, 10, HEX)}..{chars(r, 10, HEX)}\n"
    ),
    "prompt": lambda r: f"Password for app@host{r.randrange(99)}.test: \n[sudo] password for user{r.randrange(9)}: \n",
    "features": lambda r: json.dumps(
        {"tokenizer": f"cl100k_base{r.randrange(9)}", "max_tokens": 4096, "stop_token": None}
    ),
}
