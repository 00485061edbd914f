"""How the language model is reached and what it may cost."""

from __future__ import annotations

from dataclasses import dataclass, field
from urllib.parse import urlsplit

__all__ = ["DEFAULT_BASE_URL", "DEFAULT_MODEL", "LanguageSettings"]

# The smallest current Claude model (October 2026): a skill's wording costs a fraction of a cent.
DEFAULT_MODEL = "claude-haiku-5-5"
DEFAULT_BASE_URL = "https://api.anthropic.com"


@dataclass(frozen=True, slots=True, kw_only=True)
class LanguageSettings:
    """``api_key`` or ``auth_token`` must be set, else no call is made; "" elsewhere stands for the default.

    ``timeout_s`` bounds a question with all its retries and waits. ``daily_usd`` is the cap of a day in US dollars;
    ``price`` is (input, output) in US dollars per million tokens, for models that ``providers/prices.py`` doesn't list.
    """

    api_key: str = field(default="", repr=False)
    auth_token: str = field(default="", repr=False)
    base_url: str = ""
    model: str = ""
    daily_usd: float = 1.0
    timeout_s: float = 30.0
    retries: int = 2
    price: tuple[float, float] | None = None

    @property
    def configured(self) -> bool:
        return bool(self.api_key or self.auth_token)

    @property
    def model_id(self) -> str:
        return self.model or DEFAULT_MODEL

    @property
    def address(self) -> str:
        return self.base_url or DEFAULT_BASE_URL

    @property
    def shown_address(self) -> str:
        """The address without anything that may be secret: a user's name, a password, a query."""
        try:
            parts = urlsplit(self.address)
        except ValueError:
            return "the model server's address"
        return f"{parts.scheme}://{parts.netloc.rpartition('@')[2]}"

    def scrub(self, text: str) -> str:
        """``text`` on one line, short, without the keys."""
        for secret in (self.api_key, self.auth_token):
            if secret:
                text = text.replace(secret, "…")
        return " ".join(text.split())[:300]
