"""More formats, places and look-alikes of the build part: what was fresh in the second report, and what rules were
written for after it."""

from __future__ import annotations

import json
from collections.abc import Callable

from _makers import ALNUM, DIGITS, HEX, LOWER, UPPER, WORDS, Maker, base64_of, chars, url64_of, uuid_of

__all__ = ["MORE_LOOKALIKES", "MORE_PLACES", "MORE_PROVIDERS"]

MORE_PROVIDERS: dict[str, Maker] = {
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

MORE_PLACES: dict[str, Callable[[str], str]] = {
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

MORE_LOOKALIKES: dict[str, Maker] = {
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

# Further places that rules were written for.
MORE_PLACES |= {
    "setenv call": lambda s: f'os.environ.setdefault("SERVICE_TOKEN", "{s}")\n',
    "local storage": lambda s: f"localStorage.setItem('access_token', '{s}');\n",
    "set method": lambda s: f'config.setPassword("{s}");\n',
    "with method": lambda s: f'Client.create().withToken("{s}").connect()\n',
    "setx": lambda s: f"setx API_TOKEN {s}\n",
    "csh": lambda s: f"setenv DB_PASSWORD '{s}'\n",
    "dockerfile blank": lambda s: f"FROM app\nENV DB_PASSWORD {s}\nRUN make\n",
    "any option": lambda s: f"tool sync --db-password {s} --quiet\n",
    "one dash": lambda s: f"keytool -import -storepass {s} -file a.crt\n",
    "git config": lambda s: f"git config --global app.token {s}\n",
    "aws configure": lambda s: f"aws configure set aws_secret_access_key {s}\n",
    "npm config": lambda s: f"npm config set //registry.test/:_authToken {s}\n",
    "gh secret": lambda s: f"gh secret set DEPLOY_TOKEN --body '{s}'\n",
    "redis conf": lambda s: f"port 6379\nrequirepass {s}\nappendonly yes\n",
    "sql role": lambda s: f"CREATE ROLE app LOGIN PASSWORD '{s}';\n",
    "sql identified": lambda s: f"CREATE USER 'app'@'%' IDENTIFIED BY '{s}';\n",
    "gradle": lambda s: f"credentials {{\n    username 'app'\n    password '{s}'\n}}\n",
    "clojure": lambda s: f'{{:host "db.test" :password "{s}"}}\n',
    "emacs": lambda s: f'(setq app-api-token "{s}")\n',
    "perl": lambda s: f"$ENV{{API_TOKEN}} = '{s}';\n",
    "c define": lambda s: f'#define API_TOKEN "{s}"\n',
    "c array": lambda s: f'static const char api_token[] = "{s}";\n',
    "typed let": lambda s: f'const token: string = "{s}";\n',
    "typed var": lambda s: f'var apiToken string = "{s}"\n',
    "visual basic": lambda s: f'Dim password As String = "{s}"\n',
    "r": lambda s: f'token <- "{s}"\n',
    "default value": lambda s: (
        f'const token = process.env.API_TOKEN || "{s}";\n' if len(s) > 28 else f'token = "{s}"\n'
    ),
    "secret type": lambda s: f'token = SecretStr("{s}")\n' if len(s) > 28 else f'token = "{s}"\n',
    "comparison": lambda s: f'if (password === "{s}") {{ return true; }}\n',
    "nodemailer": lambda s: f"auth: {{ user: 'app', pass: '{s}' }},\n",
    "pass variable": lambda s: f"SMTP_PASS={s}\n",
    "odbc": lambda s: f"Driver={{ODBC Driver 18}};Server=db.test;Uid=app;Pwd={s};\n",
    "jdbc oracle": lambda s: f"jdbc:oracle:thin:app/{s.replace('/', '')}@db.test:1521/app\n",
    "android string": lambda s: f'<string name="api_token">{s}</string>\n',
    "plist": lambda s: f"<key>ApiToken</key>\n    <string>{s}</string>\n",
    "spring xml": lambda s: f'<property name="password" value="{s}"/>\n',
    "maven server": lambda s: f"<dbPassword>{s}</dbPassword>\n",
    "pgpass file": lambda s: f"db.test:5432:app:app:{s}\n",
    "htpasswd": lambda s: f"htpasswd -cb /etc/nginx/.htpasswd app '{s}'\n",
    "ldap": lambda s: f"ldapsearch -x -D cn=admin -w '{s}' -b dc=test\n",
    "chpasswd": lambda s: f"echo 'app:{s}' | chpasswd\n",
    "stdin": lambda s: f"echo '{s}' | docker login -u app --password-stdin registry.test\n",
    "powershell secure": lambda s: f"ConvertTo-SecureString '{s}' -AsPlainText -Force\n",
    "requests auth": lambda s: f'requests.get(url, auth=("app", "{s}"))\n',
    "login call": lambda s: f'smtp.login("app@mail.test", "{s}")\n',
    "cookie option": lambda s: f"curl --cookie 'sid={s}' https://api.test\n",
    "php session": lambda s: f"GET /?PHPSESSID={s} HTTP/1.1\n" if len(s) > 28 else f"password={s}\n",
    "signed url": lambda s: (
        f"https://a.blob.test/c/f?sv=2022-11-02&sp=r&sig={s}\n" if len(s) > 28 else f"password={s}\n"
    ),
    "subscription key": lambda s: f"Ocp-Apim-Subscription-Key: {s}\n",
    "scheme": lambda s: f"Authorization: SSWS {s}\n",
    "yaml block": lambda s: f"db_password: |-\n  {s}\nport: 1\n",
    "wireguard": lambda s: f"[Interface]\nPrivateKey = {s}\nListenPort = 51820\n",
    "wpa": lambda s: f'network={{\n  ssid="home"\n  psk="{s}"\n}}\n',
    "rails": lambda s: f"SECRET_KEY_BASE={s}\n",
    "numbered": lambda s: f"DEPLOY_TOKEN_2={s}\n",
    "aws prompt": lambda s: f"AWS Secret Access Key [None]: {s}\nDefault region name [None]: eu\n",
    "token said": lambda s: f"the token is {s} now\n" if len(s) > 28 else f"the password is {s} now\n",
}

MORE_LOOKALIKES |= {
    "call of an id": lambda r: (
        f'{{"type": "tool_use", "id": "toolu_{chars(r, 24)}", "call_id": "call_{chars(r, 24)}"}}\n'
    ),
    "completion id": lambda r: f'{{"id": "chatcmpl-{chars(r, 29)}", "object": "chat.completion"}}\n',
    "pod": lambda r: f"auth-service-{chars(r, 9, HEX)}-{chars(r, 5, LOWER)}   1/1   Running\n",
    "react key": lambda r: f'<li key="{uuid_of(r)}" className="key-{chars(r, 6)}">\n',
    "redis key": lambda r: f"GET session:{chars(r, 32, HEX)}\nkey session:{uuid_of(r)} expired\n",
    "session id": lambda r: f'{{"sessionId": "{uuid_of(r)}", "parentUuid": "{uuid_of(r)}"}}\n',
    "session": lambda r: f"session={uuid_of(r)} started, sessionId={uuid_of(r)}\n",
    "cloudformation": lambda r: f"arn:aws:lambda:eu-west-1:123456789012:function:app-Handler-{chars(r, 12, UPPER)}\n",
    "wheel": lambda r: f"numpy-1.26.{r.randrange(9)}-cp311-cp311-manylinux_2_17_x86_64.manylinux2014_x86_64.whl\n",
    "unexpected token": lambda r: (
        f"SyntaxError: Unexpected token 'export{r.randrange(99)}' near 'var{r.randrange(99)}x'\n"
    ),
    "password column": lambda r: f"ALTER TABLE users ADD password varchar2({r.randrange(99)}) NOT NULL, token char2;\n",
    "words in a list": lambda r: (
        f'FIELDS = ["password", "token{r.randrange(9)}", "api_key", "user{r.randrange(99)}"]\n'
    ),
    "label": lambda r: (
        f'<label for="password">Password{r.randrange(9)}</label><th class="token">Token{r.randrange(9)}</th>\n'
    ),
    "translated": lambda r: (
        f't("password.label{r.randrange(9)}", "New password {r.randrange(9)}"); getattr(self, "token", "none1")\n'
    ),
    "public key of stripe": lambda r: f'<Elements stripe="pk_test_{chars(r, 24)}" />\n',
    "gpg key": lambda r: f"ENV GPG_KEY {chars(r, 40, '0123456789ABCDEF')}\nENV PYTHON_VERSION 3.11.{r.randrange(9)}\n",
    "cache variable": lambda r: f"CACHE_KEY=deps-{chars(r, 32, HEX)}\nSORT_KEY=user{r.randrange(99)}_created_at\n",
    "chunk": lambda r: (
        f"dist/assets/vendor-{chars(r, 8)}.js  chunk-{chars(r, 8, UPPER)}.mjs  index-{chars(r, 20, HEX)}.css\n"
    ),
    "branch": lambda r: f"* feature/add-token-refresh-{r.randrange(9999)}-with-key-rotation-v2  {chars(r, 7, HEX)}\n",
    "test name": lambda r: (
        f"test_password_Reset_{r.randrange(99)}_with_Long_Name_And_Token_Number_{r.randrange(99)}_works\n"
    ),
    "url safe blob": lambda r: f'{{"cursor": "{url64_of(r, 90)}"}}\n',
    "port of a login": lambda r: (
        f"ssh login.host.test -p {r.randrange(1024, 9999)}\nmongo -p {r.randrange(1024, 9999)}\n"
    ),
    "ports": lambda r: f"    ports:\n      - 127.0.0.1:5432:5432\n      - 6432:{r.randrange(1024, 9999)}\n",
    "compared": lambda r: f'if token == "identifier" and key != "value{r.randrange(9)}":\n',
    "signature": lambda r: f"def sign(signature=None, key=default_key_{r.randrange(9)}): ...\n",
    "words with sk": lambda r: (
        f"sk-learn_{chars(r, 7, HEX)} disk_usage_{r.randrange(99)} task-{r.randrange(9999)}-{chars(r, 8, HEX)}\n"
    ),
    "dns key": lambda r: f"example.test. 3600 IN DNSKEY 257 3 13 {base64_of(r, 64)}\n",
}
