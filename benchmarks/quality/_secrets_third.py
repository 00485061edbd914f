"""What was fresh in the third report: formats and places drawn by lot from longer lists, and look-alikes."""

from __future__ import annotations

import json
from collections.abc import Callable

from _makers import ALNUM, DIGITS, HEX, LOWER, UPPER, WORDS, Maker, base64_of, chars, url64_of, uuid_of

__all__ = ["THIRD_LOOKALIKES", "THIRD_PLACES", "THIRD_PROVIDERS"]

THIRD_PROVIDERS: dict[str, Maker] = {
    "artifactory": lambda r: "AK" + "Cp" + chars(r, 69),
    "anthropic admin": lambda r: "sk-" + f"ant-admin01-{chars(r, 93, ALNUM + '-_')}AA",
    "block protocol": lambda r: "b10" + f"ck5.{chars(r, 32)}.{chars(r, 36)}",
    "brevo": lambda r: "xkey" + f"sib-{chars(r, 64, HEX)}-{chars(r, 16)}",
    "browserbase": lambda r: "bb_" + "live_" + chars(r, 27, ALNUM + "-_"),
    "cloudflare account": lambda r: "cf" + "at_" + chars(r, 40) + chars(r, 8, HEX),
    "cloudflare user": lambda r: "cf" + "ut_" + chars(r, 40) + chars(r, 8, HEX),
    "deno": lambda r: "dd" + "p_" + chars(r, 36),
    "dependency track": lambda r: "od" + "t_" + chars(r, 32),
    "discord webhook": lambda r: (
        "https://discord" + f".com/api/webhooks/{chars(r, 18, '123456789')}/{chars(r, 68, ALNUM + '-_')}"
    ),
    "doppler service": lambda r: "dp" + f".st.prod.{chars(r, 43)}",
    "firebase messaging": lambda r: "AA" + f"AA{chars(r, 7, ALNUM + '-_')}:APA91b{chars(r, 134, ALNUM + '-_')}",
    "gitlab trigger": lambda r: "glp" + "tt-" + chars(r, 40, HEX),
    "grafana cloud": lambda r: "glc" + "_eyJ" + base64_of(r, 90).rstrip("="),
    "heroku": lambda r: "HRK" + "U-AA" + chars(r, 58, ALNUM + "-_"),
    "honeycomb": lambda r: "hca" + "ik_01" + chars(r, 56, LOWER),
    "mandrill": lambda r: "md" + "-" + chars(r, 22, ALNUM + "-_"),
    "notion integration": lambda r: "sec" + "ret_" + chars(r, 43),
    "nvidia": lambda r: "nv" + "api-" + chars(r, 64, ALNUM + "-_"),
    "openai service account": lambda r: (
        "sk-" + f"svcacct-{chars(r, 74, ALNUM + '-_')}T3Blbk" + f"FJ{chars(r, 74, ALNUM + '-_')}"
    ),
    "pinecone": lambda r: "pc" + f"sk_{chars(r, 5)}_{chars(r, 63)}",
    "pyx": lambda r: "sk-" + "pyx-" + chars(r, 64),
    "render": lambda r: "rn" + "d_" + chars(r, 32),
    "resend": lambda r: "r" + f"e_{chars(r, 8)}_{chars(r, 24)}",
    "sonarqube": lambda r: "sq" + "u_" + chars(r, 40, HEX),
    "stytch": lambda r: "secret" + "-live-" + chars(r, 32, ALNUM + "-_") + "=",
    "teamcity": lambda r: "eyJ0eXAiOiAi" + f"VENWMiJ9.{chars(r, 36, ALNUM + '-_')}.{chars(r, 48, ALNUM + '-_')}",
    "trello": lambda r: "AT" + "TA" + chars(r, 72, HEX),
    "truenas": lambda r: f"{r.randrange(1, 9)}-" + chars(r, 64),
}

THIRD_PLACES: dict[str, Callable[[str], str]] = {
    "ansible": lambda s: f"all:\n  vars:\n    ansible_user: app\n    ansible_become_pass: {s}\n",
    "apache": lambda s: f"<VirtualHost *:80>\n  SetEnv API_TOKEN {s}\n</VirtualHost>\n",
    "cifs": lambda s: f"mount -t cifs -o username=app,password={s},vers=3.0 //nas.test/share /mnt\n",
    "cmake": lambda s: f'set(DEPLOY_TOKEN "{s}")\n',
    "ftp": lambda s: f"USER app\r\nPASS {s}\r\nCWD /in\r\n",
    "graphql": lambda s: f'mutation {{ login(user: "app", password: "{s}") {{ id }} }}\n',
    "headers": lambda s: f'headers.append("X-Auth-Token", "{s}");\n',
    "helm": lambda s: f"helm upgrade app ./chart --set auth.password={s} --set replicas=2\n",
    "request log": lambda s: f'10.0.0.1 "POST /login HTTP/1.1" 200 body="user=app&password={s}"\n',
    "httpie": lambda s: f"http POST api.test/items X-Api-Key:{s} name=a\n",
    "imap": lambda s: f"A1 LOGIN app@mail.test {s}\nA1 OK LOGIN completed\n",
    "multipart": lambda s: f'Content-Disposition: form-data; name="password"\r\n\r\n{s}\r\n--b7\r\n',
    "my.cnf": lambda s: f"[client]\nuser=app\npassword={s}\nhost=db.test\n",
    "chat": lambda s: f"user is app, pw: {s} - tell me when it works\n",
    "redis command": lambda s: f"cache.test:6379> AUTH {s}\nOK\n",
    "representation": lambda s: f"Config(host='db.test', user='app', password='{s}', port=5432)\n",
    "rsync": lambda s: f"RSYNC_PASSWORD={s} rsync -a app@nas.test::data /data\n",
    "with": lambda s: f'let c = Client::new().with_user("app").with_password("{s}");\n',
    "scala": lambda s: f'val dbPassword = "{s}"\n',
    "insert": lambda s: f"INSERT INTO users (name, password) VALUES ('app', '{s}');\n",
    "sqlplus": lambda s: f"sqlplus app/{s}@db.test/app @report.sql\n",
    "tcl": lambda s: f'set password "{s}"\nspawn ssh app@host.test\n',
    "web.config": lambda s: f'<add name="db" connectionString="Server=db.test;User Id=app;Password={s};" />\n',
    "wget": lambda s: f"wget --http-user=app --http-password={s} https://files.test/a.zip\n",
}

