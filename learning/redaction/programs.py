"""Rules for commands: what a program takes as a password, behind an option, as an argument, or on its input.

Behind an option that can mean nothing else any value is a secret; behind one that is also used for other things, and as
an argument, a value has to look like one (``checks.py``).
"""

from __future__ import annotations

__all__ = ["COMMANDS", "PIPED"]

# What may stand between a program and its option.
_GAP = r"[^\n|;&]{0,256}?(?<=[\s\"'])"
_TO = r"[ =]{1,2}"
_WORD = r"(?!-)[^\s|;&<>]{1,128}\s{1,2}"  # an argument that is no option
_OPTIONS = r"(?:--?\w[\w-]{0,32}\s{1,2}){0,4}"
# A sign of a shell's word, which is no escape of a text within JSON.
_SIGN = r"(?:[^\s\"'`|;&<>$\\]|\\(?![nrt\"'\\\s]))"
# All that is in single quotes, within double ones perhaps: elsewhere a shell takes whatever begins with "$" for one.
_VARIABLE = r"\$(?:[A-Za-z_]{1,64}|[A-Z_][A-Z0-9_]{0,64}|[{(][^\n'\"]{0,200}|\d{1,3})'"
# In quotes, with the other sort in it perhaps, or as a word; it is no variable and begins with no option's "-".
_VALUE = (
    rf"(?:\\{{0,15}}(?P<mark>[\"'])(?!(?<=\")\$|{_VARIABLE})"
    r"((?:(?!(?P=mark)|[\"'][\s,:)\]}])[^\n\\]|\\(?![nrt\"'\\])){4,4096})"
    rf"|(?![-({{\[\\$])({_SIGN}{{4,4096}}))"
)

