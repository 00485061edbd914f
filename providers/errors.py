"""Every failure of something outside the program, as one tree.

ProviderError
├── EmbeddingError          no vector could be made
│   ├── ModelMissing        the model, or the library that runs it, is not installed
│   ├── ModelDamaged        a model file is not the one that was published
│   └── EmbeddingFailed     the model ran and gave no usable vector
└── LanguageError           no answer could be had from the language model
    ├── NoKey               none is configured; nothing was sent
    ├── BudgetExceeded      the call could pass the daily cap; nothing was sent
    ├── LedgerUnavailable   the spend ledger cannot be read or written
    ├── Unauthorised        the key was refused
    ├── Overloaded          the service is overloaded or failing (``retry_after`` seconds, where told)
    │   └── RateLimited     too many requests by this key
    ├── TimedOut            no answer within the time limit
    ├── Unreachable         the connection could not be made or broke
    ├── BadRequest          the service refuses the request as such (model name, size, …)
    └── BadAnswer           an answer came and is of no use
        ├── Truncated       it was cut at the token limit
        └── Refused         the model declined

Each carries a ``hint``: what the reader can do about it. No message holds a key or a request's content.
"""

from __future__ import annotations

from prowess.storage.errors import Hinted

__all__ = [
    "BadAnswer",
    "BadRequest",
    "BudgetExceeded",
    "EmbeddingError",
    "EmbeddingFailed",
    "LanguageError",
    "LedgerUnavailable",
    "ModelDamaged",
    "ModelMissing",
    "NoKey",
    "Overloaded",
    "ProviderError",
    "RateLimited",
    "Refused",
    "TimedOut",
    "Truncated",
    "Unauthorised",
    "Unreachable",
]


class ProviderError(Hinted):
    """Base of the errors here."""


class EmbeddingError(ProviderError):
    """No vector could be made."""


class ModelMissing(EmbeddingError):
    """The model, or the library that runs it, is not installed."""


class ModelDamaged(EmbeddingError):
    """A model file is not the one that was published."""


class EmbeddingFailed(EmbeddingError):
    """The model ran and gave no usable vector."""

    usual_hint = "`prowess doctor` tries the model; until it works, search goes by words alone"


class LanguageError(ProviderError):
    """No answer could be had from the language model."""


class NoKey(LanguageError):
    """No key is configured; nothing was sent."""


class BudgetExceeded(LanguageError):
    """The call could pass the daily cap; nothing was sent."""


class LedgerUnavailable(LanguageError):
    """The spend ledger cannot be read or written."""


class Unauthorised(LanguageError):
    """The key was refused."""


class Overloaded(LanguageError):
    """The service is overloaded or failing. ``retry_after`` is in seconds, None where the service did not say."""

    def __init__(self, message: str, *, hint: str = "", retry_after: float | None = None) -> None:
        super().__init__(message, hint=hint)
        self.retry_after = retry_after


class RateLimited(Overloaded):
    """Too many requests by this key."""


class TimedOut(LanguageError):
    """No answer within the time limit."""


class Unreachable(LanguageError):
    """The connection could not be made, or broke."""


class BadRequest(LanguageError):
    """The service refuses the request as such."""


class BadAnswer(LanguageError):
    """An answer came and is of no use."""

    usual_hint = "try it again, or set a more capable model"


class Truncated(BadAnswer):
    """The answer was cut at the token limit."""


class Refused(BadAnswer):
    """The model declined to answer."""
