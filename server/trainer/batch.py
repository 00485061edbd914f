"""What a trainer learns from, as files: ``trajectories.jsonl``, one scored episode with its steps per line, and in
``bank`` the memory skills in use, with which it begins, and in ``controller`` what chooses among them.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path

import anyio.to_thread
import msgspec

from prowess.storage.errors import StoreDamaged, StoreUnavailable, UnknownEpisode
from prowess.storage.models import EpisodeFilter, Trajectory
from prowess.storage.store import Store

__all__ = ["MAX_EPISODES", "Batches"]

MAX_EPISODES = 5_000  # the newest
TOGETHER = 50

_log = logging.getLogger(__name__)


class Batches:
    """Writes batches from ``store``, and from ``home`` the memory skills in use.

    Those for all projects are without what is in the projects ``private``.
    """

    def __init__(self, store: Store, home: Path, private: tuple[str, ...] = ()) -> None:
        self._store = store
        self._home = home
        self._private = private

    async def export(self, folder: Path, project: str, wanted: Sequence[str] | None = None) -> list[str]:
        """Write the scored episodes of ``project`` ("" for all), or those ``wanted`` that are still there; their ids.

        Episodes whose steps are not here whole are left out.

        They stand in the order in which they began. Raises the store's errors.
        """
        if wanted is None:
            without = () if project else self._private
            chosen = EpisodeFilter(project=project or None, without=without, scored=True, trusted=True)
            wanted = [episode.id for episode in reversed(await self._store.episodes(chosen, limit=MAX_EPISODES))]
        written: list[str] = []
        for start in range(0, len(wanted), TOGETHER):
            found = await self._known(wanted[start : start + TOGETHER])
            await anyio.to_thread.run_sync(_append, folder / "trajectories.jsonl", found, start == 0)
            written += [trajectory.episode.id for trajectory in found]
        await self._export_in_use(folder, project)
        return written

    async def _export_in_use(self, folder: Path, project: str) -> None:
        adopted = {each.project: each for each in await self._store.adopted()}
        used = adopted.get(project) or adopted.get("")
        if used is None or not used.bank:
            return
        try:
            await self._copy("banks", used.bank, folder / "bank")
            if used.weights:
                await self._copy("controllers", used.weights, folder / "controller")
        except StoreDamaged as error:
            _log.warning("training begins without what cannot be read of the skills in use: %s", error.explain())

    async def _copy(self, kind: str, key: str, folder: Path) -> None:
        from prowess.server.memskill_files import read_files

        files = await anyio.to_thread.run_sync(read_files, self._home, kind, key)
        await anyio.to_thread.run_sync(_write, folder, files)

    async def _known(self, ids: Sequence[str]) -> list[Trajectory]:
        with suppress(UnknownEpisode):
            return _whole(await self._store.trajectories(ids))
        found: list[Trajectory] = []
        for episode_id in ids:
            with suppress(UnknownEpisode):
                found += await self._store.trajectories([episode_id])
        return _whole(found)


def _whole(found: Iterable[Trajectory]) -> list[Trajectory]:
    """Those with their arguments: of the others there is nothing to remember."""
    return [trajectory for trajectory in found if trajectory.whole]


def _write(folder: Path, files: Mapping[str, bytes]) -> None:
    try:
        folder.mkdir(mode=0o700, exist_ok=True)
        for name, content in files.items():
            (folder / name).write_bytes(content)
    except OSError as error:
        raise StoreUnavailable(f"{folder}: {error.strerror or error}", hint="see that the disk is not full") from error


def _append(path: Path, trajectories: Sequence[Trajectory], fresh: bool) -> None:
    try:
        with path.open("wb" if fresh else "ab") as file:
            file.writelines(msgspec.json.encode(trajectory) + b"\n" for trajectory in trajectories)
    except OSError as error:
        raise StoreUnavailable(f"{path}: {error.strerror or error}", hint="see that the disk is not full") from error
