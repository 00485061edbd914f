"""Whether what a general rule found is a secret: its name, the line before it and the value itself tell."""

from __future__ import annotations

import binascii
import re
from collections.abc import Callable

from prowess.learning.redaction.values import (
    could_stand_bare,
    is_basic,
    is_mixed,
    is_passphrase,
    is_placeholder,
    is_random,
    is_scrambled,
    is_strong,
    is_three_kinds,
    is_uuid,
    is_wordy,
    lazy,
    plausible,
)

__all__ = ["passes"]

LINE = 120  # bytes before a name that may tell what it is
LONGEST_MARK = 80
LEAST_CORE = 16  # signs in a row in a token of three kinds of signs
LEAST_TOLD = 12  # where a word says what it is
LEAST_SMALL = 32  # in one of small letters and digits, where a word says what it is
LEAST_PREFIX = 3  # before a token with several "-" or "_": the beginning of any such text may look like a shorter one
LONGEST_PREFIX = 20  # most signs of a token before the word in it that says what it is: "tskey-", "whsec_"

# Compiled when they are asked for: a hook's process lives for milliseconds and meets few of them.
_IN_MARK = rb"\[masked:[\w.-]{0,64}\Z"  # the "token" of "[masked:bearer-token]: more" is no name
_STRONG_KIND = (
    rb"(?i)(?:api|access|secret|private|auth|encryption|signing|master|account|(?:pre-?)?shared|service|subscription)"
    rb"[ _.-]?\Z"
)
_WEAK_KIND = (
    rb"(?i)(?:consumer|client|app|application|storage|session|webhook|deploy(?:ment)?|ssh|host|admin|cookie|jwt|crypt|hmac|"
    rb"root|write|read|server|bot|integration|ingest|license|project|user|functions?)[_.-]?\Z|[?&]\Z|\bx-[a-z0-9-]{1,24}-\Z"
)
_ENVIRONMENT = rb"(?:[^A-Za-z0-9_]|\A)[A-Z][A-Z0-9_]{1,24}_\Z"
_NO_SECRET_KIND = (
    rb"(?i)(?:cache|public|pub|gpg|pgp|primary|sort|foreign|partition|index|map|row|group|idempotency|hot|hash|range|lock|"
    rb"lookup|react|query|data|publishable|object|dict|registry|unique|dedup)[_.-]?\Z"
)
_JOINED = rb"(?:(?i:[_.&?,;-]|require|master|store|key|db|user|root|admin|smtp|ftp|ssh)[Pp][Aa][Ss][Ss]|[a-z]Pass)\Z"
_OPTION = rb"(?:\A|[\s\"'])--?[A-Za-z][\w-]{0,40}\Z|(?:\A|[\s\"'])--?\Z"
_SETS = (
    rb"(?i)(?:\A|[\s;&|(`$\"':])(?:set(?:x|env|q|f)?|env|config(?:ure)?|#?define|add|put|export|secrets?|requirepass|masterauth|"
    rb"\w{1,16}_header)[\s(]"
    rb"[^\n]{0,100}\Z"
)
_BEGINS_LINE = rb"(?: {0,8}\d{1,7}(?:\xe2\x86\x92|\t|\\{1,15}(?:t|u2192))|\+)?[ \t]{0,40}[\w.:/-]{0,40}\Z"
_FIRST_ARGUMENT = rb"[\w!]\(\s{0,32}(?:\w{1,32},\s{0,3})?[rbuLN@$]?\\{0,3}[\"'`][\w.: -]{0,48}\Z"
_TYPES = rb"(?i)(?:(?:\.|\b)(?:fill|type|send_?keys|set_?value)\(|\bfill_in\s)[^\n]{0,80}\Z"
_TEXTBOX = rb"\btextbox \\?\"[^\"\n]{0,60}\Z"
_COMPLAINS = (
    rb"(?i)(?:unexpected|invalid|unknown|missing|illegal|bad|undefined|duplicate|near|expected)\s{1,3}[\w ]{0,16}\Z"
)
_OPEN_ELEMENT = rb"<[\w:.-]{1,32}[\s>][^<>]{0,80}\Z|<[\w:.-]{0,48}\Z"
_TOKEN_START = (
    rb"(?i)(?:\A|[^A-Za-z0-9_./-])[A-Za-z0-9_-]{0,12}?(?P<word>sk|rk|pw|pat|key|sec|tok|api|auth|live|token|secret)\Z"
)
_PROMPTED = rb"(?:\A|[>\r$#]|\\r)\s{0,2}(?:[A-Za-z]{0,2}\d{1,4}\s)?\Z"
_AT_OPTION = rb"-[a-z]{1,16}[\s=]{1,3}[\"']?\Z"
_OPTION_PROSE = (
    rb"(?i)(?:and|as|by|for|from|has|if|in|is|of|on|or|the|to|was|when|with|flags?|options?|arguments?|parameters?)\W?"
)
_IDENTIFIERS = frozenset(
    b"call chatcmpl cmpl req msg msgs resp run thread file toolu srvtoolu batch asst org proj gen fc rs ws evt cs pi "
    b"seti sha sha1 sha256 sha384 sha512 md5 pk pub arn urn sess step".split()
)


