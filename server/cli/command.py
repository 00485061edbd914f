"""What all commands share: the common options, one result in two forms, and errors with a hint.

A command is an async function that returns its result as JSON-able data; ``show`` prints the same for a person. Under
``--json`` stdout gets exactly one JSON document, also from a command that fails: ``{"error": {message, hint,
exit_code}}``.
"""

from __future__ import annotations

import functools
import os
import sys
import traceback
from collections.abc import Awaitable, Callable
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import anyio
import click

from prowess.learning.redaction.masking import mask
from prowess.providers.errors import ProviderError
from prowess.server.cli.exits import Exit, exit_of
from prowess.server.cli.terminal import Tick, console, give_up_output, progress, show_json
from prowess.server.settings import BadSetting
from prowess.server.shim.places import PlaceError
from prowess.storage.errors import StoreError
from prowess.storage.log.lock import called
from prowess.tools.errors import ToolError

if TYPE_CHECKING:
    from rich.console import Console

__all__ = ["Failed", "PathGiven", "Run", "command", "confirm"]

KNOWN_ERRORS = (StoreError, ToolError, ProviderError, BadSetting, PlaceError, OSError)


class Failed(Exception):
    """A command could not do what it was asked, for a reason of its own."""

    def __init__(self, message: str, *, hint: str = "", code: Exit = Exit.FAILED) -> None:
        super().__init__(message)
        self.hint = hint
        self.code = code


class _NotThere(click.BadParameter):
    exit_code = Exit.NOT_FOUND


class PathGiven(click.Path):
    """A path that is not empty: a variable that is not set would otherwise mean the working directory.

    One that has to be there and is not ends the command as any other thing that is not found.
    """

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        if value == "":
            self.fail("the path is empty", param, ctx)
        if self.exists and not (self.allow_dash and value == "-") and not os.path.lexists(value):
            raise _NotThere(f"there is nothing at {value}", ctx, param)
        return super().convert(value, param, ctx)


@dataclass(slots=True, kw_only=True)
class Run:
    """One command's surroundings. ``code`` is what it exits with when it returns."""

    json: bool
    store: Path | None
    color: bool | None
    code: Exit = Exit.OK

    @property
    def out(self) -> Console:
        return console(sys.stdout, self.color)

    def note(self, text: str) -> None:
        """A remark on stderr."""
        console(sys.stderr, self.color).print(text, style="dim")

    def progress(self, label: str, total: float) -> AbstractContextManager[Tick]:
        return progress(label, total, self.color)


Body = Callable[..., Awaitable[Any]]
Show = Callable[[Run, Any], None]


def command(
    name: str, *, example: str, show: Show, group: click.Group | None = None
) -> Callable[[Body], click.Command]:
    """Make a command of an async function whose first argument is the ``Run``; its docstring is the help."""

    def decorate(body: Body) -> click.Command:
        @functools.wraps(body)
        def call(*, json: bool, store: Path | None, color: bool | None, **options: Any) -> int:
            with called(click.get_current_context().command_path):
                return _carry_out(Run(json=json, store=store, color=color), body, show, options)

        for option in reversed(_common_options()):
            call = option(call)
        made = click.command(name, epilog=f"Example: {example}")(call)
        if group is not None:
            group.add_command(made)
        return made

    return decorate


def _common_options() -> list[Callable[[Any], Any]]:
    return [
        click.option("--json", is_flag=True, help="Print one JSON document instead of text."),
        click.option(
            "--store",
            type=PathGiven(path_type=Path, file_okay=False),
            metavar="DIR",
            help="The store's folder (or PROWESS_HOME).",
        ),
        click.option("--color/--no-color", default=None, help="By default on a terminal, unless NO_COLOR is set."),
    ]


def _carry_out(run: Run, body: Body, show: Show, options: dict[str, Any]) -> int:
    try:
        result = anyio.run(functools.partial(body, run, **options))
    except Failed as error:
        return _failed(run, str(error), error.hint, error.code)
    except KNOWN_ERRORS as error:
        return _failed(run, _message(error), _hint(error), exit_of(error))
    except BaseExceptionGroup as group:
        return _failed_group(run, group)
    except Exception as error:
        return _unforeseen(run, error)
    _print(run, show, result)
    return run.code


def _print(run: Run, show: Show, result: Any) -> None:
    try:
        show_json(result) if run.json else show(run, result)
        sys.stdout.flush()
    except BrokenPipeError:
        give_up_output()  # the reader (head, less) has enough, which is no failure of the command


def _message(error: BaseException) -> str:
    if isinstance(error, OSError) and error.strerror:
        return f"{error.filename or 'the system'}: {error.strerror}"
    return str(error)


def _hint(error: BaseException) -> str:
    if isinstance(error, OSError):
        return "see that the path is right, that you may use it, and that the disk has room"
    return str(getattr(error, "hint", ""))


def _failed_group(run: Run, group: BaseExceptionGroup[BaseException]) -> int:
    """A task group wraps what went wrong in it: unwrap what we know, leave the rest to a traceback."""
    known, unknown = group.split((*KNOWN_ERRORS, Failed))
    if known is None or unknown is not None:
        return _unforeseen(run, group)
    error: BaseException = known
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    return _failed(run, _message(error), _hint(error), error.code if isinstance(error, Failed) else exit_of(error))


def _unforeseen(run: Run, error: BaseException) -> int:
    """A bug: its traceback on stderr is what a report needs, and a program still gets its document."""
    traceback.print_exception(error, file=sys.stderr)
    hint = "this is a bug of prowess: please report it with the lines above; nothing acknowledged is lost"
    return _failed(run, f"{type(error).__name__}: {error}", hint, Exit.FAILED)


def _failed(run: Run, message: str, hint: str, code: Exit) -> int:
    message, hint = mask(message), mask(hint)  # which may repeat what the caller gave, or a name in the store
    if run.json:
        show_json({"error": {"message": message, "hint": hint, "exit_code": int(code)}})
    err = console(sys.stderr, run.color)
    err.print("error:", message, style="red")
    if hint:
        err.print("hint:", hint)
    return code


def confirm(run: Run, question: str, yes: bool) -> None:
    """Go on only with a person's word. Where nobody can be asked, ``--yes`` is that word."""
    if yes:
        return
    if sys.stdin is None or not sys.stdin.isatty() or run.json:
        raise Failed("not confirmed; nothing was done", hint="add --yes to do it without a question", code=Exit.USAGE)
    if not click.confirm(question, err=True):
        raise Failed("nothing was done", hint="say yes, or add --yes, to do it")
