"""Rules that know no provider: headers, URLs, private keys, cookies, assignments, shapes."""

from __future__ import annotations

from prowess.learning.redaction.programs import COMMANDS, PIPED

__all__ = ["EXTRA", "GENERAL", "LIKELY", "LONG", "SHAPED"]

# Bytes of a value that are looked at; the rest of a longer one belongs to it up to the next blank or quote. One that is
# told by what ends it may have 4,096: registries give out passwords of some thousand.
LONG = 256

_PASS = r"pass(?:word|wd|phrase|code|wort)"  # noqa: S105 - a pattern
_NAME = rf"(?:{_PASS}s?|pwd|secrets?|tokens?|credentials?|key)"
_LOOSE_NAME = rf"(?P<name>{_PASS}s?|pass|passw|pswd|pwd|psk|secrets?|tokens?|credentials?|key)"
# What may follow the name's word in a name: TOKEN_2, SECRET_KEY_BASE, passwordValue.
_AFTER = (
    r"(?:[_-]?(?:v?\d{1,2}|base|prod(?:uction)?|dev|test|staging|live|value|string|str|data|confirm(?:ation)?|new|old|"
    r"current|default|root|admin|primary|secondary))?"
)
_QUOTE = r"\\{0,15}[\"'`]"  # in JSON four deep as well
_SEPARATOR = r"(?::=|=>|<-|\?=|\|\|=|\?\?=|={1,3}|!={1,2}|:)"
# Fields between one that has a name and the one that has the value: "slotSetting": false, type="text".
_BETWEEN = (
    rf"(?:(?:\s{{0,3}},\s{{0,32}}|\s{{1,32}})(?:{_QUOTE})?(?!(?i:value))[A-Za-z]\w{{0,24}}(?:{_QUOTE})?\s{{0,3}}[:=]\s{{0,3}}"
    rf"(?:{_QUOTE}[\w./-]{{0,40}}{_QUOTE}|[\w.-]{{1,40}})){{0,3}}"
)
_HAS_DIGIT = r"(?=[^\s0-9]{0,64}[0-9])"
# A sign of a value without quotes, which is no escape of a text within JSON.
_BARE = r"(?:[^\s\"'`,;(){}\[\]<>\\]|\\(?![nrt\"'\\]))"
_LETTER = r"(?:@|[rbu]|[LNS])?"  # before a quote: r"", L"", N'', @""

