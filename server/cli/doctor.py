"""``prowess doctor``: what is wrong, and the command that mends it."""

from __future__ import annotations

import re
import shlex
from dataclasses import asdict, replace
from typing import TYPE_CHECKING, Any

import click

from prowess.server.cli.command import Run, command
from prowess.server.cli.exits import Exit
from prowess.server.cli.session import settings
from prowess.server.cli.terminal import printed

if TYPE_CHECKING:
    from prowess.server.doctor.finding import Finding

__all__ = ["doctor"]

# The commands that a finding names to be given as they stand.
_COMMAND = re.compile(r"\bprowess (?:backup DIR|forget --yes|hub \w+|import CLIENT|rebuild|restore|stats)(?!.*--store)")
_STYLES = {"ok": "green", "warn": "yellow", "fail": "red"}


def show(run: Run, result: dict[str, Any]) -> None:
    out = run.out
    for finding in result["findings"]:
        out.print(
            f"{finding['state']:<5}{finding['check']:<19} {printed(finding['said'])}", style=_STYLES[finding["state"]]
        )
        if finding["mend"]:
            out.print(f"{'':<24} mend: {printed(finding['mend'])}")


@command("doctor", example="prowess doctor --json", show=show)
@click.option("--skip-hooks", is_flag=True, help="Send nothing through the clients' hooks.")
async def doctor(run: Run, skip_hooks: bool) -> dict[str, Any]:
    """Tell what is wrong, and what mends it.

    Looks at the installation and the store. Through the hooks of each client that has them a made-up session with one
    step is sent, followed through log, catalog and find_skill, and forgotten; nothing else is changed. The exit code is
    1 where something fails; warnings do not count.
    """
    from prowess.server.doctor.clients import look_at_clients
    from prowess.server.doctor.examination import examine
    from prowess.server.doctor.finding import Finding
    from prowess.server.install import Surroundings
    from prowess.server.settings import BadSetting
    from prowess.server.shim.places import PlaceError

    try:
        values: Any = settings(run)
    except BadSetting as error:
        values = error
    findings = [finding async for finding in examine(values)]
    if not isinstance(values, BadSetting):
        try:
            usable = not any(finding.check in ("folder", "log") and finding.state == "fail" for finding in findings)
            clients = look_at_clients(values.home, Surroundings.here(), send=usable and not skip_hooks)
        except PlaceError as error:
            findings.append(Finding("clients", "warn", f"not looked at: {error}", error.hint))
        else:
            findings += [finding async for finding in clients]
    healthy = all(finding.state != "fail" for finding in findings)
    run.code = Exit.OK if healthy else Exit.FAILED
    return {"healthy": healthy, "findings": [asdict(_with_store(finding, run)) for finding in findings]}


def _with_store(finding: Finding, run: Run) -> Finding:
    """With commands for the store that was looked at, which need not be the one that they take by themselves."""
    if run.store is None:
        return finding
    named = f" --store {shlex.quote(str(run.store))}"
    said, mend = (_COMMAND.sub(lambda found: f"{found[0]}{named}", text) for text in (finding.said, finding.mend))
    return replace(finding, said=said, mend=mend)