def passes(rule: str, match: re.Match[bytes], secret: bytes) -> bool:
    """Whether a general rule's match is a secret; these rules match by context, so the value has to look like one."""
    if rule == "private-key":
        return True
    check = _CHECKS.get(rule)
    likely = (check is None or check(match, secret)) and not is_placeholder(secret)
    return likely and re.search(_IN_MARK, _before(match, LONGEST_MARK)) is None


def _before(match: re.Match[bytes], size: int = LINE) -> bytes:
    """What stands on the line before the match; also on a line of a text within JSON."""
    start = match.start()
    return match.string[max(0, start - size) : start].rpartition(b"\n")[2].rpartition(b"\\n")[2]


def _assigned(match: re.Match[bytes], secret: bytes) -> bool:
    quoted = match["quoted"] is not None
    if not quoted and not could_stand_bare(secret) and not is_passphrase(secret.replace(b"-", b" ")):
        return False
    known = _kind(match, match["name"].lower())
    if known is None or not (known or is_strong(secret)) or _names_itself(match, secret):
        return False
    if match["assigned"] is not None and match["assigned"].strip()[:2] in (b"==", b"!="):
        return quoted and is_mixed(secret) and not is_wordy(secret)
    if match["typed"] is not None and match["typed"].rstrip().endswith(b"[") and match["name"].lower() == b"pass":
        return False  # "fail_to_pass": [...]
    if match["typed"] is not None and match["typed"].rstrip()[-1:] == b"[" and match["name"][:1] not in b"pPsS":
        return is_strong(secret)  # lists of words are called tokens, too
    if match["assigned"] is not None or match["typed"] is not None:
        return plausible(_label(match), secret, quoted=quoted)
    if not is_mixed(secret) or b" " in secret or len(secret) < (6 if match["name"][:1] in b"pP" else 8):
        return False
    if match["called"] is not None:
        return _argument(match, secret)
    return _element(match, secret) if match["marked"] is not None else _spaced(match, secret)


def _label(match: re.Match[bytes]) -> str:
    """What stands before the secret in the match."""
    return match[0][: match.start(match.lastindex or 0) - match.start()].decode("latin-1")


def _kind(match: re.Match[bytes], name: bytes) -> bool | None:
    """Whether the name says that a secret follows (True), perhaps (False), or something else (None)."""
    before = _before(match, 28)
    if name == b"key":
        if re.search(_STRONG_KIND, before):
            return True
        if re.search(_NO_SECRET_KIND, before) or not (re.search(_WEAK_KIND, before) or _environment(match, before)):
            return None
        return False
    if name == b"pass":
        quoted = match["quote"] is not None and match[0][4:5] != b" "  # "pass 'x1' on" is prose
        return quoted or re.search(_JOINED, before + match["name"]) is not None
    return True


