"""The root of the commands, and how a command's end becomes an exit code."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from difflib import get_close_matches
from importlib import import_module
from importlib.metadata import version
from io import StringIO

import click

from prowess.server.cli.exits import Exit
from prowess.server.cli.misplaced import where_it_belongs
from prowess.server.cli.terminal import give_up_output, open_streams, show_json

__all__ = ["COMMANDS", "cli", "run"]

# Where each command is written; a module is imported when its command is called or listed.
COMMANDS: dict[str, str] = {
    "serve": "prowess.server.cli.serve:serve",
    "hook": "prowess.server.cli.hook:hook",
    "hub": "prowess.server.cli.hub:hub",
    "token": "prowess.server.cli.token:token",
    "sync": "prowess.server.cli.sync:sync",
    "demo": "prowess.server.cli.demo:demo",
    "import": "prowess.server.cli.imports:import_group",
    "episodes": "prowess.server.cli.episodes:episodes",
    "skills": "prowess.server.cli.skills:skills",
    "memories": "prowess.server.cli.memories:memories",
    "memskill": "prowess.server.cli.memskill:memskill",
    "reflect": "prowess.server.cli.learn:reflect",
    "find": "prowess.server.cli.learn:find",
    "evolve": "prowess.server.cli.evolve:evolve",
    "forget": "prowess.server.cli.forget:forget",
    "rebuild": "prowess.server.cli.upkeep:rebuild",
    "backup": "prowess.server.cli.upkeep:backup",
    "restore": "prowess.server.cli.upkeep:restore",
    "status": "prowess.server.cli.status:status",
    "doctor": "prowess.server.cli.doctor:doctor",
    "stats": "prowess.server.cli.stats:stats",
    "install": "prowess.server.cli.install:install",
    "uninstall": "prowess.server.cli.install:uninstall",
    "config": "prowess.server.cli.config:config",
}


class _Lazy(click.Group):
    """A group that knows its commands by name and loads one at a time."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        place = COMMANDS.get(cmd_name)
        if place is None:
            return None
        module, _, name = place.partition(":")
        command: click.Command = getattr(import_module(module), name)
        return command

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        if args[0] not in COMMANDS and not args[0].startswith("-") and not ctx.resilient_parsing:
            # click's own search for the one that was meant knows loaded commands alone
            near = " or ".join(map(repr, get_close_matches(args[0], COMMANDS)))
            ctx.fail(f"No such command {args[0]!r}.{f' Did you mean {near}?' if near else ''}")
        return super().resolve_command(ctx, args)


@click.group(
    cls=_Lazy,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
    epilog="Exit codes and every option: docs/cli.md. Example: prowess find 'return two items of an order'",
)
@click.version_option(version("prowess"), "--version", prog_name="prowess")
def cli() -> None:
    """The memory that coding agents share: episodes, rewards, reflection and evolving skills."""


def run(arguments: Sequence[str]) -> int:
    """Run one command line; the exit code (see ``exits``). Usage errors and help are click's."""
    open_streams()
    try:
        code = _run(arguments)
        sys.stdout.flush()
    except KeyboardInterrupt:  # while the reader kept us waiting
        give_up_output()
        return Exit.INTERRUPTED
    except BrokenPipeError:
        give_up_output()  # the reader (head, less) has enough
        return Exit.OK
    except OSError as error:
        give_up_output()
        click.echo(f"error: the result could not be written: {error.strerror}", err=True)
        return Exit.UNAVAILABLE
    return code


def _run(arguments: Sequence[str]) -> int:
    try:
        code = cli.main(list(arguments), prog_name="prowess", standalone_mode=False)
    except click.exceptions.NoArgsIsHelpError as asked:
        asked.show()
        return Exit.USAGE
    except click.ClickException as error:
        return _misused(error, arguments)
    except (click.Abort, KeyboardInterrupt):
        click.echo("interrupted", err=True)
        return Exit.INTERRUPTED
    return code if isinstance(code, int) else Exit.OK


def _misused(error: click.ClickException, arguments: Sequence[str]) -> int:
    from prowess.learning.redaction.masking import mask

    belongs = where_it_belongs(error, arguments)
    if "--json" in arguments:
        see = f"see `{error.ctx.command_path} --help`" if isinstance(error, click.UsageError) and error.ctx else ""
        show_json(
            {"error": {"message": mask(error.format_message()), "hint": belongs or see, "exit_code": error.exit_code}}
        )
    said = StringIO()
    error.show(said)
    click.echo(mask(said.getvalue()), nl=False, err=True)  # it repeats what the caller gave
    if belongs:
        click.echo(f"hint: {belongs}", err=True)
    return error.exit_code
