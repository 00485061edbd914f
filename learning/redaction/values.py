"""What a value looks like: a placeholder, a name of code, a path, words, or something that was drawn by chance."""

from __future__ import annotations

import binascii
import re

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, TypeVar

    Text = TypeVar("Text", str, bytes)

__all__ = [
    "MARK", "could_stand_bare", "is_basic", "is_dummy", "is_mixed", "is_name", "is_passphrase", "is_placeholder",
    "is_random", "is_scrambled", "is_secret_field", "is_strong",
    "is_three_kinds", "is_uuid", "is_wordy", "lazy", "plausible", "tells_of_secret",
]  # fmt: skip

SHORTEST_PASSWORD = 4
SHORTEST_TOKEN = 8
SHORTEST_STRONG = 16
LONGEST_WORD = 15
# Letters of the same case in a row; of 20 or more signs drawn by chance 99 % have fewer on average, words have more.
CHANCE_RUN = 3.4
LEAST_DIGITS = 3  # in a token of small letters and digits: fewer are a name with a number


class _Lazy:
    """A pattern that is compiled when it is first used: a hook's process lives for milliseconds and needs few."""

    def __init__(self, pattern: str | bytes) -> None:
        self._pattern = pattern

    def __getattr__(self, name: str) -> Any:
        # Found here the first time only: then it is an attribute like any other.
        method = getattr(re.compile(self._pattern), name)
        setattr(self, name, method)
        return method


def lazy(pattern: Text) -> re.Pattern[Text]:
    """``pattern``, to be compiled later."""
    return _Lazy(pattern)  # type: ignore[return-value]


MARK = lazy(rb"\[masked:[\w.-]{1,64}\]")
_PLACEHOLDER = lazy(
    rb"(?is)[\[<({].{0,200}[\])>}]|\{\{.*|\$[{(].{0,200}|\$[a-z_]{1,60}|%[a-z]{1,3}|%[a-z_]{1,60}%|%\([a-z_]{1,60}\)s|@\w{1,60}@|"
    rb".?[*.x\xe2\x80\xa6#_-]+|"
    rb"(?:null|none|nil|true|false|undefined|string|str|bytes|int|number|bool|boolean|text|optional|required|object|any)|"
    rb".{0,20}(?:your|example|placeholder|redacted|masked|dummy|changeme|<).{0,200}|"
    rb"(?:os\.|process\.|env\.|self\.|this\.|config\.|settings\.|args\.|secrets\.|vars\.).{0,200}"
)
_DUMMY = lazy(rb"(?i)(.)\1{0,4096}|[*x._-]{1,4096}")
_PASSWORD = lazy(r"(?i)pass(?:word|wd|phrase|code|wort)s?|pwd|passcode")
_FIELD = lazy(
    r"(?:.*[_.\- ])?(?:(?:pass(?:word|wd|phrase|code|wort)|pwd|psk|secret|token|api[_.\- ]?key|credential|cookie|"
    r"(?:access|secret|private|auth|encryption|signing|master|account|shared|service|subscription)[_.\- ]?key)s?"
    r"|(?:db|user|smtp|mail|ftp|admin|root)[_.\- ]pass|authorization)"
    r"|.*pass(?:word|wd|phrase|wort)s?"  # PGPASSWORD
)
# One of these is in every name that the patterns for fields know.
_TELLING = (
    "key", "token", "pass", "secret", "pwd", "psk", "credential", "cookie", "authorization", "sessionid", "sessid",
    "connect.sid",
)  # fmt: skip
_WEAK_FIELD = lazy(
    r"(?:.*[_.\- ])?(?:consumer|client|app|application|storage|webhook|deploy|license|hmac|jwt|session)[_.\- ]?key"
    r"|(?:php|j)?sessionid|phpsessid|jsessionid|connect\.sid"
)
_NO_KEY = lazy(r"(?:.*_)?(?:cache|public|pub|gpg|pgp|primary|sort|foreign|partition|index|group|lock|hash|range)_key")
_DIGIT = lazy(rb"\d")
_NO_DIGIT = lazy(rb"[A-Za-z\x80-\xff]")
_WORDS_ONLY = lazy(rb"[A-Za-z_][A-Za-z_.]{0,254}")
_TYPE = lazy(rb"[A-Za-z_][A-Za-z0-9_.]{0,254}(?:[A-Z][a-z]{2,}){2,}")
_NUMBERED_TYPE = lazy(rb"(?:[A-Z][a-z]{2,}){2,}\d{1,2}")
_WORDY = lazy(rb"[A-Za-z]{1,64}(?:[ _.:/-][A-Za-z]{1,64}){0,32}[_.-]?\d{0,3}")
_HUMPS = lazy(rb"[A-Z]{2,}(?![a-z])|[A-Z]?[a-z]+|[A-Z]")
_SMALL = lazy(rb"[a-z]")
_HUMP = lazy(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z]{2})(?=[A-Z][a-z])")
_THREE_KINDS = lazy(rb"(?=[^a-z]*[a-z])(?=[^A-Z]*[A-Z])(?=[^0-9]*[0-9])")
_TOKEN_SIGNS = lazy(rb"[A-Za-z0-9+/=_~.%-]+")
_PIECE_OF_PATH = lazy(rb"(?:^|[./])[a-z]{3,}(?:[./]|$)")
_NUMBER = lazy(rb"0[xX][0-9A-Fa-f]{1,16}[uUlL]{0,3}")
_RARE_SIGN = lazy(rb"[!#%^*~]")
_SMALL_WORDS = lazy(rb"[a-z]{2,15}\d{0,3}(?: [a-z]{2,15}\d{0,3}){1,7}")
_OF_SENTENCES = frozenset(
    b"a an and any are as at be been by can choose code confirm current enter false field for forgot from has have "
    b"here if in incorrect input invalid is it its least login long match missing must my new no none not null of "
    b"old on only optional or passphrase password passwords please repeat required reset secret set should short "
    b"show string that the this to token too true type use used user value was weak when will with without wrong "
    b"you your".split()
)
_UUID = lazy(rb"(?i)[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}")


