"""What a tool refuses, in words that an agent can act on."""

from __future__ import annotations

__all__ = ["ToolError"]


class ToolError(Exception):
    """A call that cannot be carried out as sent: what was wrong (``str``) and what to send or do instead (``hint``)."""

    def __init__(self, message: str, *, hint: str = "") -> None:
        super().__init__(message)
        self.hint = hint

    def explain(self) -> str:
        """Message and hint as the text that the agent reads."""
        return f"{self}\n{self.hint}" if self.hint else str(self)