THIRD_LOOKALIKES: dict[str, Maker] = {
    "change id": lambda r: f"    Mend the token cache\n\n    Change-Id: I{chars(r, 40, HEX)}\n",
    "store path": lambda r: f"/nix/store/{chars(r, 32, LOWER)}-openssl-3.0.{r.randrange(20)}/lib/libcrypto.so\n",
    "large file": lambda r: (
        f"version https://git-lfs.test/spec/v1\noid sha256:{chars(r, 64, HEX)}\nsize {r.randrange(9999)}\n"
    ),
    "poetry lock": lambda r: (
        f'    {{file = "tokenize_rt-5.2.0-py2.py3-none-any.whl", hash = "sha256:{chars(r, 64, HEX)}"}},\n'
    ),
    "pnpm lock": lambda r: (
        f"  /secret-key@1.0.{r.randrange(9)}:\n    resolution: {{integrity: sha512-{base64_of(r, 64)}}}\n"
    ),
    "known host": lambda r: f"host.test ssh-rsa AAAAB3NzaC1yc2EAAAADAQABAAAB{base64_of(r, 189)}\n",
    "public web key": lambda r: json.dumps(
        {"kty": "RSA", "kid": chars(r, 27, ALNUM), "use": "sig", "n": url64_of(r, 256), "e": "AQAB"}
    ),
    "object ids": lambda r: f"pi_{chars(r, 24)} cus_{chars(r, 14)} price_{chars(r, 24)} evt_{chars(r, 24)}\n",
    "sortable id": lambda r: (
        f"request 01{chars(r, 24, '0123456789ABCDEFGHJKMNPQRSTVWXYZ')} took {r.randrange(99)} ms\n"
    ),
    "error event": lambda r: f'{{"event_id": "{chars(r, 32, HEX)}", "trace_id": "{chars(r, 32, HEX)}"}}\n',
    "secrets file": lambda r: (
        f"DB_PASSWORD_FILE=/run/secrets/db_password_{r.randrange(9)}\nTOKEN_PATH=/var/run/token2\n"
    ),
    "header from variable": lambda r: (
        'curl -H "Authorization: Bearer $API_TOKEN" -H "X-Api-Key: ${KEY2}" https://api.test\n'
    ),
    "your token": lambda r: f"export {r.choice(WORDS).upper()}_TOKEN=YOUR_TOKEN_HERE_{r.randrange(9)}\n",
    "security scheme": lambda r: (
        "securitySchemes:\n  apiKey:\n    type: apiKey\n    name: X-API-Key2\n    in: header\n"
    ),
    "password input": lambda r: f'<input type="password" id="pwd{r.randrange(99)}" autocomplete="current-password">\n',
    "cell id": lambda r: f'{{"cell_type": "code", "id": "{chars(r, 8, HEX)}-{chars(r, 4, HEX)}", "metadata": {{}}}}\n',
    "validation": lambda r: (
        f"if len(password) < 12 or token_type != 'bearer{r.randrange(9)}': raise ValueError('key2')\n"
    ),
    "message key": lambda r: (
        f't("errors.password.too_short_{r.randrange(9)}"), i18n.t("token.expired.v{r.randrange(9)}")\n'
    ),
    "etag": lambda r: f'ETag: W/"{chars(r, 27, ALNUM + "-_")}"\nX-Amz-Id-2: {base64_of(r, 56)}\n',
    "certificate pin": lambda r: f'pin-sha256="{base64_of(r, 32)}"; max-age=5184000\n',
    "image name": lambda r: f"registry.test/auth-token-service:{chars(r, 40, HEX)}\n",
    "component": lambda r: (
        f"export const PasswordResetTokenForm{r.randrange(9)} = (props: TokenProps{r.randrange(9)}) => null;\n"
    ),
    "dataset row": lambda r: f"{uuid_of(r)},{chars(r, 12, DIGITS)},{chars(r, 10, UPPER)},active\n",
}
