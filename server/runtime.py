"""An open store with what works beside it: the worker process, the embedding model, the language model, the upkeep."""

from __future__ import annotations

import errno
import logging
import secrets
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING

import anyio
import anyio.to_thread
import msgspec

from prowess.server.settings import Settings
from prowess.storage.errors import StoreError, StoreReadOnly, StoreUnavailable
from prowess.storage.events import ModelAnswered
from prowess.storage.log.failures import is_read_only
from prowess.storage.models import ActorKind, Origin, format_time
from prowess.storage.ordinary import NotOrdinaryError, read_ordinary
from prowess.tools.context import Context, Progress, no_progress

if TYPE_CHECKING:
    from prowess.providers.embedding import Embedder
    from prowess.providers.language import LanguageModel, ModelCall
    from prowess.server.compute import Compute
    from prowess.server.index import DenseIndex
    from prowess.server.trainer.supervisor import Trainer
    from prowess.storage.store import Store

__all__ = ["Runtime", "guarded", "machine_of", "open_runtime", "store_of"]

SERVER_PATIENCE = 2.0  # seconds a query waits for a model that is still loading; then it is answered lexically
RETENTION_SECONDS = 6 * 3600.0

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class Runtime:
    """What is open. ``context`` makes the surroundings of one tool call from it."""

    settings: Settings
    store: Store
    compute: Compute
    index: DenseIndex
    language: LanguageModel | None
    machine: str
    trainer: Trainer | None = None
    turn: anyio.Lock = field(default_factory=anyio.Lock)

    def context(
        self,
        *,
        client: str = "",
        session: str = "",
        project: str | None = None,
        actor: ActorKind = "agent",
        key: str | None = None,
        progress: Progress = no_progress,
    ) -> Context:
        """The surroundings of one call, told by ``client`` (its own name) within ``session``.

        ``project`` stands in where the call names none; None: as the settings say.
        """
        return Context(
            store=self.store,
            compute=self.compute,
            index=self.index,
            origin=Origin(machine=self.machine, client=client, session=session, actor=actor),
            language=self.language,
            trainer=self.trainer,
            project=self.settings.project if project is None else project,
            session=session,
            key=key,
            progress=progress,
            unused_days=self.settings.unused_days,
            withhold=self.settings.withhold,
            memory_cap=self.settings.memory_cap,
            private=self.settings.sync_private,
            turn=self.turn,
        )


@asynccontextmanager
async def open_runtime(
    settings: Settings, *, patience: float = SERVER_PATIENCE, read_only: bool = False
) -> AsyncIterator[Runtime]:
    """Open the store of ``settings``; at the end everything acknowledged is on disk and the lock is free.

    The embedding model loads in the background. One that is ``read_only`` is looked at alone: nothing is trained or
    trimmed. Raises ``StoreError`` where the store cannot be opened.
    """
    # The store's and the models' libraries load in a thread: a server answers its first request meanwhile.
    await anyio.to_thread.run_sync(_import_what_is_heavy)
    from prowess.learning.remembered import let_go
    from prowess.server.compute import Compute
    from prowess.server.index import DenseIndex

    # Of one that can only be read nothing is stored, and so nothing needs to say where.
    machine = "" if read_only else await anyio.to_thread.run_sync(machine_of, settings.home)
    failure: BaseException | None = None
    async with (
        store_of(settings, read_only=read_only) as store,
        Compute() as compute,
        anyio.create_task_group() as tasks,
    ):
        store.when_forgotten(let_go)
        index = DenseIndex(store, _embedder_loader(settings), patience=patience)
        tasks.start_soon(guarded, "embedding", index.run)
        if not read_only:
            tasks.start_soon(guarded, "retention", lambda: _keep_trimming(store, settings, machine))
        model = _language(settings, store, machine)
        trainer = None if read_only else _trainer(settings, store)
        if trainer is not None:
            tasks.start_soon(guarded, "training", trainer.run)
        try:
            yield Runtime(
                settings=settings,
                store=store,
                compute=compute,
                index=index,
                language=model,
                machine=machine,
                trainer=trainer,
            )
        except (Exception, SystemExit, KeyboardInterrupt) as error:
            failure = error  # kept out of the task group, which would wrap it
        finally:
            tasks.cancel_scope.cancel()
            if model is not None:
                with anyio.CancelScope(shield=True):
                    await model.aclose()
    if failure is not None:
        raise failure


