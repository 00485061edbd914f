"""Typed interface of redb, the binding of an embedded key-value store; the README says what it promises."""

from collections.abc import Callable, Iterable, Iterator
from os import PathLike
from types import GenericAlias, TracebackType
from typing import Any, ClassVar, Final, Generic, Literal, Self, TypeAlias, final, overload

from typing_extensions import TypeVar, disjoint_base

__version__: Final[str]

__all__ = [
    "Builder", "CacheStats", "ConcurrencyMode", "Corrupted", "Database", "DatabaseAlreadyOpen", "DatabaseClosed",
    "DatabaseStats", "Durability", "DurabilityError", "InvalidSavepoint", "InvalidType", "InvalidValue",
    "LockPoisoned", "MultimapTable", "MultimapTableDefinition", "NotADatabase", "Range", "ReadOnlyDatabase",
    "ReadOnlyMultimapTable", "ReadOnlyTable", "ReadTransaction", "ReadableMultimapTable", "ReadableTable",
    "RedbError", "RepairAborted", "Savepoint", "SavepointError", "SavepointExists", "StorageError", "Table",
    "TableAlreadyOpen", "TableClosed", "TableDefinition", "TableDoesNotExist", "TableError", "TableExists",
    "TableIsMultimap", "TableIsNotMultimap", "TableStats", "TableTypeMismatch", "TransactionError",
    "TransactionFinished", "TransactionInProgress", "TransactionPoisoned", "TransactionTimeout", "UpgradeRequired",
    "ValueTooLarge", "WriteTransaction", "__version__",
]  # fmt: skip

_K = TypeVar("_K", default=Any)
_V = TypeVar("_V", default=Any)
_D = TypeVar("_D")
_Path: TypeAlias = str | PathLike[str]
_Name: TypeAlias = Literal[
    "()", "bool", "bytes", "str", "int", "&[u8]", "&str",
    "u8", "u16", "u32", "u64", "u128", "i8", "i16", "i32", "i64", "i128",
]  # fmt: skip
_Type: TypeAlias = type[bytes] | type[str] | type[int] | type[bool] | _Name | tuple[_Type, ...] | None

@final
class TableDefinition(Generic[_K, _V]):
    """Name and types of a table with one value for each key.

    A type is `bytes`, `str`, `bool`, `int` (64 bits, signed), `None` (for values that say nothing), a name such as
    `"u32"`, or a tuple of up to twelve of these.
    """

    def __new__(cls, name: str, key: _Type, value: _Type) -> Self: ...
    name: Final[str]
    key: Final[str]
    value: Final[str]
    def __eq__(self, other: object, /) -> bool: ...
    def __hash__(self) -> int: ...
    @classmethod
    def __class_getitem__(cls, item: Any) -> GenericAlias: ...

@final
class MultimapTableDefinition(Generic[_K, _V]):
    """Name and types of a table with a sorted set of values for each key."""

    def __new__(cls, name: str, key: _Type, value: _Type) -> Self: ...
    name: Final[str]
    key: Final[str]
    value: Final[str]
    def __eq__(self, other: object, /) -> bool: ...
    def __hash__(self) -> int: ...
    @classmethod
    def __class_getitem__(cls, item: Any) -> GenericAlias: ...

_Table: TypeAlias = TableDefinition[Any, Any] | MultimapTableDefinition[Any, Any] | str

@final
class Durability:
    """When the changes of a commit are safe: IMMEDIATE when `commit` returns, NONE with a later IMMEDIATE commit."""

    NONE: ClassVar[Durability]
    IMMEDIATE: ClassVar[Durability]
    def __int__(self) -> int: ...
    def __eq__(self, other: object, /) -> bool: ...
    def __hash__(self) -> int: ...

@final
class ConcurrencyMode:
    """How processes share a file."""

    EXCLUSIVE_WRITER: ClassVar[ConcurrencyMode]
    SINGLE_WRITER: ClassVar[ConcurrencyMode]
    MULTI_WRITER: ClassVar[ConcurrencyMode]
    def __int__(self) -> int: ...
    def __eq__(self, other: object, /) -> bool: ...
    def __hash__(self) -> int: ...

