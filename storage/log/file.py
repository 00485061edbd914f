"""The log's file: made, opened, checked, opened again after a failure, and rewritten without its free pages."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from itertools import islice
from pathlib import Path
from typing import Any
from uuid import UUID, uuid4

import msgspec
import redb

from prowess.storage.errors import StoreClosed, StoreDamaged, StoreDefect, StoreNewer, StoreUnavailable
from prowess.storage.log.batch import View
from prowess.storage.log.codec import pack
from prowess.storage.log.failures import translated
from prowess.storage.log.gate import Gate
from prowess.storage.log.lock import Lock
from prowess.storage.log.renewals import Renewals
from prowess.storage.log.tables import ALL, META, SCHEMA
from prowess.storage.ordinary import NotOrdinaryError, open_ordinary
from prowess.storage.stamps import Identity
from prowess.version import __version__

__all__ = [
    "LogFile",
    "copy_file",
    "copy_tables",
    "identity_of",
    "read_meta",
    "read_only",
    "sync_file",
    "sync_folder",
    "write_meta",
]

MAGIC = b"redb\x1a\x0a\xa9\x0d\x0a"
CACHE_BYTES = 64 << 20
# After a crash redb walks the whole file (1.8 s for 0.5 GB, 6 s for 2.2 GB) unless the last commit was one of quick
# repair (0.02 s for either), which costs a second fsync. So small files take the quick commits, large ones the quick
# reopening.
QUICK_REPAIR_BYTES = 128 << 20
# What redb raises of a damaged page, and from then on where it broke off with a lock held or a count half made.
_UNUSABLE = (redb.Corrupted, redb.LockPoisoned, redb.TransactionPoisoned)
_HINT_UNUSABLE = "try again soon, since it is opened anew; where it stays so, restore a backup (prowess restore)"
_HINT_RESTORE = "restore a backup: prowess restore"
MOST_SAID = 500  # characters of what redb said
# Rows per insert while copying: large enough to be quick, small enough to let other threads have the GIL.
COPY_ROWS = 512


def read_meta(view: View, name: str) -> Any:
    """The fact ``name`` of the file, or None. Raises StoreDamaged."""
    raw = view.table(META).get(name)
    try:
        return None if raw is None else msgspec.msgpack.decode(raw)
    except msgspec.DecodeError as error:
        raise StoreDamaged(f"the log's {name} cannot be read: {error}", hint=_HINT_RESTORE) from error


def write_meta(view: View, name: str, value: Any) -> None:
    view.table(META).insert(name, pack(value))


def identity_of(view: View) -> Identity:
    """The log's id and its epochs."""
    epochs = read_meta(view, "epochs") or [[read_meta(view, "epoch"), 1]]
    return Identity(str(UUID(bytes=read_meta(view, "id"))), tuple((epoch, first) for epoch, first in epochs))


def sync_folder(folder: Path) -> None:
    """Make a rename in ``folder`` durable, where the system can."""
    if os.name == "nt":
        return
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def sync_file(path: str | Path) -> None:
    """Wait until what was written to the file is on disk."""
    with Path(path).open("r+b") as file:  # Windows syncs only what may be written
        os.fsync(file.fileno())


def copy_file(source: str | Path, target: str | Path) -> None:
    """Copy the content of a file, and wait until it is on disk."""
    shutil.copyfile(source, target)
    sync_file(target)


@contextmanager
def read_only(path: Path) -> Iterator[View]:
    """A log that nobody has open, such as a backup's, of which no byte is changed. Raises StoreError."""
    with translated(path):
        open_ordinary(path).close()  # redb would wait for who writes into a pipe
        database = redb.ReadOnlyDatabase.open(path)
        try:
            with database.begin_read() as transaction:
                yield View(transaction)
        finally:
            database.close()


def copy_tables(source: View, target: View) -> None:
    """Copy all rows from one transaction to another, in key order."""
    for definition in ALL:
        rows = iter(source.table(definition))
        into = target.table(definition)
        while chunk := list(islice(rows, COPY_ROWS)):
            into.insert_many(chunk)
        if len(into) != len(source.table(definition)):
            # The copy may be about to take the log's place.
            raise StoreDefect(
                f"the copy of {definition.name} is not whole", hint="please report this; nothing was changed"
            )


