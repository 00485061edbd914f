"""Random text by the rules of its kind, for secrets and what looks like them."""

from __future__ import annotations

import base64
import json
import random
import string
from collections.abc import Callable

__all__ = [
    "ALNUM", "DIGITS", "HEX", "LETTERS", "LOWER", "UPPER", "WORDS", "Maker", "base64_of", "chars", "jwt", "password",
    "pem", "url64_of", "uuid_of",
]  # fmt: skip

LETTERS, DIGITS, HEX = string.ascii_letters, string.digits, "0123456789abcdef"
ALNUM = LETTERS + DIGITS
LOWER = string.ascii_lowercase + DIGITS
UPPER = string.ascii_uppercase + DIGITS
WORDS = ("horse", "battery", "river", "copper", "lantern", "garden", "winter", "falcon", "marble", "orbit", "velvet")


def chars(rng: random.Random, size: int, letters: str = ALNUM) -> str:
    return "".join(rng.choice(letters) for _ in range(size))


def base64_of(rng: random.Random, size: int) -> str:
    return base64.b64encode(rng.randbytes(size)).decode()


def url64_of(rng: random.Random, size: int) -> str:
    return base64.urlsafe_b64encode(rng.randbytes(size)).decode().rstrip("=")


def uuid_of(rng: random.Random) -> str:
    return "-".join(chars(rng, size, HEX) for size in (8, 4, 4, 4, 12))


def jwt(rng: random.Random) -> str:
    parts = ({"alg": "HS256", "typ": "JWT"}, {"sub": chars(rng, 10, DIGITS), "exp": rng.randrange(2**31)})
    told = (base64.urlsafe_b64encode(json.dumps(part).encode()).decode().rstrip("=") for part in parts)
    return ".".join([*told, url64_of(rng, 32)])


def pem(rng: random.Random, kind: str) -> str:
    lines = [base64_of(rng, 48) for _ in range(12)]
    label = f"{kind} PRIVATE " + "KEY"
    return "\n".join([f"-----BEGIN {label}-----", *lines, f"-----END {label}-----"])


def password(rng: random.Random) -> str:
    """As people choose them, and as generators do."""
    chosen = f"{rng.choice(WORDS).title()}{rng.choice('-_!.')}{rng.choice(WORDS)}{rng.randrange(100)}"
    return rng.choice([chosen, chars(rng, 16, ALNUM + "!#%*_-"), chars(rng, 24)])


Maker = Callable[[random.Random], str]
