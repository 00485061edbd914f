"""A text as it is meant: with the signs that escapes stand for, and without a terminal's colours.

In ``password%3Dvalue``, or where ``grep`` has coloured ``password``, no rule sees a name with a value. So what has
escapes is looked at a second time without them; what is found there is masked in the text as it is. So is what tools
number (``   12→password: |``), mark (``+password: |``) or put into JSON, where no rule sees that a line begins or ends.
"""

from __future__ import annotations

from bisect import bisect_right

from prowess.learning.redaction.values import lazy

TYPE_CHECKING = False
if TYPE_CHECKING:
    import re
    from collections.abc import Callable

__all__ = ["behind_escapes", "laid_out", "view_of"]

# What a pattern asks before a token, and what may stand there as well: an escape of a string or a mail, a colour.
_FIRST_BOUNDARY = lazy(r"^((?:\(\?[a-z]+:|\(|\[\"'\]\?)*)\\b")
_COLOUR = r"(?<=\\[[mK])|(?<=[\\[;][0-9]m)|(?<=[\\[;][0-9]{2}m)|(?<=[\\[;][0-9]{3}m)"
_BOUNDARY = rf"\1(?:\\b|(?<=\\\\[nrtbfv])|(?<=\\\\x[0-9A-Fa-f]{{2}})|(?<==[0-9A-F]{{2}})|{_COLOUR})"

# One of these is in whatever ``_ESCAPE`` matches but what begins with a percent sign; to look for them costs little.
_SIGNS = (b"\x1b[", b"\\u00", b"&quot;", b"&amp;", b"&lt;", b"&#3", b"&#61")
_PERCENT = lazy(rb"%[2-7][0-9A-F]")
_ESCAPE = lazy(
    rb"(?:\x1b|\\u001[bB])\[[0-9;:?]{0,32}[A-Za-z]|(?:%|\\u00)([2-7][0-9A-F]|(?<=0)[2-7][a-f])"
    rb"|&(quot|amp|lt|gt|#34|#39|#61);"
)
_NAMED = {b"quot": b'"', b"amp": b"&", b"lt": b"<", b"gt": b">", b"#34": b'"', b"#39": b"'", b"#61": b"="}
# What stands before a line's text: a number, as "cat -n" puts it there, a sign of a diff, a place as of "grep -n".
_BEFORE = rb"(?: {0,8}\d{1,7}(?:\xe2\x86\x92|\t|\\{1,15}(?:t|u2192))|[+-](?![+-])|[\w./@-]{1,120}?[:-]\d{1,7}[:-])"
_FIRST_LINES = lazy(rb"(?:[^\n]{0,400}\n){0,8}?" + _BEFORE)
_LAYOUT = lazy(rb"(?m)(?:^|(?<=: \")|(\\{1,15}n))" + _BEFORE + rb"|\\{1,15}([nrt\"'])|\\\r?\n")
_LEAST_QUOTED = 0.25  # escapes to a line, in JSON; code has fewer
_CONTROLS = {b"n": b"\n", b"r": b"\r", b"t": b"\t"}


class View:
    """``text`` as it is meant, and where its bytes stand in the text that it was made of."""

    __slots__ = ("_places", "_sizes", "_starts", "text")

    def __init__(self, raw: bytes, replaced: re.Pattern[bytes], meant_by: Callable[[re.Match[bytes]], bytes]) -> None:
        self._starts, self._places, self._sizes = [0], [0], [1]
        pieces: list[bytes] = []
        at = size = 0
        for escape in replaced.finditer(raw):
            meant = meant_by(escape)
            pieces += [raw[at : escape.start()], meant]
            size += escape.start() - at
            if meant:
                self._put(size, escape.start(), escape.end() - escape.start())
                size += 1
            at = escape.end()
            self._put(size, at, 1)
        self.text = b"".join([*pieces, raw[at:]])

    def _put(self, start: int, place: int, size: int) -> None:
        """From ``start`` on bytes stand at ``place`` and behind it, each ``size`` long."""
        self._starts.append(start)
        self._places.append(place)
        self._sizes.append(size)

    def span(self, start: int, end: int) -> tuple[int, int]:
        """Where these bytes of ``text``, at least one, stand in the text that it was made of."""
        first, last = (bisect_right(self._starts, at) - 1 for at in (start, end - 1))
        begin = self._places[first] + start - self._starts[first]
        return begin, self._places[last] + end - 1 - self._starts[last] + self._sizes[last]


def view_of(raw: bytes) -> View | None:
    """``raw`` as it is meant; None where nothing in it looks like an escape."""
    if any(sign in raw for sign in _SIGNS) or (b"%" in raw and _PERCENT.search(raw)):
        return View(raw, _ESCAPE, _meant)
    return None


def laid_out(raw: bytes) -> View | None:
    """``raw`` with its lines as they are in the file that it shows; None where it is nothing but lines."""
    escapes = raw.count(b"\\n") + raw.count(b'\\"') if b"\\" in raw else 0
    marked = b"\\\n" in raw or b"\n@@ -" in raw or _FIRST_LINES.match(raw)
    if marked or escapes > _LEAST_QUOTED * raw.count(b"\n"):
        return View(raw, _LAYOUT, _line)
    return None


def behind_escapes(pattern: str) -> str:
    """``pattern``, which may then begin behind an escape as well where it begins at a boundary."""
    return _FIRST_BOUNDARY.sub(_BOUNDARY, pattern, 1)


def _meant(escape: re.Match[bytes]) -> bytes:
    if escape[2] is not None:
        return _NAMED[escape[2]]
    return bytes([int(escape[1], 16)]) if escape[1] is not None else b""


def _line(layout: re.Match[bytes]) -> bytes:
    if layout[2] is not None:
        return _CONTROLS.get(layout[2], layout[2])
    if layout[0][:1] == b"\\" and layout[1] is None:
        return b" "  # a command that goes on in the next line
    return b"" if layout[1] is None else b"\n"
