"""Where an option belongs that was written before the command it is for."""

from __future__ import annotations

from collections.abc import Collection, Iterator

import click

__all__ = ["commands", "where_it_belongs"]

NAMED = 3  # commands that know the option; of more, the first ones serve as examples

_Words = tuple[str, ...]


def where_it_belongs(error: click.ClickException, arguments: Collection[str]) -> str:
    """A hint where a group of commands was given what only its commands know, else "".

    Of those commands the ones are named that ``arguments`` call, if there are any.
    """
    if not isinstance(error, click.NoSuchOption) or error.ctx is None or not isinstance(error.ctx.command, click.Group):
        return ""
    knowing = [
        (words, _with_value(param, error.option_name))
        for words, command in commands(error.ctx.command)
        for param in command.params
        if _is(param, error.option_name)
    ]
    called = [known for known in knowing if set(known[0]) <= set(arguments)] or knowing
    if not called:
        return ""
    told = ", ".join(f"`{' '.join((error.ctx.command_path, *words))} {option}`" for words, option in called[:NAMED])
    return f"options stand behind the command: {told}{', …' if len(called) > NAMED else ''}"


def commands(group: click.Group, path: _Words = ()) -> Iterator[tuple[_Words, click.Command]]:
    """Every command with the words that call it, groups left out."""
    context = click.Context(group)
    for name in group.list_commands(context):
        command = group.get_command(context, name)
        if isinstance(command, click.Group):
            yield from commands(command, (*path, name))
        elif command is not None:
            yield (*path, name), command


def _is(param: click.Parameter, option: str) -> bool:
    return isinstance(param, click.Option) and option in (*param.opts, *param.secondary_opts)


def _with_value(param: click.Parameter, option: str) -> str:
    assert isinstance(param, click.Option)
    return option if param.is_flag else f"{option} {param.metavar or 'VALUE'}"
