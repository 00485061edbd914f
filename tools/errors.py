"""What a tool refuses, in words that an agent can act on."""

from __future__ import annotations

from prowess.storage.errors import Hinted

__all__ = ["ToolError", "on_one_line"]


class ToolError(Hinted):
    """A call that cannot be carried out as sent: what was wrong (``str``) and what to send or do instead (``hint``)."""

    def explain(self) -> str:
        """Message and hint as the text that the agent reads."""
        return f"{self}\n{self.hint}" if self.hint else str(self)


def on_one_line(error: Hinted) -> str:
    """What happened and what to do about it, as a note tells it."""
    return f"{error} ({error.hint})" if error.hint else str(error)
