"""The hub as it is, but its tools do nothing and answer at once: what is left is the price of shim, socket and SDK."""

from __future__ import annotations

import logging
import os
import sys
from typing import Any

from mcp.server.lowlevel.server import Server
from mcp_types import CallToolResult, TextContent

from prowess.server.hub import connections
from prowess.server.hub.process import main


async def _nothing(_request: Any, _params: Any) -> CallToolResult:
    content = {"episode_id": "none", "step": 0, "stored": 0, "receipt": "none"}
    return CallToolResult(content=[TextContent(type="text", text="nothing")], structured_content=content)


def _create_server(_surroundings: Any) -> Server[Any]:
    return Server("noop", on_call_tool=_nothing)


if __name__ == "__main__":
    setattr(connections, "create_server", _create_server)  # noqa: B010 - it is none of what the module offers
    code = main(sys.argv[1:])
    logging.shutdown()
    os._exit(code)
