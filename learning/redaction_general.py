"""Rules that know no provider: headers, URLs, private keys, cookies, assignments; and what is no secret after all."""

from __future__ import annotations

import re

__all__ = ["GENERAL", "LONG", "is_dummy", "is_placeholder", "is_secret_field", "passes"]

LONG = 256  # bytes of a value that are looked at; the rest of a longer one belongs to it up to the next blank or quote
SHORTEST_PASSWORD = 4
SHORTEST_TOKEN = 8

_NAME = r"(?:pass(?:word|wd|phrase|code)s?|pwd|secrets?|tokens?|credentials?|key)"
_KEY_KIND = re.compile(
    rb"(?i)(?:api|access|secret|private|auth|encryption|signing|master|account|shared|service)[_.-]?\Z"
)
_QUOTE = r"\\{0,3}[\"'`]"

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
    if rule == "secret-assignment":
        name = match[0][: match.start(match.lastindex or 0) - match.start()].decode("latin-1")
        return _is_key(match) and _plausible(name, secret, quoted=match["quoted"] is not None)
    if rule in ("authorization", "bearer-token"):
        return _mixed(secret)
    return True


def _is_key(match: re.Match[bytes]) -> bool:
    """``api_key`` and its like are keys to something; ``sort_key`` and a bare ``key`` are not."""
    before = match.string[max(0, match.start() - 16) : match.start()]
    return match[0][:3].lower() != b"key" or _KEY_KIND.search(before) is not None


def _plausible(name: str, secret: bytes, *, quoted: bool) -> bool:
    if is_placeholder(secret) or b" " in secret:
        return False
    if quoted and _PASSWORD.search(name):
        return len(secret) >= SHORTEST_PASSWORD
    return len(secret) >= SHORTEST_TOKEN and (_mixed(secret) or (quoted and _mixed_case(secret)))


def _mixed(secret: bytes) -> bool:
    """Letters and digits, as in most generated secrets and in few words."""
    return _DIGIT.search(secret) is not None and _NO_DIGIT.search(secret) is not None


def _mixed_case(secret: bytes) -> bool:
    return len(secret) >= 2 * SHORTEST_TOKEN and secret.lower() != secret != secret.upper()