# Programs, and the options behind which nothing but a password or a token can stand.
_SURE: tuple[tuple[str, str], ...] = (
    (r"mysql\w{0,8}|mariadb[\w-]{0,8}", r"-p(?!(?:rint\w{0,2}|ath|erm|rune|ort|rotocol)\b)"),
    (r"redis-(?:cli|benchmark)", rf"(?:-a{_TO}|AUTH\s{{1,2}}(?:default\s{{1,2}})?(?!default\b))"),
    (r"sshpass|(?:docker|podman|nerdctl|buildah|crane auth|oras|helm registry) login", rf"-p(?:{_TO})?"),
    (r"keytool|jarsigner", rf"-(?:src|dest)?(?:store|key)pass{_TO}"),
    (r"plink|pscp|psftp|kadmin\w{0,6}|addprinc|cpw", rf"-pw{_TO}"),
    (r"cmdkey|wmic", r"/pass(?:word)?:"),
    (r"(?:xfree|wlfree)rdp\d?", r"/p:"),
    (r"(?:un)?rar|7z\w?", r"-h?p(?=[^\s-])"),
    (r"security (?:add|find)-(?:generic|internet)-password", rf"-w{_TO}"),
    (r"security (?:unlock|create)-keychain", rf"-p{_TO}"),
    (r"security import", rf"-P{_TO}"),
    (r"user(?:add|mod)", rf"-p{_TO}"),
    (r"pdftk", r"(?:input|owner|user)_pw\s{1,2}"),
    (r"gh secret set", rf"(?:-b|--body)(?:{_TO})?"),
)
# Programs of which an option means a password, which has to look like one: the option has other uses as well.
_LIKELY: tuple[tuple[str, str], ...] = (
    (r"login|mongo\w{0,8}|twine upload|hydra|medusa", rf"-p{_TO}"),
    (r"ldap\w{2,12}", rf"-[ws]{_TO}"),
    (r"sqlcmd|bcp|(?:un)?zip|mosquitto_\w{3}|ipmitool|ssh-keygen", rf"-P(?:{_TO})?"),
    (r"ssh-keygen", rf"-N{_TO}"),
    (r"openssl enc", rf"-k{_TO}"),
    (r"snmp\w{3,12}", rf"-[AXc]{_TO}"),
    (r"swaks", rf"-ap{_TO}"),
    (r"schtasks", rf"/rp{_TO}"),
    (r"nuget \w{3,8}", rf"-k{_TO}"),
    (r"doctl auth init|vercel|netlify|railway", rf"(?:-t|--auth){_TO}"),
    (r"gem \w{3,8}", rf"--key{_TO}"),
    (r"keyvault secret set|secretsmanager \w{3,8}-secret\S{0,8}", rf"--(?:value|secret-string){_TO}"),
    (r"secrets? set", r"(?:\w{1,64}=|-b(?:ody)?[ =])"),
    (r"put-parameter(?=[^\n|;&]{0,300}?\b[sS]ecure[sS]tring)", rf"--value{_TO}"),
    (r"mvn|gradlew?|java", r"-[DP][\w.]{0,48}(?:[lL]ogin|[pP]ass|[pP]w|[sS]ecret)="),
)
# What stands before a password that is an argument of its own.
_ARGUMENT: tuple[str, ...] = (
    rf"htpasswd\s(?:-\w{{1,8}}\s{{1,2}}){{0,3}}-(?:\w{{0,4}}n\w{{0,4}}|\w{{1,6}}\s{{1,2}}\S{{1,128}})\s{{1,2}}{_WORD}",
    rf"rabbitmqctl\b[^\n|;&]{{0,64}}?\b(?:add_user|change_password)\s{{1,2}}{_WORD}",
    r"convertto-securestring\s{1,3}(?:-\w{1,12}\s{1,3}){0,3}",
    r"jdbc:oracle:\w{1,8}:[^\s/@\"']{1,64}/",
    rf"wpa_passphrase\s{{1,2}}{_WORD}",
    r"nmcli\s[^\n|;&]{0,128}?\spassword\s{1,2}",
    r"lftp\s[^\n|;&]{0,96}?-u\s{1,2}[^\s,]{1,64},",
    r"(?:sqlplus|impdp|expdp|sqlldr)\s{1,2}(?:-\w{1,8}\s{1,2}){0,3}[\"']?\w{1,64}/",
    r"identified\s{1,4}(?:with\s{1,4}\S{1,64}\s{1,4})?by\s{1,4}(?:password\s{1,4})?(?=\\{0,15}[\"'])",
    r"set password (?:for \S{1,64} )?=\s?(?=\\{0,15}[\"'])",
    r"(?:smbclient|rpcclient|net rpc)\b[^\n|;&]{0,128}?-U\s?[\"']?[^\s%]{1,64}%",
    r"mysqladmin\s[^\n|;&]{0,96}?\bpassword\s{1,2}",
    rf"net user\s{{1,2}}(?![-/]){_WORD}",
    r"net use\s[^\n|;&]{0,128}?/user:\S{1,64}\s{1,2}",
    r"net use\s{1,2}(?:(?:\w:|\*)\s{1,2})?\\{2,4}[^\s/]{1,128}\s{1,2}(?=\S{4,64}\s{1,2}/)",
    rf"ansible-vault encrypt_string\s{{1,2}}(?:--?[\w-]{{1,24}}[ =]{_WORD}){{0,3}}",
    r"openssl passwd\s{1,2}(?:-(?:salt\s{1,2}\S{1,64}|(?!salt)\w{1,8})\s{1,2}){0,3}",
    rf"(?:poetry|composer) config\s{{1,2}}{_OPTIONS}http-basic\.\S{{1,64}}\s{{1,2}}{_WORD}",
    r"poetry config\s{1,2}pypi-token\.\S{1,64}\s{1,2}",
    rf"mosquitto_passwd\s{{1,2}}(?:-\w{{1,3}}\s{{1,2}}){{1,3}}{_WORD}{_WORD}",
    r"rclone config\s{1,2}[^\n|;&]{0,96}?\spass[ =]{1,2}",
    r"(?:vault|cargo|wandb|bw)\slogin\s{1,2}(?:[\w.+-]{1,64}@[\w.-]{1,64}\s{1,2})?(?!\S{1,64}@[\w-]{1,64}\.)",
    r"(?:vault operator unseal|bw unlock|snyk auth|ngrok (?:config add-)?authtoken)\s{1,2}",
    r"snmp-server community\s{1,2}",
    r"rootpw\s{1,2}(?:--plaintext\s{1,2})?",
    r"shadow\.set_password\s{1,2}\S{1,64}\s{1,2}",
    r"username\s\S{1,64}\s(?:privilege \d{1,2} )?(?:password|secret)\s(?:\d\s)?",
)
# Before a user with a password, "user:password".
_PAIR: tuple[str, ...] = (
    r"curl\b[^\n]{0,512}?\s(?:(?:-[a-zA-Z]{0,8}[uU]|--user|--proxy-user)[ =]{0,2}"
    r"|(?:-E|--cert)[ =]{1,2}(?=\S{1,128}\.\w{2,4}:))",
    r"(?:https?|xhs?)\s[^\n|;&]{0,96}?(?<=\s)(?:-a|--auth)[ =]{1,2}",
    r"--(?:src-|dest-)?creds[ =]{1,2}",
    r"jenkins-cli\S{0,8}\s[^\n|;&]{0,96}?-auth[ =]{1,2}",
    rf"bundle config\s{{1,2}}(?:set\s{{1,2}})?{_OPTIONS}{_WORD}",
    r"chpasswd\s{0,2}(?:-\w{1,3}\s{0,2}){0,2}<<<\s{0,2}",
    r"\w{3,16}\.py\s(?:[\w.-]{1,64}/)?(?=[^\s:]{1,64}:[^\s@]{4,128}@[\w.-]{1,128}(?:[\s\"'\\]|\Z))",
)


