"""Rules that know no provider: headers, URLs, private keys, cookies, assignments; and what is no secret after all."""

from __future__ import annotations

import base64
import re

__all__ = ["EXTRA", "GENERAL", "LONG", "is_dummy", "is_name", "is_placeholder", "is_secret_field", "passes"]

LONG = 256  # bytes of a value that are looked at; the rest of a longer one belongs to it up to the next blank or quote
SHORTEST_PASSWORD = 4
SHORTEST_TOKEN = 8
LONGEST_WORD = 15

_NAME = r"(?:pass(?:word|wd|phrase|code)s?|pwd|secrets?|tokens?|credentials?|key)"
_KEY_KIND = re.compile(
    rb"(?i)(?:api|access|secret|private|auth|encryption|signing|master|account|shared|service)[_.-]?\Z"
)
_QUOTE = r"\\{0,3}[\"'`]"

# Providers' formats that the catalogue lacks or wants a name for; in the form of its rules.
EXTRA: tuple[tuple[str, tuple[str, ...], str, int, float, int], ...] = (
    ("google-oauth-client-secret", ("gocspx-",), r"\b(GOCSPX-[A-Za-z0-9_-]{24,40})(?![0-9A-Za-z_-])", 0, 3.0, 0),
    ("fly-token", ("fo1_",), r"\b(fo1_[A-Za-z0-9_-]{43})(?![0-9A-Za-z_-])", 0, 3.0, 0),
    ("new-relic-user-key", ("nrak-",), r"\b(NRAK-[A-Z0-9]{27})\b", 0, 3.0, 0),
    ("telegram-bot-token", (":aa",), r"\b([0-9]{8,10}:AA[A-Za-z0-9_-]{33})(?![0-9A-Za-z_-])", 0, 3.0, 16),
    ("twilio-key", ("sk",), r"\b(SK[0-9a-f]{32})\b", 0, 3.0, 0),
    ("mailchimp-key", ("-us",), r"\b([0-9a-f]{32}-us[0-9]{1,2})\b", 0, 3.0, 40),
)