def store_of(
    settings: Settings, *, replace_catalog: bool = False, read_only: bool = False
) -> AbstractAsyncContextManager[Store]:
    """The store alone, to be entered; see ``Store.open``."""
    from prowess.learning.redaction.masking import mask_fields, mask_many
    from prowess.learning.templates import template
    from prowess.storage.store import Store

    return Store.open(
        settings.home,
        redb_path=settings.redb_path,
        mask_many=mask_many,
        mask_fields=mask_fields,
        summarise=template,
        replace_catalog=replace_catalog,
        read_only=read_only,
    )


def _import_what_is_heavy() -> None:
    import prowess.learning.redaction.masking
    import prowess.server.compute
    import prowess.server.index
    import prowess.storage.store  # noqa: F401


def machine_of(home: Path) -> str:
    """The random id of this installation's store, made at the first start."""
    path = home / "machine"
    try:
        home.mkdir(mode=0o700, parents=True, exist_ok=True)
        known = _content(path).decode("ascii", "replace").strip()
        if not known.isalnum():  # not there, or never written: a program was killed, or the disk was full
            known = secrets.token_hex(8)
            path.write_text(known, encoding="ascii")
        return known[:64]
    except NotOrdinaryError as error:
        raise StoreUnavailable(
            f"{path} cannot be read: {error.strerror}", hint="move it away: a new one is made where there is none"
        ) from error
    except OSError as error:
        if is_read_only(error, path):
            raise StoreReadOnly(f"the store is read-only: {path}: {error.strerror}") from error
        is_full = error.errno in (errno.ENOSPC, errno.EDQUOT)
        better = "Free some space, or choose another folder" if is_full else "Choose a folder that you may write to"
        raise StoreUnavailable(
            f"the store's folder {home} cannot be used: {error.strerror or error}",
            hint=f"{better} with PROWESS_HOME or --store.",
        ) from error


def _content(path: Path) -> bytes:
    try:
        return read_ordinary(path)
    except FileNotFoundError:
        return b""


def _embedder_loader(settings: Settings) -> Callable[[], Embedder | None]:
    def load() -> Embedder | None:
        from prowess.providers import embedding

        return embedding.load(embedding.EmbeddingSettings(model=settings.embedder))

    return load


def _language(settings: Settings, store: Store, machine: str) -> LanguageModel | None:
    """The language model that words and extracts skills, or None without a key; the cost of its calls is journaled."""
    if not (settings.api_key or settings.auth_token):
        return None
    from prowess.providers import language

    chosen = language.LanguageSettings(
        api_key=settings.api_key,
        auth_token=settings.auth_token,
        base_url=settings.base_url,
        model=settings.model,
        daily_usd=settings.daily_usd,
        price=settings.model_price,
    )
    ledger = _Ledger(store, Origin(machine=machine, actor="machine"))
    return language.load(chosen, record=ledger.record, spent_today=ledger.spent_today)


def _trainer(settings: Settings, store: Store) -> Trainer | None:
    """The supervisor of training, or None in a build without it."""
    from prowess.server.trainer import supervisor

    command = supervisor.trainer_command()
    if command is None:
        return None
    from prowess.server.trainer.batch import Batches
    from prowess.server.trainer.language import Paid

    return supervisor.Trainer(
        settings.home,
        Batches(store, settings.home, settings.sync_private).export,
        command,
        threads=settings.train_threads,
        memory_mb=settings.train_mb,
        needs=supervisor.NEEDS,
        extra=Paid(settings).environment,
    )


@dataclass(frozen=True, slots=True)
class _Ledger:
    """What language models cost, kept in the store."""

    store: Store
    origin: Origin

    async def record(self, call: ModelCall) -> None:
        with anyio.CancelScope(shield=True):
            await self.store.append([ModelAnswered(**msgspec.structs.asdict(call))], origin=self.origin)

    async def spent_today(self) -> float:
        midnight = datetime.now(UTC).replace(hour=0, minute=0, second=0, microsecond=0)
        # What a clock that was ahead has put on days to come is not paid for again on each day until then.
        return await self.store.spent(format_time(midnight), format_time(midnight + timedelta(days=1)))


async def guarded(what: str, work: Callable[[], Awaitable[None]]) -> None:
    """Background work that fails is logged; it must not take the server with it."""
    try:
        await work()
    except Exception:
        _log.exception("%s stopped", what)


async def _keep_trimming(store: Store, settings: Settings, machine: str) -> None:
    """Drop raw steps that are older or more than the settings keep, now and every few hours."""
    if not settings.keep_days and not settings.keep_mb:
        return
    origin = Origin(machine=machine, actor="machine")
    while True:
        try:
            max_bytes = settings.keep_mb * 1_000_000 or None
            await store.trim(days=settings.keep_days or None, max_bytes=max_bytes, origin=origin)
        except StoreError as error:
            _log.warning("old steps were not trimmed: %s", error.explain())
        await anyio.sleep(RETENTION_SECONDS)