# Providers' formats that the catalogue lacks or wants a name for; in the form of its rules.
EXTRA: tuple[tuple[str, tuple[str, ...], str, int, float, int], ...] = (
    PIPED,
    ("google-oauth-client-secret", ("gocspx-",), r"\b(GOCSPX-[A-Za-z0-9_-]{24,40})(?![0-9A-Za-z_-])", 0, 3.0, 0),
    ("trello-token", ("atta",), r"\b(ATTA[0-9a-f]{72})(?![0-9A-Za-z_-])", 0, 3.0, 0),
    ("fly-token", ("fo1_",), r"\b(fo1_[A-Za-z0-9_-]{43})(?![0-9A-Za-z_-])", 0, 3.0, 0),
    ("new-relic-user-key", ("nrak-",), r"\b(NRAK-[A-Z0-9]{27})\b", 0, 3.0, 0),
    ("telegram-bot-token", (":aa",), r"\b([0-9]{8,10}:AA[A-Za-z0-9_-]{33})(?![0-9A-Za-z_-])", 0, 3.0, 16),
    ("twilio-key", ("sk",), r"\b(SK[0-9a-f]{32})\b", 0, 3.0, 0),
    ("mailchimp-key", ("-us",), r"\b([0-9a-f]{32}-us[0-9]{1,2})\b", 0, 3.0, 40),
    ("nuget-api-key", ("oy2",), r"\b(oy2[a-z0-9]{43})(?![0-9A-Za-z_-])", 0, 3.5, 0),
    ("mapbox-token", ("sk.eyj", "tk.eyj"), r"\b([st]k\.eyJ[A-Za-z0-9_-]{16,512}\.[A-Za-z0-9_-]{16,128})", 0, 3.0, 0),
    (
        "web-token",  # three parts, of which the first begins as JSON does: {"alg", {"typ", {"kid", {"enc", {"cty"
        ("eyjh", "eyj0", "eyjr", "eyjl", "eyjj"),
        r"\b(eyJ[A-Za-z0-9_-]{8,2048}(?:\.[A-Za-z0-9_-]{16,4096}){2})",
        0, 3.5, 0,
    ),
    ("firebase-server-key", (":apa91b",), r"\b(AAAA[A-Za-z0-9_-]{7}:APA91b[A-Za-z0-9_-]{64,200})", 0, 3.5, 256),
    ("e2b-key", ("e2b_",), r"\b(e2b_[a-f0-9]{40})(?![0-9A-Za-z_-])", 0, 3.0, 0),
    ("builder-private-key", ("bpk-",), r"\b(bpk-[a-f0-9]{32})(?![0-9A-Za-z_-])", 0, 3.0, 0),
    ("firecrawl-key", ("fc-",), r"\b(fc-[a-f0-9]{32})(?![0-9A-Za-z_-])", 0, 3.0, 0),
    ("fireworks-key", ("fw_",), r"\b(fw_[A-Za-z0-9]{22,26})(?![0-9A-Za-z_-])", 0, 3.5, 0),
    ("bitbucket-app-password", ("atbb",), r"\b(ATBB[A-Za-z0-9]{28,32})(?![0-9A-Za-z_-])", 0, 3.5, 0),
    ("azure-devops-token", ("jqqj9",), r"\b([A-Za-z0-9]{52}JQQJ9[A-Za-z0-9]{27})(?![0-9A-Za-z_-])", 0, 3.5, 100),
    (
        "plaid-access-token",
        ("access-sandbox-", "access-development-", "access-production-"),
        r"\b(access-(?:sandbox|development|production)-[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12})",
        0, 3.0, 0,
    ),
    (
        "told-password-before",
        ("as the pass", "as pass", "as my pass", "as your pass", "as its pass"),
        r"(?<!\S)[\"'`(]{0,2}(?=[^\s0-9]{0,64}[0-9])([^\s\"'`()]{8,128})[\"'`)]{0,2}\sas\s(?:(?:the|my|your|its)\s)?pass(?:word|phrase)\b",
        0, 2.8, 160,
    ),
    (
        "go-source-name",
        ("@tcp(", "@unix("),
        r"(?<![\w.-])[\w.-]{1,64}:([^\s\"'`$@{}]{3,256})@(?:tcp|unix)\(",
        0, 0.0, 340,
    ),
    ("helicone-key", ("sk-helicone",), r"\b(sk-helicone-(?:[a-z0-9]{7}-){3}[a-z0-9]{7})(?![0-9A-Za-z_-])", 0, 3.0, 0),
    ("yandex-oauth-token", ("y0_",), r"\b(y0_[A-Za-z0-9_-]{50,200})(?![0-9A-Za-z_-])", 0, 3.5, 0),
    ("sonar-token", ("squ_", "sqp_", "sqa_"), r"\b(sq[uap]_[a-f0-9]{40})(?![0-9A-Za-z_-])", 0, 3.0, 0),
    (
        "json-web-key",
        ('"kty',),
        r"\"(?:d|k|p|q|dp|dq|qi)\\?\"\s{0,3}:\s{0,3}\\?\"([A-Za-z0-9_-]{22,1024})",
        0, 3.0, 2048,
    ),
    (
        "private-key-base64",  # a PEM block in base64, as in a kubeconfig
        ("ls0tls1crudjti",),
        r"(LS0tLS1CRUdJTi(?:BSU0E|BQUklW|BFQyB|BPUEVO|BFTkNS|BEU0E)(?:[A-Za-z0-9+/=]|\\n|\n {0,32}){64,16384})",
        0, 3.0, 0,
    ),
)  # fmt: skip