def is_dummy(secret: bytes) -> bool:
    """A provider's token that was blanked out: ``xxxx-xxxx``."""
    return _DUMMY.fullmatch(secret) is not None


def is_placeholder(secret: bytes) -> bool:
    """Something that stands where a secret would: ``<token>``, ``${TOKEN}``, ``your-key-here``, ``xxxx``."""
    return _PLACEHOLDER.fullmatch(secret) is not None


def tells_of_secret(key: str) -> bool:
    """Whether a field's name has a word that is in the name of every secret."""
    return any(map(key.lower().__contains__, _TELLING))


def is_secret_field(key: str, value: str | int | float) -> bool:
    """A JSON field that by its name holds a secret, and whose value can be one."""
    if isinstance(value, bool) or not tells_of_secret(key):
        return False
    name = _HUMP.sub("_", key).lower()
    if not _FIELD.fullmatch(name):
        return isinstance(value, str) and _perhaps(key, name, value.encode("utf-8", "surrogatepass"))
    if not isinstance(value, str):
        return _PASSWORD.search(name) is not None
    if name == "pwd" and value[:1] in "/~":
        return False  # the folder that a shell is in
    if name.endswith(("authorization", "cookie", "cookies")):
        value = value.replace(" ", "")  # a scheme and its token, or several cookies
    if " " in value and _PASSWORD.search(name):
        return _is_phrase(value.encode("utf-8", "surrogatepass"))
    return plausible(name, value.encode("utf-8", "surrogatepass"), quoted=True)


def _perhaps(key: str, name: str, value: bytes) -> bool:
    """A field that may hold a secret, with a value that nothing else would have."""
    if name == "pass":
        return plausible(name, value, quoted=True) and not is_wordy(value)
    environment = key.isupper() and key.endswith("_KEY") and not _NO_KEY.fullmatch(name)
    if environment or _WEAK_FIELD.fullmatch(name):
        return is_strong(value) and not is_uuid(value)
    return False


def plausible(name: str, secret: bytes, *, quoted: bool) -> bool:
    """Whether ``secret`` can be what is assigned to ``name``."""
    if not quoted and not could_stand_bare(secret):
        return _PASSWORD.search(name) is not None and is_passphrase(secret.replace(b"-", b" "))
    if _PASSWORD.search(name):
        usual = len(secret) >= (SHORTEST_PASSWORD if quoted else SHORTEST_TOKEN)
    else:
        usual = len(secret) >= SHORTEST_TOKEN and (is_scrambled(secret) or (quoted and _mixed_case(secret)))
    if quoted and b" " in secret:
        return _PASSWORD.search(name) is not None and is_passphrase(secret)
    if not usual or b" " in secret or (not quoted and (_is_reference(name, secret) or _NUMBER.fullmatch(secret))):
        return False
    return not is_placeholder(secret)