def _names_itself(match: re.Match[bytes], secret: bytes) -> bool:
    """``PASSWORD = "password"``, ``cancelToken: CancelToken$1``, ``token: other::Token``; paths, versions, links."""
    name = match["name"].lower()
    identifier = _joined(re.split(rb"[^\w.-]", _before(match, 48) + match["name"])[-1])
    if is_wordy(secret) and identifier.endswith(_joined(secret)):
        return True
    if name == b"pwd" and identifier in (b"pwd", b"oldpwd") and _PATH.match(secret):
        return True
    if match["bare"] is not None and name[:1] in b"tkc" and _CODE.fullmatch(secret):
        return True
    return (
        _VERSION.fullmatch(secret) is not None
        or _FILE_NAME.fullmatch(secret) is not None
        or (match["bare"] is not None and (b"::" in secret or _LINK.fullmatch(secret) is not None))
    )


def _joined(name: bytes) -> bytes:
    return re.sub(rb"[^a-z0-9]", b"", name.lower())


def _environment(match: re.Match[bytes], before: bytes) -> bool:
    return match["name"] == b"KEY" and re.search(_ENVIRONMENT, before) is not None


def _argument(match: re.Match[bytes], secret: bytes) -> bool:
    """``define("DB_PASSWORD", "value")``, ``.password("value")``."""
    before = _before(match)
    if match["called"].startswith(b"("):
        return before.lower().endswith((b".", b">", b"set", b"set_", b"with", b"with_")) or is_strong(secret)
    return re.search(_FIRST_ARGUMENT, before) is not None and (
        not is_wordy(secret) or before.endswith((b"_", b".", b"-"))
    )


def _element(match: re.Match[bytes], secret: bytes) -> bool:
    """``<string name="api_key">value</string>``."""
    closed = match.string[match.end() : match.end() + 2] == b"</" or b"CDATA" in match["marked"]
    told = match["marked"][:1] == b">" and match["name"][:1] in b"pP"
    return closed and (told or not is_wordy(secret)) and re.search(_OPEN_ELEMENT, _before(match)) is not None


def _spaced(match: re.Match[bytes], secret: bytes) -> bool:
    """``set -x API_TOKEN value``, ``--db-password value``, a line ``password value``, SQL's ``PASSWORD 'value'``."""
    if b"|" in match["spaced"]:
        return is_strong(secret) or (match["name"][:1] in b"pP" and not is_wordy(secret))
    if secret.startswith(b"-") or not plausible("token", secret, quoted=False):
        return False
    before = _before(match)
    if re.search(_OPTION, before) or re.search(_SETS, before):
        return True
    if match["quoted"] is not None:
        usual = match["name"].lower().startswith(b"p") or is_strong(secret)
        return usual and re.search(_COMPLAINS, before) is None
    ends_line = match.string[match.end() : match.end() + 1] in (b"", b"\n", b"\r", b"\\", b'"')
    told = match["name"].lower() == b"pass" or not is_wordy(secret)
    return told and ends_line and re.fullmatch(_BEGINS_LINE, before.rpartition(b': "')[2]) is not None


def _named(match: re.Match[bytes], secret: bytes) -> bool:
    kind = match[0][:3].lower() != b"key" or re.search(_STRONG_KIND, _before(match, 28)) is not None
    return kind and plausible(_label(match), secret, quoted=match["quoted"] is not None)


def _told(match: re.Match[bytes], secret: bytes) -> bool:
    return is_mixed(secret) if match["name"].lower().startswith(b"p") else is_strong(secret.rstrip(b".,;:!?)"))


