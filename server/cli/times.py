"""A moment on the command line."""

from __future__ import annotations

from typing import Any

import click

from prowess.storage.models import format_time, parse_time
from prowess.tools.text import quote

__all__ = ["Time"]


class Time(click.ParamType[str]):
    """ISO 8601 with a zone, as the store's notation."""

    name = "time"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> str:
        try:
            return format_time(parse_time(str(value)))
        except (ValueError, OverflowError):
            self.fail(f"{quote(value)} is no time with a zone; write it as 2026-11-29T13:50:01Z", param, ctx)