# Name, keywords, pattern. A match begins with a keyword, and its last group is the secret.
GENERAL: tuple[tuple[str, tuple[str, ...], str], ...] = (
    (
        "private-key",
        ("-----begin",),
        r"-----BEGIN[ A-Z0-9_-]{0,64}PRIVATE KEY(?: BLOCK)?-----"
        r"(?:(?:[^-]|-(?!----)){0,16384}-----END[ A-Z0-9_-]{0,64}-----"
        r"|(?:[\s\"',+|]|\\[nr]|[A-Za-z0-9+/=]{16,128}){0,512})",
    ),
    ("url-credentials", ("://",), r"://[^\s/:@'\"`<>(){}]{0,128}:([^\s/@'\"`<>]{1,256})@[A-Za-z0-9\[]"),
    (
        "authorization",
        ("authorization",),
        rf"(?i:authorization(?:{_QUOTE})?\s{{0,4}}[:=,]\s{{0,4}}(?:{_QUOTE})?"
        rf"(?:(?:bearer|basic|token|digest|negotiate|apikey|key)\s{{1,4}})?([A-Za-z0-9+/=_.~:-]{{8,{LONG}}}+))",
    ),
    ("bearer-token", ("bearer",), rf"(?i:\bbearer\s{{1,4}}([A-Za-z0-9+/_.~=-]{{16,{LONG}}}+))"),
    (
        "cookie",
        ("cookie",),
        r"(?i:cookie(?:\\{0,3}[\"'])?\s{0,3}:\s{0,3}(?:\\{0,3}[\"'])?([^\s=;,\"'(){}<>]{1,64}=[^\r\n\"'\\]{4,4096}))",
    ),
    (
        "curl-user",
        ("curl",),
        r"\bcurl\b[^\n]{0,512}?\s(?:-u|--user)[ =]{0,2}[\"']?[^\s:\"'$]{1,64}:([^\s\"'$]{3,128})",
    ),
    (
        "secret-option",
        ("--pass", "--token", "--api", "--secret", "--access-key", "--auth"),
        r"(?i:--(?:password|passwd|passphrase|token|api-?key|secret(?:-key)?|access-key|auth-?token)(?:=|\s{1,2})"
        r"[\"']?([^\s\"'`]{4,256}+))",
    ),
    ("netrc", ("machine",), r"\bmachine\s{1,8}\S{1,256}\s{1,8}login\s{1,8}\S{1,256}\s{1,8}password\s{1,8}(\S{3,256})"),
    (
        "password-option",  # only a client that takes the password right behind the letter
        ("mysql", "mariadb", "sshpass", "docker login", "podman login", "redis-cli"),
        r"\b(?:(?:mysql\w{0,8}|mariadb[\w-]{0,8})\b[^\n|;&]{0,256}?\s-p|redis-cli\b[^\n|;&]{0,256}?\s-a\s{1,2}"
        r"|(?:sshpass|docker login|podman login)\b[^\n|;&]{0,256}?\s-p\s{0,2})"
        r"(?:[\"']([^\"'\n$]{3,128})|([^\s\"'$]{4,128}))",
    ),
    (
        "element",
        ("<pass", "<pwd", "<secret", "<token", "<apikey", "<api_key", "<client", "<access"),
        r"(?i:<(?:pass(?:word|wd|phrase)|pwd|secret|token|api_?key|client_?secret|access_?(?:token|key))>)"
        r"([^<>\s]{4,256})</",
    ),
    (
        "docker-auth",
        ('"auth', "'auth"),
        rf"{_QUOTE}auth{_QUOTE}\s{{0,3}}:\s{{0,3}}{_QUOTE}([A-Za-z0-9+/]{{8,512}}={{0,2}})",
    ),
    ("told-password", ("pass",), r"(?i:\bpass(?:word|phrase|wd)\s{1,2}(?:is|was)\s{1,2}[\"'`]?)([^\s\"'`]{6,128})"),
    (
        "named-value",  # the name in one field, the value in the next: XML, lists of variables, Terraform
        ("pass", "pwd", "secret", "token", "credential", "key"),
        rf"(?i:{_NAME})(?:{_QUOTE})?(?:\s{{0,3}},?\s{{1,32}}(?:{_QUOTE})?value(?:{_QUOTE})?"
        rf"|\s{{0,3}}\{{\s{{1,32}}(?:(?:description|type|sensitive)\s{{0,16}}=[^\n]{{0,200}}\n\s{{0,32}}){{0,3}}default)"
        rf"\s{{0,16}}[:=]\s{{0,3}}(?:(?P<quote>{_QUOTE})(?P<quoted>(?:(?!(?P=quote))[^\r\n]){{1,{LONG}}}+)"
        rf"|(?P<bare>[^\s\"'`,;(){{}}\[\]<>]{{6,{LONG}}}+))",
    ),
    (
        "secret-assignment",
        ("pass", "pwd", "secret", "token", "credential", "key"),
        rf"(?i:{_NAME})(?:{_QUOTE})?\]?\s{{0,3}}(?::=|=>|=|:)\s{{0,3}}"
        rf"(?:[rbu]?(?P<quote>{_QUOTE})(?P<quoted>(?:(?!(?P=quote))[^\r\n]){{1,{LONG}}}+)"
        rf"|(?P<bare>[^\s\"'`,;(){{}}\[\]<>]{{6,{LONG}}}+)(?![(\[]))",
    ),
)

_PLACEHOLDER = re.compile(
    rb"(?is)[\[<({].{0,200}[\])>}]|\{\{.*|\$[{(].{0,200}|\$[a-z_]{1,60}|%[a-z_]{1,60}%?|%\([a-z_]{1,60}\)s|@\w{1,60}@|"
    rb".?[*.x\xe2\x80\xa6#_-]+|"
    rb"(?:null|none|nil|true|false|undefined|string|str|bytes|int|number|bool|boolean|text|optional|required|object|any)|"
    rb".{0,20}(?:your|example|placeholder|redacted|masked|dummy|changeme|<).{0,200}|"
    rb"(?:os\.|process\.|env\.|self\.|this\.|config\.|settings\.|args\.|secrets\.|vars\.).{0,200}"
)
_DUMMY = re.compile(rb"(?i)(.)\1{0,4096}|[*x._-]{1,4096}")
_PASSWORD = re.compile(r"(?i)pass(?:word|wd|phrase|code)s?|pwd|passcode")
_FIELD = re.compile(
    r"(?:.*[_.\- ])?(?:(?:pass(?:word|wd|phrase|code)|pwd|secret|token|api[_.\- ]?key|credential|cookie|"
    r"(?:access|secret|private|auth|encryption|signing|master|account|shared|service)[_.\- ]?key)s?|authorization)"
)
_DIGIT = re.compile(rb"\d")
_NO_DIGIT = re.compile(rb"[A-Za-z\x80-\xff]")
_OPTION_PROSE = re.compile(
    rb"(?i)(?:and|as|by|for|from|has|if|in|is|of|on|or|the|to|was|when|with|flags?|options?|arguments?|parameters?)\W?"
)
_WORDS_ONLY = re.compile(rb"[A-Za-z_][A-Za-z_.]{0,254}")
_TYPE = re.compile(rb"[A-Za-z_][A-Za-z0-9_.]{0,254}(?:[A-Z][a-z]{2,}){2,}")
_HUMPS = re.compile(rb"[A-Z]{2,}(?![a-z])|[A-Z]?[a-z]+|[A-Z]")
_SMALL = re.compile(rb"[a-z]")
_HUMP = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")


