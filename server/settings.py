"""Every setting in one table: name, default, environment variable, help. Read by ``load``, never at import.

A value is looked for in the caller's overrides, the environment, ``config.toml`` in the store's folder, and then here.
``prowess.server.settings.reference`` makes docs/settings.md from the same table.
"""

from __future__ import annotations

import os
import re
import tomllib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import MISSING, dataclass, field, fields
from pathlib import Path
from typing import Any

from prowess.server import setting_values as to
from prowess.server.shim import places
from prowess.server.shim.ordinary import MOST_BYTES
from prowess.storage.errors import StoreError
from prowess.storage.ordinary import NotOrdinaryError, read_ordinary

__all__ = [
    "CONFIG_FILE",
    "TABLE",
    "BadSetting",
    "Setting",
    "Settings",
    "UnreadableSettings",
    "load",
    "of_hub",
    "reference",
]

CONFIG_FILE = "config.toml"


class BadSetting(StoreError):
    """A setting has a value that makes no sense; ``hint`` tells what would."""


class UnreadableSettings(BadSetting):
    """The system refuses the file of settings."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Setting:
    """One row. ``parse`` turns text or a TOML value into the value that ``Settings`` has, or raises ValueError."""

    name: str
    env: str
    default: Any
    parse: Callable[[Any], Any]
    help: str
    shown: str = ""
    secret: bool = False

    @property
    def default_text(self) -> str:
        """The default as the docs show it."""
        if isinstance(self.default, bool):
            return str(self.default).lower()  # as TOML has it
        return self.shown or ("none" if self.default in (None, "", ()) else str(self.default))


def setting(env: str, default: Any, parse: Callable[[Any], Any], told: str, **more: Any) -> Any:
    """A field of ``Settings`` with the rest of its row."""
    return field(default=default, metadata={"env": env, "parse": parse, "help": told, **more})


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """The values in force; each field has its row with it."""

    home: Path = setting("PROWESS_HOME", MISSING, to.path, "Folder of the store.", shown="the user's data folder")
    redb_path: Path | None = setting(
        "REDB_PATH",
        None,
        to.path,
        "File of the log, the source of truth; relative to the store's folder.",
        shown="log.redb",
    )
    project: str = setting(
        "PROWESS_PROJECT",
        "",
        to.text,
        "Project of calls that name none (see [projects](projects.md)). Skills without a project serve all projects.",
        shown="told from the agent's folder",
    )
    embedder: str = setting(
        "PROWESS_EMBEDDER",
        "default",
        to.text,
        "Embedding model: `default` (packaged, offline), `none` (lexical search), or a sentence-transformers name.",
    )
    api_key: str = setting(
        "ANTHROPIC_API_KEY",
        "",
        to.text,
        "Key of a language model that words and extracts skills. Without it no model is ever called.",
        secret=True,
    )
    auth_token: str = setting(
        "ANTHROPIC_AUTH_TOKEN", "", to.text, "Bearer token instead of a key, for compatible servers.", secret=True
    )
    base_url: str = setting(
        "ANTHROPIC_BASE_URL", "", to.text, "Address of a compatible model server.", shown="Anthropic's"
    )
    model: str = setting("PROWESS_MODEL", "", to.text, "Language model to use.", shown="a small current model")
    daily_usd: float = setting(
        "PROWESS_DAILY_USD", 1.0, to.amount, "Most US dollars that the language model may cost in a day (UTC)."
    )
    model_price: tuple[float, float] | None = setting(
        "PROWESS_MODEL_PRICE",
        None,
        to.price,
        "US dollars per million tokens in and out, as `0.8,4`, of a model whose price is not known here.",
        shown="the known price",
    )
    keep_days: int = setting(
        "PROWESS_KEEP_DAYS",
        0,
        to.days,
        "Days that raw steps are kept; summaries and statistics stay.",
        shown="0 (for ever)",
    )
    keep_mb: int = setting(
        "PROWESS_KEEP_MB", 0, to.whole, "Megabytes of raw steps that are kept, the newest first.", shown="0 (no limit)"
    )
    unused_days: int = setting(
        "PROWESS_UNUSED_DAYS",
        30,
        to.days,
        "Days with activity after which a skill that was never used is archived by `evolve_skills`.",
        shown="30 (0: never)",
    )
    withhold: float = setting(
        "PROWESS_WITHHOLD",
        0.05,
        to.share,
        "Share of the matches of an active skill that `find_skill` withholds to measure what it is worth (see "
        "[lift](lift.md)). While that is above 0, a skill that is still a draft is withheld from every second match. "
        "0 withholds nothing.",
    )
    memory_cap: int = setting(
        "PROWESS_MEMORY_CAP",
        500,
        to.whole,
        "Lessons and warnings that a project keeps, the most useful ones.",
        shown="500 (0: none)",
    )
    learn_after: int = setting(
        "PROWESS_LEARN_AFTER",
        10,
        to.whole,
        "New scored episodes after which the server reflects and evolves by itself, at the latest (see "
        "[background](background.md)); 0 switches that off.",
    )
    backup_hours: float = setting(
        "PROWESS_BACKUP_HOURS",
        24.0,
        to.amount,
        "Hours between backups that the server makes by itself, where something changed; 0 switches them off.",
        shown="24",
    )
    backup_keep: int = setting("PROWESS_BACKUP_KEEP", 7, to.count, "Backups of its own that the server keeps.")
    train_threads: int = setting("PROWESS_TRAIN_THREADS", 1, to.count, "Processor threads that training may use.")
    train_mb: int = setting(
        "PROWESS_TRAIN_MB",
        4096,
        to.whole,
        "Megabytes of memory that training may use (enforced on Linux).",
        shown="4096 (0: no limit)",
    )
    train_usd: float = setting(
        "PROWESS_TRAIN_USD",
        0.0,
        to.amount,
        "Most US dollars that training may cost in a day (UTC) where a run asks for a language model (see "
        "[memskill](memskill.md)), beside `daily_usd`.",
        shown="0 (training is told no key)",
    )
    log_level: str = setting(
        "PROWESS_LOG_LEVEL", "WARNING", to.level, "How much the server says on stderr or in its log."
    )
    hook_tokens: int = setting(
        "PROWESS_HOOK_TOKENS",
        500,
        to.tokens,
        "Most tokens of skills, lessons and warnings that a [hook](hooks.md) adds to a prompt, from 200 to 20000; 0: "
        "none.",
    )
    hook_start_tokens: int = setting(
        "PROWESS_HOOK_START_TOKENS", 200, to.whole, "Most tokens that a hook adds at a session's start; 0 for none."
    )
    turso_url: str = setting(
        "TURSO_DATABASE_URL",
        "",
        to.text,
        "Remote libSQL database (Turso, sqld) that machines [synchronise](sync.md) with: `libsql://`, `https://`, "
        "`http://` (loopback) or `file:`. Without it nothing leaves this machine.",
    )
    turso_token: str = setting("TURSO_AUTH_TOKEN", "", to.text, "Token of the remote database.", secret=True)
    sync_person: str = setting(
        "PROWESS_SYNC_PERSON",
        "",
        to.text,
        "Your name for those who share the remote; their skills are drafts for those who do not trust it.",
    )
    sync_trust: tuple[str, ...] = setting(
        "PROWESS_SYNC_TRUST", (), to.names, "Names of people whose skills count as your own, by commas."
    )
    sync_private: tuple[str, ...] = setting(
        "PROWESS_SYNC_PRIVATE", (), to.names, "Projects of which nothing leaves this machine, by commas."
    )
    sync_raw: bool = setting(
        "PROWESS_SYNC_RAW", False, to.switch, "Share raw steps too, not only what is known of them."
    )
    sync_seconds: float = setting(
        "PROWESS_SYNC_SECONDS", 10.0, to.amount, "Seconds between looks at the remote for what others did.", shown="10"
    )
    sync_plain_http: bool = setting(
        "PROWESS_SYNC_PLAIN_HTTP", False, to.switch, "Allow `http://` to other machines than this one."
    )
    hub_idle_minutes: float = setting(
        "PROWESS_HUB_IDLE_MINUTES",
        15.0,
        to.amount,
        "Minutes after which a hub without clients and without work leaves; 0 lets it stay until it is stopped.",
        shown="15",
    )

    def __repr__(self) -> str:
        secret = {row.name for row in TABLE if row.secret and getattr(self, row.name)}
        shown = (f"{f.name}={'…' if f.name in secret else repr(getattr(self, f.name))}" for f in fields(self))
        return f"Settings({', '.join(shown)})"


_CONFIG_HINT = 'It is a TOML file of settings, such as: project = "shop"'
_LINK = re.compile(r"\[([^]]*)\]\(([\w-]+\.md)\)")

TABLE: tuple[Setting, ...] = tuple(
    Setting(name=f.name, default=None if f.default is MISSING else f.default, **f.metadata) for f in fields(Settings)
)


def load(overrides: Mapping[str, Any] | None = None, environ: Mapping[str, str] | None = None) -> Settings:
    """The settings in force. ``overrides`` are by name (None counts as not given). Raises ``BadSetting``."""
    environ = os.environ if environ is None else environ
    given = {name: value for name, value in (overrides or {}).items() if value is not None}
    _check_names(given, TABLE, "")
    home = _home(given, environ)
    config = _read_config(home / CONFIG_FILE)
    values = {row.name: _value(row, given, environ, config) for row in TABLE if row.name != "home"}
    return Settings(home=home, **values)


def of_hub(home: Path) -> Settings:
    """What a hub of the store goes by that starts now: of this process's environment only what the user allowed there.

    Raises ``BadSetting``.
    """
    return load({"home": home}, places.allowed_environment(home, os.environ))


def _home(given: Mapping[str, Any], environ: Mapping[str, str]) -> Path:
    row = TABLE[0]
    home: Path | None = _value(row, given, environ, {})
    if home is not None:
        return home.absolute()
    return _data_folder()


def _data_folder() -> Path:
    from platformdirs import user_data_path

    try:
        folder = user_data_path("prowess", appauthor=False)
    except RuntimeError:
        folder = Path()
    if not folder.is_absolute():  # older versions give a path that begins with ~
        raise BadSetting(places.UNKNOWN_HOME, hint="Set HOME, or name the store's folder with --store or PROWESS_HOME.")
    return folder


def _value(row: Setting, given: Mapping[str, Any], environ: Mapping[str, str], config: Mapping[str, Any]) -> Any:
    for place, values, key in (("", given, row.name), ("", environ, row.env), (f" in {CONFIG_FILE}", config, row.name)):
        if key in values and values[key] != "":
            return _parsed(row, values[key], f"{key}{place}")
    return row.default


def _parsed(row: Setting, value: Any, place: str) -> Any:
    try:
        return row.parse(value)
    except (TypeError, ValueError) as error:
        shown = "the value" if row.secret else repr(value)
        raise BadSetting(f"{place}: {shown} makes no sense: {error}", hint=_plain(row.help)) from None


def _plain(text: str) -> str:
    """``text`` of the reference for who reads it on a terminal: with the paths of pages in place of links."""
    return _LINK.sub(_path, text)


def _path(link: re.Match[str]) -> str:
    path = f"docs/{link[2]}"
    return path if link[2] == f"{link[1]}.md" else f"{link[1]} ({path})"


def _read_config(path: Path) -> dict[str, Any]:
    try:
        content = read_ordinary(path, MOST_BYTES)
        config = tomllib.loads(content.decode("utf-8-sig"))  # some editors put a mark at the start
    except (FileNotFoundError, NotADirectoryError):
        return {}
    except NotOrdinaryError as error:
        raise BadSetting(f"{path} cannot be read: {error.strerror}", hint=_CONFIG_HINT) from None
    except OSError as error:
        hint = "See that you may read it, or choose another folder with --store or PROWESS_HOME."
        raise UnreadableSettings(f"{path} cannot be read: {error.strerror}", hint=hint) from None
    except (ValueError, RecursionError) as error:
        raise BadSetting(f"{path} cannot be read: {error}", hint=_CONFIG_HINT) from None
    _check_names(config, TABLE[1:], f"{path}: ")
    return config


def _check_names(values: Mapping[str, Any], rows: Sequence[Setting], place: str) -> None:
    known = [row.name for row in rows]
    for name in values:
        if name not in known:
            raise BadSetting(f"{place}there is no setting {name!r}", hint=f"The settings are {', '.join(known)}.")


def reference() -> str:
    """docs/settings.md, made from the table."""
    rows = "\n".join(f"| `{row.env}` | `{row.name}` | {row.default_text} | {row.help} |" for row in TABLE)
    return f"""\
# Settings

Each setting is an environment variable or, but for `home`, a line of `{CONFIG_FILE}` in the store's folder (TOML, e.g.
`project = "shop"`). The environment wins over the file; `--store DIR` of the command wins over `PROWESS_HOME`. They
are read once, when the server or a command starts. An empty value counts as not given.

The **shared hub** (`prowess serve`, see [hub](hub.md)) outlives the agent that started it and serves others too, and a
repository that you did not write may set the environment of the agent that works in it. So the hub goes by
`{CONFIG_FILE}`, and of an environment by nothing but the variables whose names you wrote, one on each line, into the
file `allow-env` in the store's folder; those it takes from the environment in which it was started. Only
`PROWESS_HOME` and `PROWESS_PROJECT` always count: each agent says where its store is and which project its own work
belongs to.

| environment | in {CONFIG_FILE} | default | meaning |
|---|---|---|---|
{rows}
"""