def _token_word(match: re.Match[bytes], secret: bytes) -> bool:
    head = match.string[max(0, match.start() - LONGEST_PREFIX - 1) : match.start()]
    prefix = re.search(_TOKEN_START, head)
    if prefix is None or re.search(_NO_SECRET_KIND, head[: prefix.start("word")]):
        return False
    core = max(re.split(rb"[_-]", secret), key=len)
    if len(core) >= LEAST_TOLD and is_three_kinds(secret) and is_three_kinds(core):
        return True
    word = prefix["word"].lower()
    if is_uuid(secret[-36:]):
        return word in (b"pat", b"sk", b"secret") and len(secret) <= 44
    return word in (b"pat", b"sk", b"secret", b"token", b"key", b"api") and len(core) >= LEAST_SMALL and is_random(core)


def _shaped(match: re.Match[bytes], secret: bytes) -> bool:
    parts = len(re.findall(rb"[_-]", secret))
    if match["prefix"].lower() in _IDENTIFIERS or (parts > 1 and len(match["prefix"]) < LEAST_PREFIX):
        return False
    core = max(re.split(rb"[_.-]", secret), key=len)
    if (
        len(core) >= LEAST_CORE
        and is_three_kinds(core)
        and is_three_kinds(secret)
        and len(re.findall(rb"\d+", secret)) > 1
    ):
        return True
    small = core.lower() == core and re.search(rb"[g-z]", core) is not None
    return small and len(core) >= LEAST_SMALL + 4 and is_random(core)


def _typed(match: re.Match[bytes], secret: bytes) -> bool:
    into = match["typed"] is not None or re.search(_TYPES, _before(match)) is not None
    return into and plausible("password", secret, quoted=True)


def _given(match: re.Match[bytes], secret: bytes) -> bool:
    """What a program is given as its password: no file, port or variable, and not only words."""
    looks = is_mixed(secret) or could_stand_bare(secret)
    return looks and _EXPANDED.search(secret) is None and (_FILE.search(secret) is None or is_strong(secret))


def _given_to_any(match: re.Match[bytes], secret: bytes) -> bool:
    """What any program is given behind a user; of some neither option means that: ``sudo -u app mkdir -p v2``."""
    return (
        _given(match, secret)
        and _PORTS.fullmatch(secret) is None
        and re.search(_OTHER_USER, _before(match)) is None
        and re.search(_OTHER_OPTION, match[0]) is None
    )


def _mixed(match: re.Match[bytes], secret: bytes) -> bool:
    return is_mixed(secret)


def _wrapped(match: re.Match[bytes], secret: bytes) -> bool:
    name = match["name"].lower()
    if _kind(match, name) is None:
        return False
    return is_strong(secret) or (match["default"] is not None and plausible(_label(match), secret, quoted=True))


def _encoded_json(match: re.Match[bytes], secret: bytes) -> bool:
    """JSON in base64 with a field that has a secret's name."""
    return _SECRET_MEMBER.search(_decoded(secret)) is not None


def _encoded(match: re.Match[bytes], secret: bytes) -> bool:
    """What a command puts into base64, or takes out of it."""
    told = _decoded(secret) if match["decoded"] is not None else secret
    one = told.isascii() and re.search(rb"[\s{\"]", told.rstrip(b"\n")) is None  # no text, no JSON
    return one and _given(match, told) and not is_wordy(told)


def _decoded(secret: bytes) -> bytes:
    plain = secret.rstrip(b"=").translate(bytes.maketrans(b"-_", b"+/"))
    try:
        return binascii.a2b_base64(plain[: len(plain) - (len(plain) % 4 == 1)] + b"==")
    except ValueError:
        return b""


def _in_element(match: re.Match[bytes], secret: bytes) -> bool:
    if b" " not in secret:
        return plausible(match[0].decode("latin-1"), secret, quoted=True)
    told = match[0][:40].lower()
    return (b"pass" in told or b"pwd" in told) and is_passphrase(secret, least=2)