def _open_database(path: Path, *, create: bool = False) -> Any:
    builder = redb.Database.builder().set_cache_size(CACHE_BYTES)
    return builder.create(path) if create else builder.open(path)


def _found(created: str) -> dict[str, Any]:
    facts = {"schema": SCHEMA, "program": __version__, "id": uuid4().bytes, "epoch": 1, "created": created}
    return {**facts, "scrub": False, "backups": []}


class LogFile:
    """One open log. ``read`` may be used from any thread, the rest from the writer's.

    Where redb breaks off in it, the next transaction opens it anew first, within bounds (see ``renewals``). So no
    thread may begin one within another.

    Errors: StoreInUse, StoreNewer, StoreDamaged, StoreUnavailable on opening; StoreClosed after ``close``.
    """

    read_only = False

    def __init__(self, path: Path, created: str) -> None:
        self.path = path
        self._gate = Gate()
        self._database: Any = None
        self._closed = False
        self.damage = ""
        """What redb found in the file, or in its own memory of it, since it was opened last."""
        self.renewals = Renewals()
        self._lock: Lock | None = None
        with translated(path):
            self._begin(created)

    def _begin(self, created: str) -> None:
        self._lock = Lock(self.path)
        try:
            # Left by a process that was killed while it made a copy.
            self._fresh.unlink(missing_ok=True)
            if not self.path.exists():
                self._create(created)
            self._open()
        except BaseException:
            self._lock.release()
            raise

    @property
    def _fresh(self) -> Path:
        """Where the next file is made before it takes the log's name."""
        return self.path.with_name(self.path.name + ".new")

    def _create(self, created: str) -> None:
        """Made under another name: a log that exists is whole."""
        fresh = self._fresh
        database = _open_database(fresh, create=True)
        try:
            with database.begin_write() as transaction:
                for definition in ALL:
                    transaction.open_table(definition)
                meta = transaction.open_table(META)
                for name, value in _found(created).items():
                    meta.insert(name, pack(value))
        finally:
            database.close()
        self._install(fresh)

    def _install(self, fresh: Path) -> None:
        fresh.chmod(0o600)
        fresh.replace(self.path)
        sync_folder(self.path.parent)

    def _open(self) -> None:
        self._check_magic()
        database = self._connect()
        try:
            self._claim(database, self._check(database))
        except BaseException:
            database.close()
            raise
        self._database, self.damage = database, ""

    def _check_magic(self) -> None:
        if not self._is_log():
            raise StoreDamaged(
                f"{self.path} is not a log of this program",
                hint="move the file away, or point REDB_PATH or the store's folder elsewhere",
            )

    def _is_log(self) -> bool:
        try:
            with open_ordinary(self.path) as file:
                return file.read(len(MAGIC)) == MAGIC
        except NotOrdinaryError:
            return False

    def _connect(self) -> Any:
        self._look()
        return _open_database(self.path)

    def _look(self) -> None:
        """Refuse a log of a newer version before opening it, since opening changes the file."""
        try:
            database = redb.ReadOnlyDatabase.open(self.path)
        except redb.RedbError:
            # Not closed properly, or damaged: opening it repairs or refuses it.
            return
        try:
            self._check(database)
        finally:
            database.close()

    def _check(self, database: Any) -> int:
        """The file's schema. Raises StoreNewer and StoreDamaged."""
        with database.begin_read() as transaction:
            view = View(transaction)
            try:
                schema = read_meta(view, "schema")
            except (redb.TableDoesNotExist, redb.TableTypeMismatch):
                schema = None
            if not isinstance(schema, int):
                raise StoreDamaged(
                    f"{self.path} is a redb file of another program",
                    hint="move the file away, or point REDB_PATH or the store's folder elsewhere",
                )
            if schema > SCHEMA:
                program = read_meta(view, "program")
                raise StoreNewer(
                    f"{self.path} has schema {schema}, written by Prowess {program}; this is {__version__}",
                    hint=f"nothing was changed: install Prowess {program} or newer",
                )
            try:
                self._identify(view)
            except (TypeError, ValueError) as error:
                raise StoreDamaged(f"{self.path} does not tell which log it is", hint=_HINT_RESTORE) from error
            return schema

    def _identify(self, view: View) -> None:
        self.id = str(UUID(bytes=read_meta(view, "id")))
        self.epoch = int(read_meta(view, "epoch"))
        self.identity = identity_of(view)

    def refresh(self) -> None:
        """Take over from the file which epochs it has, after a transaction that began one."""
        with self.read() as view:
            self._identify(view)

    def _claim(self, database: Any, schema: int) -> None:
        """From now on older programs refuse the log: they might not know what this one writes into it."""
        if schema < SCHEMA:
            with database.begin_write() as transaction:
                view = View(transaction)
                for definition in ALL:  # makes those that are missing
                    view.table(definition)
                write_meta(view, "schema", SCHEMA)
                write_meta(view, "program", __version__)

    @contextmanager
    def read(self) -> Iterator[View]:
        """A consistent view of everything committed so far."""
        self._renew()
        with self._gate.shared(), self._noticed(), self._opened().begin_read() as transaction:
            yield View(transaction)

    @contextmanager
    def write(self) -> Iterator[Any]:
        """A transaction that is on disk when the block ends; an exception undoes it."""
        self._renew()
        with self._gate.shared(), self._noticed(), self._opened().begin_write() as transaction:
            transaction.set_durability(redb.Durability.IMMEDIATE)
            if self.path.stat().st_size > QUICK_REPAIR_BYTES:
                transaction.set_quick_repair(True)
            yield transaction

    @contextmanager
    def _noticed(self) -> Iterator[None]:
        with translated(self.path):
            try:
                yield
            except _UNUSABLE as error:
                self.damage = str(error)[:MOST_SAID]
                raise self._unusable() from error

    def _unusable(self) -> StoreDamaged:
        return StoreDamaged(f"{self.path} cannot be read: {self.damage}", hint=_HINT_UNUSABLE)

    def _renew(self) -> None:
        """Open the file anew where redb broke off in it, unless that was done so often that it cannot help."""
        if not self.damage or self.renewals.pause():
            return
        with self._gate.alone(), translated(self.path):
            if self.damage and not self._closed:  # else another thread was first
                self.renewals.note(self.damage)
                self._shut()
                self._open()

    def _opened(self) -> Any:
        if self._closed:
            raise StoreClosed("the store is closed", hint="open it again")
        if self._database is None:
            if self.damage:
                raise self._unusable()
            raise StoreUnavailable(f"{self.path} could not be opened again after an error", hint="check the disk")
        return self._database

    @property
    def is_open(self) -> bool:
        return self._database is not None

    def reopen(self) -> None:
        """Start over after an I/O error, from what is on disk."""
        with self._gate.alone(), translated(self.path):
            self._shut()
            self._open()

    def rewrite(self, change: Callable[[View], None]) -> None:
        """Replace the file by a copy of its rows, without a byte of what was removed; ``change`` may edit the copy.

        Reads go on while the copy is made.
        """
        with translated(self.path):
            try:
                with self._gate.shared():
                    self._copy_to(self._fresh, change)
                self._exchange(self._fresh)
            finally:
                self._fresh.unlink(missing_ok=True)

    def _exchange(self, fresh: Path) -> None:
        with self._gate.alone():
            self._shut()
            try:
                self._install(fresh)
            finally:
                self._open()

    def _copy_to(self, fresh: Path, change: Callable[[View], None]) -> None:
        database = _open_database(fresh, create=True)
        try:
            with self._opened().begin_read() as source, database.begin_write() as target:
                copied = View(target)
                copy_tables(View(source), copied)
                change(copied)
        except BaseException:
            # After an I/O error closing fails as well, and would tell less.
            with suppress(redb.RedbError):
                database.close()
            raise
        database.close()

    def export(self, fresh: Path, change: Callable[[View], None]) -> None:
        """A copy of what is committed now, made while reads and writes go on."""
        with self._gate.shared(), translated(fresh):
            self._copy_to(fresh, change)

    def _shut(self) -> None:
        database, self._database = self._database, None
        if database is not None:
            # After an I/O error even closing may fail, and the file is opened anew anyway.
            with suppress(redb.RedbError):
                database.close()

    def close(self) -> None:
        with self._gate.alone():
            self._shut()
            self._closed = True
            if self._lock is not None:
                self._lock.release()
