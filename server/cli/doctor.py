"""``prowess doctor``: what is wrong, and the command that mends it."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from prowess.server.cli.command import Run, command
from prowess.server.cli.exits import Exit
from prowess.server.cli.session import settings
from prowess.server.cli.terminal import printed

__all__ = ["doctor"]

_STYLES = {"ok": "green", "warn": "yellow", "fail": "red"}


def show(run: Run, result: dict[str, Any]) -> None:
    out = run.out
    for finding in result["findings"]:
        out.print(
            f"{finding['state']:<5}{finding['check']:<15} {printed(finding['said'])}", style=_STYLES[finding["state"]]
        )
        if finding["mend"]:
            out.print(f"{'':<20} mend: {printed(finding['mend'])}")


@command("doctor", example="prowess doctor --json", show=show)
async def doctor(run: Run) -> dict[str, Any]:
    """Tell what is wrong, and what mends it.

    Looks at the installation and the store and changes nothing. The exit code is 1 where something fails; warnings do
    not count.
    """
    from prowess.server.doctor import examine
    from prowess.server.settings import BadSetting

    try:
        values: Any = settings(run)
    except BadSetting as error:
        values = error
    findings = [finding async for finding in examine(values)]
    healthy = all(finding.state != "fail" for finding in findings)
    run.code = Exit.OK if healthy else Exit.FAILED
    return {"healthy": healthy, "findings": [asdict(finding) for finding in findings]}