_PATH = lazy(rb"[/~]|[A-Za-z]:[/\\]")
_RARE = lazy(rb"[!#%^*~:]")
_GLOB = lazy(rb"[*?/^]|%[A-Za-z]")  # FILE_PAT=*.log, DATE_PAT=%Y-%m


def _worded(match: re.Match[bytes], secret: bytes) -> bool:
    """What a shell's variable is set to, of words or digits only: what else it can be, ``_assigned`` knows."""
    short = match[0].startswith((b"PASS=", b"PWD="))
    before = _before(match, 64)
    if re.search(_NO_PASSWORD, before + match[0].partition(b"=")[0]) or _SETTING.fullmatch(secret):
        return False
    named = re.search(_SHELL_NAME, before) is not None and not _calls(match, secret)
    return named and not could_stand_bare(secret) and not (short and secret.isdigit())


def _calls(match: re.Match[bytes], secret: bytes) -> bool:
    """``PASSWORD=password``: a name of code, given on under a name of its own."""
    name = _joined(match[0].partition(b"=")[0])
    return (
        _joined(secret).endswith(name) or re.fullmatch(rb"(?i)[a-z_]{1,64}(?:\.[a-z_]{1,64}){1,4}", secret) is not None
    )


# COMPASS, BYPASS, GIT_ASKPASS; the folder of a shell; what is to be done with a password.
_NO_PASSWORD = (
    rb"(?:COM|BY|ASK|TRES|SUR)PASS\Z|(?<![A-Z0-9_])(?:OLD)?PWD\Z"
    rb"|(?<![A-Z0-9])(?:ALLOW|SHOW|HIDE|USE|ENABLE|DISABLE|REQUIRE|ASK|MIN|MAX|HAS|FORCE|CHECK|VERIFY|PROMPT|NEED)_"
    rb"(?:[A-Z0-9]{1,16}_){0,2}(?:PASS(?:WORD|WD|PHRASE|CODE)?|PWD)\Z"
)
_SETTING = lazy(
    rb"(?i)always|never|auto|(?:en|dis)abled?|required|prompt|input|stdin|unset|empty|hidden|missing|invalid"
    rb"|todo|fixme|not_?set|(?:change|replace|insert|fill)[_-].{1,64}"
)
_SHELL_NAME = rb"(?:\A|[\s\"'#])[A-Z0-9_]{0,40}\Z"
_SECRET_MEMBER = lazy(
    rb"(?i)\"[\w.-]{0,32}(?:auth|pass(?:word|wd|phrase)?|pwd|secret|token|api_?key|private_?key|access_?key|credentials?)\"\s{0,8}:\s{0,8}"
    rb"\"[^\"\s]{6,}"
)
_VERSION = lazy(rb"[~^<>=v ]{0,3}\d{1,4}(?:\.[\dx*]{1,6}){1,3}(?:-[\w.]{1,16})?")
_FILE_NAME = lazy(rb"[~.]{0,2}(?:/?[\w.-]{1,64}/){1,16}[\w-]{1,64}\.[a-z]{1,5}\d?(?:::.{1,200})?")
_LINK = lazy(rb"(?i)https?://[^\s@?]{1,200}")
_CODE = lazy(rb"[a-z]{2,16}(?:[A-Z][a-z]{1,16}){1,6}\d?|[A-Za-z]{1,64}\$\d{1,2}")
_EXPANDED = lazy(rb"\$[({]|\{\{|\}\}|`")  # by a shell or a template
_PORTS = lazy(rb"(?i)(?:[\w.\[\]-]{0,64}:)?\d{1,5}:\d{1,5}(?:/\w{3,4})?|[TUS]:\d[\d,:TUS-]{0,120}")
_SAID = lazy(rb"(?i)(?:pass(?:word|wd)?|secret|(?:api|access|auth)?[_-]?(?:token|key))")  # curl -u username:password
# "-u" of these is who they are run as, or asks for something else.
_OTHER_USER = (
    rb"(?:\A|[\s\"';|&(])(?:sudo|runuser|nmap|ps|pgrep|pkill|rsync|cp|e?grep|"
    rb"(?:docker|podman|nerdctl|docker-compose)(?: compose)? (?:run|exec|create))"
    rb"(?:\s{1,2}-[^\s=]{1,64}(?:[ =][^\s-]\S{0,64})?){0,16}\Z"
)
_OTHER_OPTION = rb"\s(?:mkdir|cp|install|touch|pg_ctl)\s[^\n]{0,64}\Z"
_FILE = lazy(rb"\A[./~]|\A[\w./-]{1,128}\.[a-z]{2,4}\d?\Z|\A[\w.-]{0,64}/[\w./-]{1,128}\Z|\A[\w.-]{1,64}:\d{1,5}\Z")

