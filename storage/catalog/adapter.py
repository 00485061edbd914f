"""One strict connection over libSQL, or over the standard library's sqlite3 where libSQL has no wheel.

Both open the same file and behave alike. libSQL's client answers every failure with ``ValueError``, binds large
integers as floats, cuts text at NUL, ignores missing parameters and further statements, runs a statement again when it
is fetched past its end, and panics after close; each of these is either handled or refused here, and nowhere else.

One process never opens one file through both: each brings its own SQLite, whose locks do not hold against the other's.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import lru_cache
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Literal

from prowess.storage.catalog.failures import translate
from prowess.storage.errors import InvalidInput, StoreClosed, StoreDefect, StoreUnavailable

__all__ = ["Backend", "Connection", "Row", "Value", "libsql_available", "statements"]

Backend = Literal["auto", "libsql", "sqlite3"]
Value = str | int | float | bytes | None
Row = tuple[Any, ...]

SAFE_INTEGER = 2**31 - 1
"""The largest magnitude that libSQL's client binds as an integer; anything beyond becomes a float there."""

LARGEST_INTEGER = 2**63 - 1

PANIC = "PanicException"
"""What libSQL's client raises at a text that is no UTF-8, for one. It is no Exception, and cannot be imported."""

ESCAPE = "\x10"
"""DLE. Text is cut at NUL in both directions, so NUL is stored as DLE 0, and DLE itself doubled."""

_ESCAPED = re.compile(ESCAPE + "(.)", re.DOTALL)
_QUOTED = re.compile(r"'(?:[^']|'')*'|\"(?:[^\"]|\"\")*\"|--[^\n]*|/\*.*?\*/", re.DOTALL)


def libsql_available() -> bool:
    """Whether libSQL's client can be imported here."""
    return find_spec("libsql") is not None


def _connect(path: Path, backend: Backend) -> Any:
    if backend == "libsql" or (backend == "auto" and libsql_available()):
        return import_module("libsql").connect(str(path), isolation_level=None, timeout=0)
    import sqlite3

    return sqlite3.connect(str(path), isolation_level=None, timeout=0, check_same_thread=False)


def _escape(text: str) -> str:
    if "\0" in text or ESCAPE in text:
        return text.replace(ESCAPE, ESCAPE + ESCAPE).replace("\0", ESCAPE + "0")
    return text


def _unescape(value: Any) -> Any:
    if value.__class__ is str and ESCAPE in value:
        return _ESCAPED.sub(lambda found: "\0" if found[1] == "0" else found[1], value)
    return value


def _plain(rows: list[Row]) -> list[Row]:
    """Rows with their text as it was given; those without an escape, nearly all, are left as they are."""
    for index, row in enumerate(rows):
        for value in row:
            if value.__class__ is str and ESCAPE in value:
                rows[index] = tuple(map(_unescape, row))
                break
    return rows


@lru_cache(maxsize=512)
def _placeholders(sql: str) -> int:
    """How many parameters ``sql`` takes; refuses what the clients would silently misread."""
    if "\0" in sql:
        raise StoreDefect("SQL contains NUL")
    bare = _QUOTED.sub("''", sql).strip().rstrip(";")
    if ";" in bare:
        raise StoreDefect(f"more than one statement: {bare[:80]!r}")
    if re.search(r"\?\d|[:@$]\w", bare):
        raise StoreDefect(f"only plain ? parameters are supported: {bare[:80]!r}")
    return bare.count("?")


@lru_cache(maxsize=64)
def _with_casts(sql: str, positions: tuple[int, ...]) -> str:
    """``sql`` with the parameters at ``positions`` cast to integers, for values that must be bound as text."""
    pieces: list[str] = []
    count = end = 0
    for found in re.finditer(rf"{_QUOTED.pattern}|\?", sql, re.DOTALL):
        if found[0] != "?":
            continue
        if count in positions:
            pieces += [sql[end : found.start()], "CAST(? AS INTEGER)"]
            end = found.end()
        count += 1
    return "".join([*pieces, sql[end:]])


def _bind(value: Any) -> Value:
    kind = value.__class__
    if kind is str:
        try:
            value.encode()
        except UnicodeEncodeError:
            raise InvalidInput("text contains a lone surrogate", hint="send valid Unicode") from None
        return _escape(value)
    if value is None or kind is bytes:
        return value  # type: ignore[no-any-return]
    if kind is int or kind is bool:
        if not -LARGEST_INTEGER - 1 <= value <= LARGEST_INTEGER:
            raise InvalidInput(f"integer {value} does not fit into 64 bits", hint="send a smaller number")
        return int(value)
    if kind is float:
        if value != value:
            raise InvalidInput("NaN cannot be stored", hint="send a finite number or none")
        return value  # type: ignore[no-any-return]
    raise StoreDefect(f"cannot bind a {kind.__name__}: expected str, int, float, bool, bytes or None")