def _choice(options: tuple[tuple[str, str], ...]) -> str:
    return "|".join(rf"(?:{programs})(?![\w./-])\s{_GAP}{option}" for programs, option in options)


# Name, keywords, pattern; as in general.py.
COMMANDS: tuple[tuple[str, tuple[str, ...], str], ...] = (
    (
        "user-password",
        ("curl", "http ", "https ", "xh ", "xhs ", "--creds", "--src-creds", "--dest-creds", "jenkins-cli",
         "bundle config", "chpasswd", "psexec.py", "smbexec.py", "wmiexec.py", "secretsdump.py"),
        rf"(?<![A-Za-z0-9_])(?:{'|'.join(_PAIR)})\\{{0,15}}(?P<mark>(?P<one>')|\")?(?![-$])[^\s:\"'$`@]{{1,128}}:"
        rf"(?!{_VARIABLE})"
        r"((?!//)(?:[^\s\"'$`|;&<>\\@]|(?(one)\$|(?!))|(?(mark)(?!(?P=mark))[|;&<>\"'](?=[^\s\"'])|(?!))|@(?![\w.-]{1,128}(?:[\s\"'\\]|\Z))){3,256})",
    ),
    (
        "password-option",
        ("mysql", "mariadb", "redis-", "sshpass", "docker login", "podman login", "nerdctl login", "buildah login",
         "crane auth login", "oras login", "helm registry login", "keytool", "jarsigner", "plink", "pscp", "psftp",
         "kadmin", "addprinc", "cpw ", "cmdkey", "wmic", "xfreerdp", "wlfreerdp", "rar ", "unrar", "7z",
         "security add-", "security find-", "security unlock-", "security create-", "security import", "useradd",
         "usermod", "pdftk", "gh secret set"),
        rf"(?<![A-Za-z0-9_])(?:{_choice(_SURE)}){_VALUE}",
    ),
    (
        "program-option",
        ("login", "mongo", "twine upload", "hydra", "medusa", "ldap", "sqlcmd", "bcp ", "zip ", "unzip", "mosquitto_",
         "ipmitool", "ssh-keygen", "openssl enc", "snmp", "swaks", "schtasks", "nuget ", "doctl auth init", "vercel",
         "netlify", "railway ", "gem ", "keyvault secret set", "secret set", "secrets set", "secretsmanager",
         "put-parameter", "mvn", "gradle", "java "),
        rf"(?<![A-Za-z0-9_])(?:{_choice(_LIKELY)}){_VALUE}",
    ),
    (
        "user-option",  # "-u alice -p password", of any program
        (" -u ", " -user ", " -username ", " --user ", " --username ", " --user=", " --username=", "\n -u "),
        rf"\s--?u(?:ser(?:name)?)?[ =][^\s-]\S{{0,64}}\s{_GAP}-p(?:w|ass)?[ =]{_VALUE}",
    ),
    (
        "password-argument",
        ("htpasswd", "rabbitmqctl", "convertto-securestring", "jdbc:oracle", "wpa_passphrase", "nmcli", "lftp",
         "sqlplus", "impdp", "expdp", "sqlldr", "identified", "set password", "smbclient", "rpcclient", "net rpc",
         "mysqladmin", "net user", "net use", "ansible-vault", "openssl passwd", "poetry config", "composer config",
         "mosquitto_passwd", "rclone config", "vault login", "cargo login", "wandb login", "bw login",
         "vault operator unseal", "bw unlock", "snyk auth", "ngrok ", "snmp-server community", "rootpw",
         "shadow.set_password", "username "),
        rf"(?i:{'|'.join(_ARGUMENT)}){_VALUE}",
    ),
    (
        "secret-option",  # of any program
        ("--pass", "--token", "--api", "--secret", "--access-key", "--auth", "--oauth2-bearer"),
        r"(?i:--(?:pass(?:word|wd|phrase)?|token|api-?key|secret(?:-key)?|access-key|auth-?(?:token|key)|oauth2-bearer)"
        rf"(?:=|\s{{1,2}})){_VALUE}",
    ),
)  # fmt: skip