def is_dummy(secret: bytes) -> bool:
    """A provider's token that was blanked out: ``xxxx-xxxx``."""
    return _DUMMY.fullmatch(secret) is not None


def is_placeholder(secret: bytes) -> bool:
    """Something that stands where a secret would: ``<token>``, ``${TOKEN}``, ``your-key-here``, ``xxxx``."""
    return _PLACEHOLDER.fullmatch(secret) is not None


def is_secret_field(key: str, value: str | int | float) -> bool:
    """A JSON field that by its name holds a secret, and whose value can be one."""
    name = _HUMP.sub("_", key).lower()
    if isinstance(value, bool) or not _FIELD.fullmatch(name):
        return False
    if not isinstance(value, str):
        return _PASSWORD.search(name) is not None
    if name.endswith(("authorization", "cookie", "cookies")):
        value = value.replace(" ", "")  # a scheme and its token, or several cookies
    return _plausible(name, value.encode("utf-8", "surrogatepass"), quoted=True)


def passes(rule: str, match: re.Match[bytes], secret: bytes) -> bool:
    """Whether a general rule's match is a secret; these rules match by context, so the value has to look like one."""
    if rule == "private-key":
        return True
    if is_placeholder(secret):
        return False
    if rule == "docker-auth":
        return _is_basic(secret)
    if rule == "netrc":
        return not secret.isalpha()
    if rule == "element":
        return _plausible(match[0].decode("latin-1"), secret, quoted=True)
    if rule == "secret-option":
        return _OPTION_PROSE.fullmatch(secret) is None
    if rule in ("secret-assignment", "named-value"):
        name = match[0][: match.start(match.lastindex or 0) - match.start()].decode("latin-1")
        return _is_key(match) and _plausible(name, secret, quoted=match["quoted"] is not None)
    if rule in ("authorization", "bearer-token", "told-password"):
        return _mixed(secret)
    return True


def _is_key(match: re.Match[bytes]) -> bool:
    """``api_key`` and its like are keys to something; ``sort_key`` and a bare ``key`` are not."""
    before = match.string[max(0, match.start() - 16) : match.start()]
    return match[0][:3].lower() != b"key" or _KEY_KIND.search(before) is not None


def _plausible(name: str, secret: bytes, *, quoted: bool) -> bool:
    if is_placeholder(secret) or b" " in secret or (not quoted and _is_reference(secret)):
        return False
    if quoted and _PASSWORD.search(name):
        return len(secret) >= SHORTEST_PASSWORD
    return len(secret) >= SHORTEST_TOKEN and (_mixed(secret) or (quoted and _mixed_case(secret)))


def _is_basic(secret: bytes) -> bool:
    """A user and a password, encoded as for basic authentication."""
    try:
        return re.fullmatch(rb"[\x21-\x7e]{1,256}:[\x20-\x7e]{1,256}", base64.b64decode(secret)) is not None
    except ValueError:
        return False


def is_name(secret: bytes) -> bool:
    """A name of code where a provider's token could stand: ``self.session_token``, ``ExternalKeyAttached``."""
    return _WORDS_ONLY.fullmatch(secret) is not None and _is_worded(secret)


def _is_reference(secret: bytes) -> bool:
    """A bare value that names something of the code: ``hpke.MLKEM768PrivateKey``, ``PKCS7PrivateKeyTypes``."""
    return _TYPE.fullmatch(secret) is not None and _is_worded(secret)


def _is_worded(secret: bytes) -> bool:
    """Several words of four letters on average, mostly small ones; chance has shorter runs, or one long one."""
    humps = _HUMPS.findall(secret)
    letters = len(b"".join(humps))
    usual = 4 * len(humps) <= letters and max(map(len, humps), default=0) <= LONGEST_WORD
    return len(humps) > 1 and usual and 5 * len(_SMALL.findall(secret)) >= 3 * letters


def _mixed(secret: bytes) -> bool:
    """Letters and digits, as in most generated secrets and in few words."""
    return _DIGIT.search(secret) is not None and _NO_DIGIT.search(secret) is not None


def _mixed_case(secret: bytes) -> bool:
    return len(secret) >= 2 * SHORTEST_TOKEN and secret.lower() != secret != secret.upper()