def _is_phrase(secret: bytes) -> bool:
    """Some words under a password's name, and none that a sentence about it would have."""
    words = secret.lower().split()
    return 2 <= len(words) <= 8 and _OF_SENTENCES.isdisjoint(words) and not is_placeholder(secret)


def is_passphrase(secret: bytes, least: int = 3) -> bool:
    """Small words, as in ``correct horse battery staple``, and none that a sentence or a label would have."""
    words = secret.split(b" ")
    return least <= len(words) <= 8 and _SMALL_WORDS.fullmatch(secret) is not None and _OF_SENTENCES.isdisjoint(words)


def could_stand_bare(secret: bytes) -> bool:
    """Whether a value that no quotes tell has a digit, or capitals as chance puts them or with a sign rare in code."""
    return is_scrambled(secret) or (
        _RARE_SIGN.search(secret) is not None and secret.lower() != secret != secret.upper()
    )


def is_basic(secret: bytes) -> bool:
    """A user and a password, encoded as for basic authentication."""
    try:
        return re.fullmatch(rb"[\x21-\x7e]{1,256}:[\x20-\x7e]{1,256}", binascii.a2b_base64(secret)) is not None
    except ValueError:
        return False


def is_name(secret: bytes) -> bool:
    """A name of code where a provider's token could stand: ``self.session_token``, ``ExternalKeyAttached``."""
    return _WORDS_ONLY.fullmatch(secret) is not None and is_worded(secret)


def _is_reference(name: str, secret: bytes) -> bool:
    """A bare value that names something of the code: ``hpke.MLKEM768PrivateKey``, ``apiKey: ApiKeyConfig2``."""
    if _NUMBERED_TYPE.fullmatch(secret):
        return re.sub(r"[^a-z]", "", name.lower()).encode() in secret.lower()
    return _TYPE.fullmatch(secret) is not None and is_worded(secret)


def is_worded(secret: bytes) -> bool:
    """Several words of four letters on average, mostly small ones; chance has shorter runs, or one long one."""
    humps = _HUMPS.findall(secret)
    letters = len(b"".join(humps))
    usual = 4 * len(humps) <= letters and max(map(len, humps), default=0) <= LONGEST_WORD
    return len(humps) > 1 and usual and 5 * len(_SMALL.findall(secret)) >= 3 * letters


def is_wordy(secret: bytes) -> bool:
    """Words, with a number at the end perhaps: ``access-token``, ``password2``."""
    return _WORDY.fullmatch(secret) is not None


def is_mixed(secret: bytes) -> bool:
    """Letters and digits, as in most generated secrets and in few words."""
    return _DIGIT.search(secret) is not None and _NO_DIGIT.search(secret) is not None


def is_scrambled(secret: bytes) -> bool:
    """As ``is_mixed``, or capitals and small letters as chance puts them."""
    return is_mixed(secret) or (_mixed_case(secret) and _run(secret) < CHANCE_RUN)


def is_three_kinds(secret: bytes) -> bool:
    """Small letters, capitals and digits, and no words."""
    return _THREE_KINDS.match(secret) is not None and _run(secret) < CHANCE_RUN


def is_random(secret: bytes) -> bool:
    """Drawn by chance from letters and digits, of both cases or with several digits."""
    if not is_mixed(secret):
        return False
    if secret.lower() != secret != secret.upper():
        return _run(secret) < CHANCE_RUN
    digits = len(_DIGIT.findall(secret))
    if secret.isalnum() and digits >= max(LEAST_DIGITS, len(secret) // 8):
        return True
    return digits >= max(LEAST_DIGITS, len(secret) // 12) and not is_worded(secret)


def is_strong(secret: bytes) -> bool:
    """A long value that nobody would write by hand: no path, no words, no placeholder."""
    usual = len(secret) >= SHORTEST_STRONG and _TOKEN_SIGNS.fullmatch(secret) is not None
    return usual and not is_placeholder(secret) and _PIECE_OF_PATH.search(secret) is None and is_random(secret)


def is_uuid(secret: bytes) -> bool:
    """A UUID; most are names of things, few are keys."""
    return _UUID.fullmatch(secret) is not None


def _run(secret: bytes) -> float:
    """Letters in a row, on average."""
    humps = _HUMPS.findall(secret)
    return len(b"".join(humps)) / max(len(humps), 1)


def _mixed_case(secret: bytes) -> bool:
    return len(secret) >= 2 * SHORTEST_TOKEN and secret.lower() != secret != secret.upper()