# Tokens that no keyword finds: a short prefix, or a word in it that says what it is, and many signs drawn by chance.
# Looked for where ``LIKELY`` finds a word of that form, in small letters.
_WORDS_BY_LENGTH = (("sk", "rk", "pw"), ("pat", "key", "sec", "tok", "api"), ("auth", "live"), ("token",), ("secret",))
_WORDS = "|".join(f"(?<=(?:{'|'.join((*words, *map(str.upper, words)))}).)" for words in _WORDS_BY_LENGTH)
LIKELY = (
    r"(?:(?<![a-z0-9_.-])(?:[a-z][a-z0-9]{1,9}|[0-9]{1,3})[._-](?=[a-z0-9_.-]{28})"
    r"|(?:[srt]k|pw|pat|key|sec|secret|token|tok|api|auth|live)[-_](?=[a-z0-9_-]{20}))"
    r"[a-z0-9_.-]{0,32}?(?<![a-z0-9])(?=[a-z]{0,40}[0-9])[a-z0-9]{12}"
    r"|(?:pat|sk|secret)[-_](?:[a-z0-9]{2,4}-)?[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}"
)
SHAPED: tuple[tuple[str, str], ...] = (
    (
        "prefixed-token",
        r"(?<![A-Za-z0-9_.+/~-])(?P<prefix>[a-z][a-z0-9]{1,9}|[A-Z][A-Z0-9]{1,9}|[0-9]{1,3}(?=-[A-Za-z0-9]{48}))"
        r"(?:[_-]([A-Za-z0-9_-]{28,200}(?:\.[A-Za-z0-9_-]{16,200})?|eyJ[A-Za-z0-9_-]{28,4096})"
        r"|(?:\.[a-z0-9_-]{1,16}){0,2}\.([A-Za-z0-9_-]{20,200}(?:\.[A-Za-z0-9_-]{20,200})?))(?![A-Za-z0-9+/=@_-])",
    ),
    ("token-word", rf"[_-](?:{_WORDS})(?=[A-Za-z_-]{{0,40}}[0-9])(?=([A-Za-z0-9_-]{{20,{LONG}}}+))"),
)