# A password that a program reads: piped to it, in a here-string, in a here-document. In the form of EXTRA.
_READERS = (
    r"(?:chpasswd|sudo\s(?:-\w\s{1,2}){0,3}(?:-S\b|chpasswd)|(?:sudo\s{1,2})?(?:passwd|smbpasswd|kinit|cryptsetup)\s"
    r"|(?:gh|npx wrangler|wrangler|docker|gcloud) secrets?\s(?:versions\s)?(?:set|put|create|add)\b"
    r"|[a-z][\w-]{1,16}\s[^\n|;&]{0,160}?(?:(?:pass\w{0,8}|token)-stdin|passwd --stdin|--with-token|passphrase-fd))"
)
_ECHO = (
    r"\b(?:echo|printf)\s{1,2}(?:-\w{1,2}\s{1,2}|\\{0,15}[\"']%s(?:\\{1,15}n)?\\{0,15}[\"']\s{1,2})?"
    r"\\{0,15}[\"']?(?:[\w.-]{1,32}:)?"
)
_READ = (
    r"(?:[^\s\"'|:;&$<>{}\\)\[\]]{4,4096}"
    rf"|(?<=')(?!{_VARIABLE})[^\s'\\]{{4,256}}(?=\\{{0,15}}')"
    r"|(?<=\")(?!\$)[^\s\"`\\]{4,256}(?=\\{0,15}\"))"
)
PIPED: tuple[str, tuple[str, ...], str, int, float, int] = (
    "piped-password",
    ("-stdin", "--with-token", "passwd", "passphrase-fd", "sudo -s", "kinit", "cryptsetup", "secret set", "secret put",
     "secret create", "secrets create", "secrets set", "versions add"),
    rf"(?:{_ECHO}({_READ}(?:\\{{1,15}}n[^\s\"'|;&\[\]\\]{{0,4096}}|; echo [^\s|;&)\[\]]{{1,4096}})?)"
    rf"\\{{0,15}}[\"']?\)?\s{{0,2}}\|"
    rf"\s{{0,2}}{_READERS}"
    rf"|(?:-stdin|--with-token)\s{{1,2}}(?:[^\n|;&<>]{{1,128}}?\s)?<<<\s{{0,2}}\\{{0,15}}[\"']?({_READ})"
    rf"|(?:-stdin|--with-token|chpasswd)\s{{0,2}}(?:[^\n|;&<>]{{1,128}}?\s)?<<-?\s{{0,2}}\\{{0,15}}[\"']?\w{{1,32}}\\{{0,15}}[\"']?(?:\n|\\{{1,15}}n)"
    rf"\s{{0,16}}(?:[\w.-]{{1,32}}:)?({_READ}))",
    0, 0.0, 4400,
)  # fmt: skip
