"""Our lines in a text that agents read (CLAUDE.md, AGENTS.md, a rule of Cursor), between two marks."""

from __future__ import annotations

from collections.abc import Sequence

from prowess.server.install.errors import Unreadable
from prowess.server.install.wants import Block, Document, State, Want

__all__ = ["BEGIN", "END", "install", "is_empty", "state", "strip"]

BEGIN = "<!-- prowess:begin (written by `prowess install`; `prowess uninstall` takes it out) -->"
END = "<!-- prowess:end -->"


def install(document: Document, wants: Sequence[Want]) -> None:
    """Put the block in at the end, or in place of an older one. Raises ``Unreadable``."""
    for want in wants:
        if isinstance(want, Block):
            document.text = _with_block(document.text, want)


def _with_block(text: str, want: Block) -> str:
    newline = "\r\n" if "\r\n" in text else "\n"
    block = newline.join([BEGIN, *want.text.strip().split("\n"), END])
    span = _span(text)
    if span:
        return text[: span[0]] + block + text[span[1] :]
    if want.head and text.strip():
        raise Unreadable("the file is there and was not written by Prowess", 1, mend="give it another name")
    lead = want.head.replace("\n", newline) if want.head else newline if text else ""
    return f"{text}{lead}{block}{newline}"


def _span(text: str) -> tuple[int, int] | None:
    start = text.find("<!-- prowess:begin")
    if start < 0:
        return None
    end = text.find(END, start)
    if end < 0:
        raise Unreadable(f"{END} is missing after the mark that begins the block", text.count("\n", 0, start) + 1)
    return start, end + len(END)


def strip(document: Document, wants: Sequence[Want]) -> None:
    """Take the block out, with the line break before and after it that came with it. Raises ``Unreadable``."""
    text = document.text
    span = _span(text)
    if span is None:
        return
    before, after = text[: span[0]], text[span[1] :]
    after = after.removeprefix("\r\n") if after.startswith("\r\n") else after.removeprefix("\n")
    newline = "\r\n" if before.endswith("\r\n") else "\n"
    shorter = before.removesuffix(newline)
    apart = shorter.endswith("\n") or after[:1] in ("", "\r", "\n")
    document.text = (shorter if apart else before) + after


def state(text: str, want: Want) -> State:
    """How ``want`` stands in the text. Raises ``Unreadable``."""
    assert isinstance(want, Block)
    span = _span(text)
    if span is None:
        return "foreign" if want.head and text.strip() else "missing"
    lines = text[span[0] : span[1]].splitlines()[1:-1]
    return "ok" if lines == want.text.strip().split("\n") else "outdated"


def is_empty(text: str, wants: Sequence[Want]) -> bool:
    """Nobody has anything in the text."""
    heads = [want.head.strip() for want in wants if isinstance(want, Block)]
    return text.strip() in ("", *heads)