# Name, keywords, pattern. A match begins with a keyword, and its last group is the secret.
GENERAL: tuple[tuple[str, tuple[str, ...], str], ...] = (
    *COMMANDS,
    (
        "private-key",
        ("-----begin", "private-lines:"),
        r"(?:-----BEGIN[ A-Z0-9_-]{0,64}PRIVATE KEY(?: BLOCK)?-----"
        r"(?:(?:[^-]|-(?!----)){0,16384}-----END[ A-Z0-9_-]{0,64}-----"
        r"|(?:[\s\"',+|]|\\[nr]|[A-Za-z0-9+/=]{16,128}){0,512})"
        r"|Private-Lines: \d{1,4}(?:[\r\n]|\\[nr]){1,4}((?:[A-Za-z0-9+/=]{4,128}(?:[\r\n]|\\[nr]){0,4}){1,512}))",
    ),
    (
        "url-credentials",
        ("://",),
        r"://[^\s/:@'\"`<>(){}]{0,128}:((?!\d{1,5}/)(?:[^\s@'\"`<>]{1,256}|[A-Za-z0-9._~%=+-]{257,4096}))@[A-Za-z0-9\[]",
    ),
    ("url-token", ("://",), r"://([A-Za-z0-9_.~%-]{16,4096}+)(?::[^\s/:@'\"`<>]{0,64})?@[A-Za-z0-9\[]"),
    ("webhook-url", ("hooks/",), rf"hooks/(?:[\w-]{{1,32}}/){{0,4}}([A-Za-z0-9_-]{{20,{LONG}}}+)"),
    (
        "protocol-password",  # IMAP, FTP, POP, Redis
        ("auth", "login", "pass"),
        r"(?:AUTH(?:\s[\w.@-]{1,64})?|LOGIN\s{1,2}\"?[\w.@+-]{1,64}\"?|PASS)\s{1,2}\"?([^\s\"'`<>{}()$]{6,4096})(?=\"?(?:[\r\n\\]|\Z))",
    ),
    ("pw", ("pw:", "pw="), r"(?i:(?<![A-Za-z0-9])pw[:=]\s{0,3}(?:\\{0,3}[\"'`])?)([^\s\"'`,;(){}\[\]<>]{6,256})"),
    ("signed-url", ("sig=", "signature="),
     rf"(?i:sig(?:nature)?=([A-Za-z0-9%+/_=~-]{{24,{LONG}}}+))"),
    (
        "authorization",
        ("authorization",),
        rf"(?i:authorization(?:{_QUOTE})?\s{{0,4}}(?:[:=,]|(?={_QUOTE}))\s{{0,4}}(?:{_QUOTE})?"
        rf"(?:[a-z][a-z0-9_-]{{1,24}}\s{{1,4}}|[a-z]{{2,24}}[=:])?([A-Za-z0-9+/=_.~:%-]{{8,{LONG}}}+))",
    ),
    ("bearer-token", ("bearer",), rf"(?i:\bbearer\s{{1,4}}([A-Za-z0-9+/_.~=-]{{16,{LONG}}}+))"),
    (
        "cookie",
        ("cookie",),
        r"(?i:cookies?(?:\\{0,3}[\"'])?(?:\s{0,3}:\s{0,3}(?:\\{0,3}[\"'])?|(?:=|\s{1,3}|\s=\s)\\{0,3}[\"'])"
        r"([^\s=;,\"'(){}<>]{1,64}=[^\r\n\"'\\]{4,4096}))",
    ),
    (
        "session-cookie",
        ("sessid=", "sessionid=", "connect.sid=", "session="),
        rf"(?:SESSID|SESSIONID|sessid|sessionid|connect\.sid|session)=([^\s;,&\"'`(){{}}<>\[\]]{{16,{LONG}}}+)",
    ),
    (
        "netrc",
        ("machine", "default"),
        r"\b(?:machine(?:\s|\\{1,15}n){1,8}\S{1,256}?|default)(?:\s|\\{1,15}n){1,8}login\s{1,8}[^\s\\]{1,256}(?:\s|\\{1,15}n){1,8}password\s{1,8}([^\s\"'\\]{3,256})",
    ),
    (
        "pgpass",  # host:port:database:user:password
        (":543", ":6432:", ":*:*:"),
        r":(?:543\d|6432|\*):[^:\s\"'/]{1,64}:[^:\s\"'/]{1,64}:([^:\s\"'@\\]{4,4096})(?![^\s\"'\\])",
    ),
    ("pass-source", ("pass:",), r"pass:([^\s\"'`$:,;<>(){}]{4,256})"),
    (
        "login-call",
        ("auth=(", "basicauth(", "credential", "login", "_connect(", "pdo(", "mysqli(", "getconnection(",
         "create_user(", "create_superuser(", "bcrypt.", "hashpw("),
        rf"(?i:(?:(?:basic)?auth=?|login|credentials?)\(\s{{0,32}}{_QUOTE}[^\"'`\s]{{1,64}}{_QUOTE},\s{{0,32}}"
        rf"|(?:_connect|pdo|mysqli|getconnection|create_(?:super)?user)\([^\n()]{{1,200}}?,\s{{0,32}}{_QUOTE}[^\"'`\s]{{1,64}}{_QUOTE},\s{{0,32}}"
        rf"|(?:bcrypt\.(?:hash|compare|hashpw)(?:sync)?|hashpw)\(\s{{0,3}}[rb]?){_QUOTE}([^\"'`\s\\]{{6,{LONG}}})",
    ),
    (
        "element",
        (
            *("<pass", "<pwd", "<secret", "<token", "<apikey", "<api_key", "<client", "<access"),
            *(":pass", ":pwd", ":secret", ":token", ":apikey"),  # behind the prefix of a namespace
        ),
        rf"(?i:[<:](?:{_PASS}|pwd|secret|token|api_?key|client_?secret|access_?(?:token|key))(?:\s[^<>]{{0,256}})?(?<!/)>)"
        r"\s{0,64}([^<>\s]{4,4096}(?:[ ][^<>\s]{1,64}){0,7})\s{0,64}</",
    ),
    (
        "docker-auth",
        ('"auth', "'auth"),
        rf"{_QUOTE}auth{_QUOTE}\s{{0,3}}:\s{{0,3}}{_QUOTE}([A-Za-z0-9+/]{{8,512}}={{0,2}})",
    ),
    (
        "told-password",
        ("pass", "pwd", "token", "secret", "key"),
        rf"(?i:(?P<name>{_PASS}|pwd|token|secret|key)(?:\s(?:for|of|to|on)\s[^\n.:=\"'`]{{1,40}}?)?\s{{1,2}}(?:is|was|ist|lautet|est)\b\s{{0,2}}:?\s{{0,2}}[\"'`]?)([^\s\"'`]{{6,{LONG}}})",
    ),
    (
        "encoded-json",  # as in Docker's and in Kubernetes' files
        ("eyj", "eyai", "ewog", "ewok", "ew0k"),
        r"(?<![A-Za-z0-9+/_.-])(e[yw][A-Za-z0-9+/_-]{22,8192}={0,2})(?![A-Za-z0-9+/_-])",
    ),
    (
        "encoded-password",
        ("echo ", "printf "),
        r"(?:echo|printf)\s{1,2}(?:-\w{1,2}\s{1,2}|\\{0,15}[\"']%s\\{0,15}[\"']\s{1,2})?(?:\\{0,15}[\"'])?"
        r"(?=[^\s|]{6,4096}\s{0,2}\|\s{0,2}base64\b(?P<decoded>\s{1,2}(?:-d|-D|--decode)\b)?)([^\s\"'|;&$<>{}\\`]{6,4096})",
    ),
    (
        "prompted-password",
        ("pass", "following pass"),
        rf"(?i:following {_PASS}[^\n:]{{0,64}}:\s{{1,4}}"
        rf"|{_PASS}(?:\s(?:for|to|of|on|is|was)\b[^\n:=]{{1,64}})?:[ ]{{1,2}})"
        r"([^\s\"'`\\\x1b]{6,256})(?=[ ]{0,2}(?:[\r\n\\\x1b\"']|\Z))",
    ),
    (
        "told-password-beside",  # in other tongues, and in prose
        ("with password ", "use password ", "using password ", "with the password ", "mot de passe", "contrase",
         "senha", "wachtwoord"),
        r"(?i:(?:with|use|using) (?:the )?password "
        r"|(?:mot de passe|contrase(?:\xc3\xb1|n|\\{1,15}u00f1)a|senha|wachtwoord)[*\"']{0,2}\s?[:=]\s?)"
        r"[\"'`]?([^\s\"'`,;\\()=<>{}\[\]|]{6,256})(?![()=<>{}\[\]])",
    ),
    (
        "sent-password",  # by a script that waits for a prompt
        ("expect",),
        rf"(?i:expect[^\n\"']{{0,24}}[\"'][^\n\"']{{0,40}}{_PASS}[^\n\"']{{0,24}}[\"']\)?[;\s}}{{]{{1,40}}"
        r"(?:\w{1,16}\.)?(?:send|sendline)\b(?:\s--)?[\s(]{1,3}[\"'])([^\s\"'$\\][^\s\"'\\]{3,255})",
    ),
    (
        "environment-value",
        ("_pat", "_auth", "_creds", "_salt", "sshpass="),
        rf"(?:_(?:PAT|AUTH|CREDS?|SALT)(?:{_QUOTE})?(?:=|:\s)|SSHPASS=|(?<![A-Za-z0-9])_auth\s?=)\s?(?:{_QUOTE})?(?P<value>{_BARE}{{6,{LONG}}}+)",
    ),
    (
        "environment-password",  # of words: of a shell's capitals nothing but the value can follow "="
        ("pass", "pwd="),
        rf"(?:PASS(?:WORD|WD|PHRASE|CODE)?|PWD)(?:_\d)?=(?P<quote>{_QUOTE})?(?![./~$%-])([^\s\"'`$;|&<>(){{}}\[\],#\\]{{4,{LONG}}})"
        rf"(?=[\s\"'\\]|\Z)",
    ),
    (
        "cookie-option",
        ("curl",),
        r"\bcurl\b[^\n]{0,512}?\s(?:-b|--cookie)[ =]{0,2}\\{0,15}"
        r"[\"']?[^\s=;\"']{1,64}=([^\s\"'`\\]{8,4096})",
    ),
    (
        "value-before-name",
        ("value",),
        rf"(?i:value)(?:{_QUOTE})?\s{{0,3}}[:=]\s{{0,3}}(?:(?P<quote>{_QUOTE})(?P<quoted>(?:(?!(?P=quote))[^\r\n]){{4,{LONG}}}+)(?P=quote)"
        rf"|(?P<bare>{_BARE}{{6,{LONG}}}+))(?=(?:\s{{0,3}},|\s|\\{{1,15}}n)(?:\s|\\{{1,15}}n){{0,32}}(?:{_QUOTE})?(?i:name|key|id|field|parameter(?:key)?)"
        rf"(?:{_QUOTE})?\s{{0,3}}[:=]\s{{0,3}}(?:{_QUOTE})?[\w./-]{{0,48}}?(?i:{_PASS}|pwd|secret|token|(?:api|access|secret|private)[_-]?key)s?(?:_\d)?(?![\w.-]))",
    ),
    (
        "named-value",  # the name in one field, the value in the next: XML, lists of variables, Terraform
        ("pass", "pwd", "secret", "token", "credential", "key"),
        rf"(?i:{_NAME})(?:{_QUOTE})?(?:{_BETWEEN}(?:\s{{0,3}},\s{{0,32}}|\s{{1,32}})(?:{_QUOTE})?(?i:(?:parameter)?value)(?:{_QUOTE})?"
        rf"|\s{{0,3}}\{{\s{{1,32}}(?:(?:description|type|sensitive)\s{{0,16}}=[^\n]{{0,200}}\n\s{{0,32}}){{0,3}}(?:default|value)"
        rf"|(?:{_QUOTE})?\s{{0,3}}:\s{{0,3}}\{{(?:\s|\\{{1,15}}n){{0,32}}(?:{_QUOTE}\w{{1,24}}{_QUOTE}\s{{0,3}}:\s{{0,3}}(?:{_QUOTE}[\w./-]{{0,40}}{_QUOTE}"
        rf"|[\w.-]{{1,40}})\s{{0,3}},(?:\s|\\{{1,15}}n){{0,32}}){{0,4}}{_QUOTE}(?i:value){_QUOTE})"
        rf"\s{{0,16}}[:=]\s{{0,3}}(?:(?P<quote>{_QUOTE})(?P<quoted>(?:(?!(?P=quote))[^\r\n]){{1,{LONG}}}+)"
        rf"|(?P<bare>{_BARE}{{6,{LONG}}}+))",
    ),
    (
        "typed-value",  # into a form, as tests of browsers and their servers tell it; and what stands in it then
        ("pass", "pwd"),
        rf"(?i:{_PASS}|pwd)(?:"
        r"(?P<typed>[^\n;.]{0,64}+(?:\.\w{1,12}\(\w{0,8}\)){0,2}\.(?:(?i:fill|type|val|set_?value|send_?keys|press_?sequentially)\(\s{0,8}"
        r"|value\s{0,3}=\s{0,3}))"
        r"|(?P<given>[^\n;,]{0,24}+,\s{0,8}(?:with:\s{0,3})?))"
        rf"(?P<quote>{_QUOTE})((?:(?!(?P=quote))[^\r\n]){{4,{LONG}}}+)(?P=quote)",
    ),
    (
        "shown-value",
        ("pass", "pwd"),
        rf"(?i:{_PASS}|pwd)[^\n\"\\]{{0,24}}\\?\"(?:\s\[[\w=-]{{1,24}}\]){{1,6}}:\s{{1,2}}(?:{_QUOTE})?([^\s\"'`\\]{{4,{LONG}}}+)",
    ),
    (
        "wrapped-value",  # name = Wrapper("value"), name = lookup || "value"
        ("pass", "pwd", "secret", "token", "key"),
        rf"(?i:{_LOOSE_NAME}{_AFTER})(?:{_QUOTE})?\s{{0,3}}{_SEPARATOR}(?:[^\n\"'`,;=]{{2,80}}+(?P<quote>{_QUOTE})"
        rf"([A-Za-z0-9+/=_~.-]{{16,{LONG}}}+)(?P=quote)"
        # name = lookup["name"] || "value", name = SecretStr("value")
        rf"|(?P<default>(?:\s?<%=)?[^\n,;=]{{0,80}}?(?:\|\||\?\?|\bor\b|\bSecretStr\(|\bSecretBytes\()\s{{0,3}})[rb]?{_QUOTE}([^\s\"'`\\]{{6,{LONG}}}+)(?={_QUOTE}))",
    ),
    (
        "secret-assignment",
        ("pass", "pwd", "pswd", "psk", "secret", "token", "credential", "key"),
        rf"(?i:{_LOOSE_NAME}{_AFTER})(?=[\s\"'`\\\])}}:=<?|!(\[>*-])(?:"
        # name: Type = value, name as Type = value, name[] = value
        rf"(?P<typed>(?:\s{{0,3}}:\s{{0,3}}[A-Za-z&'][\w&'<>\[\].?]{{0,32}}\s{{0,3}}|\[\d{{0,5}}\]\s{{0,3}}"
        rf"|\s(?:[Aa]s\s)?[A-Za-z]\w{{1,15}}\s{{0,3}})=\s{{0,3}}|(?:{_QUOTE}[\])])?\s(?:\|\||\?\?)\s{{1,3}}"
        rf"|(?:{_QUOTE})?\s{{0,3}}[:=]\s{{0,3}}\[\s{{0,32}})(?={_LETTER}{_QUOTE})"
        # name = value, "name": value, [name] => value, name: |\n value
        rf"|(?P<assigned>(?:{_QUOTE})?[\])}}]{{0,2}}(?:\s\[[^\]\n]{{1,32}}\])?(?:\s{{0,3}}|[ \t]{{4,40}}(?==))"
        rf"\*{{0,2}}{_SEPARATOR}\*{{0,2}}\s{{0,3}}(?:[|>][+-]?\s{{1,32}}|\s?string\(\d{{1,5}}\)\s)?"
        # name="name", blank line, value: a form in several parts
        rf"|{_QUOTE}(?:\r?\n|(?:\\{{1,3}}r)?\\{{1,3}}n){{2}})"
        # f("name", value), name(value)
        rf"|(?P<called>{_QUOTE}\s{{0,3}},\s{{0,32}}|\(\s{{0,3}})(?={_LETTER}{_QUOTE}){_HAS_DIGIT}"
        # <element name>value</, <key>name</key><string>value</
        rf"|(?P<marked>(?:{_QUOTE})?[\w \t=.:/\"'-]{{0,64}}+>(?:<!\[CDATA\[)?|</\w{{1,16}}>\s{{0,32}}<\w{{1,16}}>)"
        rf"{_HAS_DIGIT}"
        # set name value, --name value, name | value
        rf"|(?P<spaced>{_QUOTE}?\]?(?:\s{{0,8}}\|\s{{0,8}}|[ \t]{{1,8}})){_HAS_DIGIT})"
        rf"(?:{_LETTER}(?P<quote>{_QUOTE})(?P<quoted>(?:(?!(?P=quote))[^\r\n]){{1,{LONG}}}+)"
        rf"|(?P<bare>{_BARE}{{6,{LONG}}}+)(?![(\[]))",
    ),
)  # fmt: skip