@final
class Builder:
    """Options of opening a database; each setter returns the builder."""

    def __new__(cls) -> Self: ...
    def set_cache_size(self, size: int) -> Self:
        """Memory for the page cache in bytes; 1 GiB unless set."""

    def set_concurrency_mode(self, mode: ConcurrencyMode) -> Self:
        """How other processes may use the file meanwhile; EXCLUSIVE_WRITER unless set."""

    def set_check_integrity_on_open(self, enabled: bool) -> Self:
        """Verify the whole file at every opening, so that a damaged one is found at once."""

    def set_repair_callback(self, callback: Callable[[float], object]) -> Self:
        """Calls `callback(progress)`, with 0.0 to 1.0, during a repair; it stops the repair by returning False."""

    def create(self, path: _Path) -> Database:
        """Opens the file, or makes a new database where there is none."""

    def open(self, path: _Path) -> Database:
        """Opens a database that exists."""

    def open_read_only(self, path: _Path) -> ReadOnlyDatabase:
        """Opens a database that exists, without ever writing to it."""

@final
class Database:
    """An open database file: any number of readers beside one writer.

    Opening raises `DatabaseAlreadyOpen` when someone else has the file, `NotADatabase`, `Corrupted` or
    `UpgradeRequired` for what it holds, and `StorageError` with an `errno` for what the system refuses.
    """

    @staticmethod
    def create(path: _Path) -> Database:
        """Opens the file, or makes a new database where there is none."""

    @staticmethod
    def open(path: _Path) -> Database:
        """Opens a database that exists."""

    @staticmethod
    def builder() -> Builder: ...
    def begin_write(self, *, timeout: float | None = None) -> WriteTransaction:
        """Begins the write transaction; waits while another one is open, at most `timeout` seconds.

        Raises `TransactionInProgress` when the other one is of this very thread, `TransactionTimeout` after the time.
        """

    def begin_read(self) -> ReadTransaction:
        """Begins a read transaction: a view of the last commit that later ones do not change."""

    def compact(self) -> bool:
        """Makes the file as small as its contents allow; true if that moved anything.

        Raises `TransactionInProgress` while any transaction is open, `SavepointExists` when there is a savepoint.
        """

    def check_integrity(self) -> bool:
        """Verifies every checksum; true if all was well, false if the file was damaged and is repaired."""

    def stats(self, *, timeout: float | None = None) -> DatabaseStats:
        """Pages and bytes of the file as of the last commit; begins (and aborts) a write transaction."""

    def cache_stats(self) -> CacheStats: ...
    closed: Final[bool]
    def close(self) -> None:
        """Releases the file. Read transactions that are open end; an open write transaction is an error."""

    def __enter__(self) -> Self: ...
    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None: ...

@final
class ReadOnlyDatabase:
    """A database opened for reading; other processes may read the file too."""

    @staticmethod
    def open(path: _Path) -> ReadOnlyDatabase:
        """Opens a database that exists; one that needs a repair is refused."""

    def begin_read(self) -> ReadTransaction: ...
    def cache_stats(self) -> CacheStats: ...
    closed: Final[bool]
    def close(self) -> None: ...
    def __enter__(self) -> Self: ...
    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None: ...

@final
class WriteTransaction:
    """All or nothing: commits at the end of its `with` block, aborts on an exception or when it is forgotten."""

    def open_table(self, definition: TableDefinition[_K, _V]) -> Table[_K, _V]:
        """Opens a table, making it when there is none of this name. Raises `TableTypeMismatch`."""

    def open_multimap_table(self, definition: MultimapTableDefinition[_K, _V]) -> MultimapTable[_K, _V]:
        """Opens a multimap table, making it when there is none of this name."""

    def list_tables(self) -> list[str]: ...
    def list_multimap_tables(self) -> list[str]: ...
    def delete_table(self, table: _Table) -> bool:
        """Deletes a table of either kind, given by definition or name; true if there was one."""

    def rename_table(self, table: _Table, new_name: _Table) -> None:
        """Gives a table of either kind another name."""

    def set_durability(self, durability: Durability) -> None:
        """IMMEDIATE unless set."""

    def set_two_phase_commit(self, enabled: bool) -> None:
        """Commit with two fsyncs, safe against an attacker who controls what is stored."""

    def set_quick_repair(self, enabled: bool) -> None:
        """Store with the commit what makes opening after a crash fast; commits then cost more."""

    def ephemeral_savepoint(self) -> Savepoint:
        """A state to come back to, for as long as the object lives; to be taken before any table is opened."""

    def persistent_savepoint(self) -> int:
        """A state to come back to that lasts until it is deleted; returns its number."""

    def get_persistent_savepoint(self, number: int) -> Savepoint: ...
    def delete_persistent_savepoint(self, number: int) -> bool: ...
    def list_persistent_savepoints(self) -> list[int]: ...
    def restore_savepoint(self, savepoint: Savepoint) -> None:
        """Goes back to a savepoint. Tables that are open must be opened again."""

    def stats(self) -> DatabaseStats: ...
    def commit(self) -> None:
        """Makes the changes visible to new transactions, and safe as the durability says. Raises `StorageError`."""

    def abort(self) -> None:
        """Gives the changes up."""

    def __enter__(self) -> Self: ...
    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None: ...