_CHECKS: dict[str, Callable[[re.Match[bytes], bytes], bool]] = {
    "authorization": lambda match, secret: is_scrambled(secret),
    "bearer-token": lambda match, secret: is_scrambled(secret),
    "docker-auth": lambda match, secret: is_basic(secret),
    "cookie-option": _mixed,
    "element": _in_element,
    "encoded-json": _encoded_json,
    "encoded-password": _encoded,
    "environment-password": _worded,
    "environment-value": lambda match, secret: (
        (is_random(secret) or _RARE.search(secret) is not None)
        and not (match[0][:4] == b"_PAT" and _GLOB.search(secret))
        and _LINK.fullmatch(secret) is None
        and is_mixed(secret)
        and not is_wordy(secret)
        and _PATH.match(secret) is None
    ),
    "login-call": _mixed,
    "named-value": _named,
    "netrc": lambda match, secret: (
        not secret.isalpha() if match[0][:7] == b"machine" else could_stand_bare(secret) and not is_wordy(secret)
    ),
    "pass-source": lambda match, secret: re.search(_AT_OPTION, _before(match, 24)) is not None,
    "password-argument": _given,
    "password-option": lambda match, secret: _EXPANDED.search(secret) is None and _PORTS.fullmatch(secret) is None,
    "pgpass": lambda match, secret: is_mixed(secret) or not is_wordy(secret),
    "prefixed-token": _shaped,
    "program-option": _given,
    "prompted-password": lambda match, secret: (
        could_stand_bare(secret) and not is_wordy(secret) and _VERSION.fullmatch(secret) is None
    ),
    "protocol-password": lambda match, secret: (
        is_scrambled(secret) and re.search(_PROMPTED, _before(match, 40)) is not None
    ),
    "pw": _mixed,
    "webhook-url": lambda match, secret: not is_uuid(secret) and is_random(secret),
    "secret-assignment": _assigned,
    "secret-option": lambda match, secret: re.fullmatch(_OPTION_PROSE, secret) is None,
    "session-cookie": lambda match, secret: is_strong(secret) and not (match[0][:8] == b"session=" and is_uuid(secret)),
    "shown-value": lambda match, secret: (
        plausible("password", secret, quoted=True) and re.search(_TEXTBOX, _before(match, 80)) is not None
    ),
    "signed-url": lambda match, secret: is_random(secret) and (_before(match, 16)[-1:] or b" ") in b"?&-_;, ",
    "token-word": _token_word,
    "told-password-beside": lambda match, secret: _given(match, secret) and not is_wordy(secret),
    "told-password": _told,
    "typed-value": _typed,
    "user-option": _given_to_any,
    "user-password": lambda match, secret: _EXPANDED.search(secret) is None and _SAID.fullmatch(secret) is None,
    "url-credentials": lambda match, secret: b"/" not in secret or (len(secret) > 12 and is_mixed(secret)),
    "url-token": lambda match, secret: is_strong(secret),
    "value-before-name": lambda match, secret: plausible("password", secret, quoted=match["quoted"] is not None),
    "wrapped-value": _wrapped,
}