def _prepare(sql: str, params: Sequence[Any]) -> tuple[str, tuple[Value, ...]]:
    """Statement and parameters as either client binds them faithfully."""
    if len(params) != _placeholders(sql):
        raise StoreDefect(f"{len(params)} parameters for {_placeholders(sql)} places in {sql[:80]!r}")
    values = tuple([_bind(value) for value in params])
    large = tuple([i for i, v in enumerate(values) if v.__class__ is int and abs(v) > SAFE_INTEGER])
    if not large:
        return sql, values
    return _with_casts(sql, large), tuple([str(v) if i in large else v for i, v in enumerate(values)])


def statements(script: str) -> Iterator[str]:
    """The single statements of ``script``, in order."""
    from sqlite3 import complete_statement

    pending = ""
    for line in script.splitlines(keepends=True):
        pending += line
        if complete_statement(pending):
            yield pending.strip()
            pending = ""
    if _QUOTED.sub("", pending).strip():
        raise StoreDefect(f"script ends inside a statement: {pending.strip()[:80]!r}")


class Connection:
    """A connection to the SQLite file at ``path``; used by one thread at a time.

    Every call holds the GIL while it runs, so statements are kept short and nothing waits for a lock: a locked database
    is ``StoreBusy`` at once, and the caller retries.
    """

    def __init__(self, path: Path, *, backend: Backend = "auto", read_only: bool = False) -> None:
        """Open (and unless ``read_only`` create) the file. Raises StoreUnavailable, StoreDamaged."""
        if read_only and not path.is_file():
            raise StoreUnavailable(f"no catalog at {path}", hint="open the store once, or check the path")
        self.path = path
        try:
            self._raw: Any = _connect(path, backend)
        except BaseException as error:
            if not isinstance(error, Exception) and type(error).__name__ != PANIC:
                raise
            raise translate(error, path) from error
        if read_only:
            self.execute("PRAGMA query_only = 1")

    def execute(self, sql: str, params: Sequence[Any] = ()) -> list[Row]:
        """All rows of one statement, which has ``?`` for each of ``params``. Raises StoreError of every kind."""
        sql, values = _prepare(sql, params)
        return _plain(self._run(sql, values))

    def many(self, sql: str, rows: Sequence[Sequence[Any]]) -> None:
        """Run one statement for each of ``rows``; best inside a transaction."""
        for row in rows:
            self._run(*_prepare(sql, row))

    def script(self, text: str) -> None:
        """Run each statement of ``text``; the first failure stops it."""
        for statement in statements(text):
            self.execute(statement)

    @contextmanager
    def transaction(self) -> Iterator[None]:
        """A write transaction: committed at the end, rolled back on any error."""
        self.execute("BEGIN IMMEDIATE")
        try:
            yield
            self.execute("COMMIT")
        except BaseException:
            self._roll_back()
            raise

    @contextmanager
    def snapshot(self) -> Iterator[None]:
        """A read transaction: every statement inside sees the same state."""
        self.execute("BEGIN")
        try:
            yield
        finally:
            self._roll_back()

    @property
    def is_open(self) -> bool:
        """Not after ``close``, nor after a failure that left the client in an unknown state."""
        return self._raw is not None

    def close(self) -> None:
        """Close the file; harmless when repeated. Later calls raise StoreClosed."""
        raw, self._raw = self._raw, None
        if raw is not None:
            raw.close()

    def _run(self, sql: str, values: tuple[Value, ...]) -> list[Row]:
        raw = self._raw
        if raw is None:
            raise StoreClosed("the catalog is closed", hint="open the store again")
        try:
            # Fetching twice would run the statement again, so all rows are taken at once and the cursor dropped.
            return raw.execute(sql, values).fetchall() or []
        except Exception as error:
            raise translate(error, self.path) from error
        except BaseException as error:
            if type(error).__name__ != PANIC:
                raise
            self.close()  # a client that panicked cannot be relied on
            raise translate(error, self.path) from error

    def _roll_back(self) -> None:
        raw = self._raw
        if raw is None or not raw.in_transaction:
            return
        try:
            raw.execute("ROLLBACK").fetchall()
        except Exception as error:
            # A connection that cannot roll back must not be used again: its next write would join the failed one.
            self.close()
            raise translate(error, self.path) from error