@final
class ReadTransaction:
    """A view of the last commit; closes at the end of its `with` block."""

    def open_table(self, definition: TableDefinition[_K, _V]) -> ReadOnlyTable[_K, _V]:
        """Opens a table that exists. Raises `TableDoesNotExist`, and `TableTypeMismatch` where it has other types."""

    def open_multimap_table(self, definition: MultimapTableDefinition[_K, _V]) -> ReadOnlyMultimapTable[_K, _V]:
        """Opens a multimap table that exists."""

    def list_tables(self) -> list[str]: ...
    def list_multimap_tables(self) -> list[str]: ...
    def close(self) -> None: ...
    def __enter__(self) -> Self: ...
    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None: ...

@final
class Savepoint:
    """A state of the database that a write transaction can go back to."""

@final
class Range(Generic[_K, _V]):
    """Iterator over (key, value) pairs; keeps its transaction alive. When the table is changed, it sees the change."""

    def __iter__(self) -> Iterator[tuple[_K, _V]]: ...
    def __next__(self) -> tuple[_K, _V]: ...

@disjoint_base
class ReadableTable(Generic[_K, _V]):
    """What tables of both kinds of transaction have in common."""

    name: Final[str]
    @overload
    def get(self, key: _K) -> _V | None: ...
    @overload
    def get(self, key: _K, default: _D) -> _V | _D:
        """The value of a key, or `default`, None unless given. Raises `InvalidType` and `InvalidValue`."""
    def range(
        self,
        start: _K | None = None,
        end: _K | None = None,
        *,
        include_start: bool = True,
        include_end: bool = False,
        reverse: bool = False,
    ) -> Range[_K, _V]:
        """Pairs in the order of their keys, from `start` to `end`; None leaves an end open."""

    def first(self) -> tuple[_K, _V] | None:
        """The pair with the lowest key, None in an empty table."""

    def last(self) -> tuple[_K, _V] | None:
        """The pair with the highest key, None in an empty table."""

    def stats(self) -> TableStats: ...
    def __len__(self) -> int: ...
    def __contains__(self, key: object, /) -> bool: ...
    def __iter__(self) -> Range[_K, _V]: ...

@final
class ReadOnlyTable(ReadableTable[_K, _V]):
    """A table of a read transaction."""

@final
class Table(ReadableTable[_K, _V]):
    """A table of a write transaction."""

    def insert(self, key: _K, value: _V) -> _V | None:
        """Sets the value of a key; returns the old one."""

    def insert_many(self, pairs: Iterable[tuple[_K, _V]]) -> int:
        """Sets the values of many keys; returns how many pairs there were."""

    def remove(self, key: _K) -> _V | None:
        """Removes a key; returns its value, or None when there was no such key."""

    def pop_first(self) -> tuple[_K, _V] | None:
        """Removes the pair with the lowest key and returns it."""

    def pop_last(self) -> tuple[_K, _V] | None:
        """Removes the pair with the highest key and returns it."""

    def drain(
        self,
        start: _K | None = None,
        end: _K | None = None,
        *,
        include_start: bool = True,
        include_end: bool = False,
    ) -> list[tuple[_K, _V]]:
        """Removes the pairs of a range and returns them in order."""

    def remove_range(
        self,
        start: _K | None = None,
        end: _K | None = None,
        *,
        include_start: bool = True,
        include_end: bool = False,
    ) -> int:
        """Removes the pairs of a range without reading them into memory; returns how many there were."""

    def retain(
        self,
        keep: Callable[[_K, _V], object],
        start: _K | None = None,
        end: _K | None = None,
        *,
        include_start: bool = True,
        include_end: bool = False,
    ) -> int:
        """Keeps the pairs of a range for which `keep(key, value)` is true; returns how many were removed."""

