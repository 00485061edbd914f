"""The file of what a run is told (``--settings FILE``, JSON)."""

from __future__ import annotations

from pathlib import Path

import msgspec

from prowess.learning.memskill.settings import Settings
from prowess.storage.errors import Hinted
from prowess.training.files import read_plain

__all__ = ["Settings", "SettingsRefused", "read_settings"]


class SettingsRefused(Hinted):
    """The settings are not ones that a run can be made with."""


def read_settings(path: Path) -> Settings:
    """The settings in a file. Raises SettingsRefused, naming the setting and what is allowed."""
    try:
        return msgspec.json.decode(read_plain(path), type=Settings)
    except OSError as error:
        raise SettingsRefused(f"{path}: {error.strerror}", hint="name a JSON file; {} for the defaults") from error
    except (msgspec.MsgspecError, RecursionError) as error:
        raise SettingsRefused(f"the settings: {error}", hint="docs/memskill.md lists them") from error