@disjoint_base
class ReadableMultimapTable(Generic[_K, _V]):
    """What multimap tables of both kinds of transaction have in common."""

    name: Final[str]
    def get(self, key: _K) -> list[_V]:
        """All values of a key, in order; none for an unknown key."""

    def range(
        self,
        start: _K | None = None,
        end: _K | None = None,
        *,
        include_start: bool = True,
        include_end: bool = False,
        reverse: bool = False,
    ) -> Range[_K, _V]:
        """One pair for each value, in the order of keys and then of values; None leaves an end open."""

    def stats(self) -> TableStats: ...
    def __len__(self) -> int:
        """The number of values, over all keys."""

    def __contains__(self, key: object, /) -> bool: ...
    def __iter__(self) -> Range[_K, _V]: ...

@final
class ReadOnlyMultimapTable(ReadableMultimapTable[_K, _V]):
    """A multimap table of a read transaction."""

@final
class MultimapTable(ReadableMultimapTable[_K, _V]):
    """A multimap table of a write transaction."""

    def insert(self, key: _K, value: _V) -> bool:
        """Adds a value to a key; true if it was there already."""

    def insert_many(self, pairs: Iterable[tuple[_K, _V]]) -> int:
        """Adds many values; returns how many pairs there were."""

    def remove(self, key: _K, value: _V) -> bool:
        """Removes one value of a key; true if it was there."""

    def remove_all(self, key: _K) -> list[_V]:
        """Removes a key; returns its values in order."""

@final
class DatabaseStats:
    """A whole database. `stored_bytes` are those of keys and values alone."""

    tree_height: Final[int]
    allocated_pages: Final[int]
    leaf_pages: Final[int]
    branch_pages: Final[int]
    stored_bytes: Final[int]
    metadata_bytes: Final[int]
    fragmented_bytes: Final[int]
    page_size: Final[int]

@final
class TableStats:
    """One table. `stored_bytes` are those of keys and values alone."""

    tree_height: Final[int]
    leaf_pages: Final[int]
    branch_pages: Final[int]
    stored_bytes: Final[int]
    metadata_bytes: Final[int]
    fragmented_bytes: Final[int]

@final
class CacheStats:
    """The page cache of an open database."""

    evictions: Final[int]
    read_hits: Final[int]
    read_misses: Final[int]
    write_hits: Final[int]
    write_misses: Final[int]
    used_bytes: Final[int]

class RedbError(Exception):
    """Base of every error that this module raises."""

class StorageError(RedbError):
    """The file cannot be read or written; `errno` has the system's number or None.

    After a failed write the database must be opened again.
    """

    errno: int | None

class ValueTooLarge(StorageError):
    """A key or value is larger than redb can store (3 GiB)."""

class Corrupted(RedbError):
    """The file is damaged."""

class NotADatabase(Corrupted):
    """The file is not a redb database, or is cut off within its header."""

class UpgradeRequired(RedbError):
    """The file has a format that this version of redb does not read."""

class RepairAborted(RedbError):
    """The repair callback stopped the repair."""

class DatabaseAlreadyOpen(RedbError):
    """The file is open elsewhere, in this process or another."""

class DatabaseClosed(RedbError):
    """The database was closed, or belongs to the process that this one was forked from."""

class LockPoisoned(RedbError):
    """An earlier failure left the database unusable; open it again."""

class TransactionError(RedbError):
    """Base of the errors of transactions."""

class TransactionFinished(TransactionError):
    """The transaction was committed, aborted or closed."""

class TransactionInProgress(TransactionError):
    """Another transaction is in the way."""

class TransactionTimeout(TransactionInProgress):
    """The write transaction was not free within the timeout."""

class TransactionPoisoned(TransactionError):
    """An operation failed half-way, so the transaction was rolled back."""

class DurabilityError(TransactionError):
    """This durability is not possible here."""

class TableError(RedbError):
    """Base of the errors of tables."""

class TableDoesNotExist(TableError):
    """No table has this name."""

class TableExists(TableError):
    """A table has this name already."""

class TableAlreadyOpen(TableError):
    """The table is open already, in a way that excludes this."""

class TableClosed(TableError):
    """The table was deleted, renamed or rolled back since it was opened; open it again."""

class TableTypeMismatch(TableError):
    """The table has other types than its definition says."""

class TableIsMultimap(TableError):
    """The table is a multimap table."""

class TableIsNotMultimap(TableError):
    """The table is not a multimap table."""

class SavepointError(RedbError):
    """Base of the errors of savepoints."""

class InvalidSavepoint(SavepointError):
    """The savepoint is of another database, was deleted, or the transaction has changes already."""

class SavepointExists(SavepointError):
    """A savepoint is in the way."""

class InvalidType(RedbError, TypeError):
    """A key or value is not of the table's type, or no type has this name."""

class InvalidValue(RedbError, ValueError):
    """A key or value is outside of the range of its type."""
