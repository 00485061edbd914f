"""The bound of every tool: the SDK's low-level server with one tool that does nothing, over the transport of ours."""

from __future__ import annotations

from typing import Any

import anyio
from mcp.server.lowlevel.server import Server
from mcp.server.runner import serve_dual_era_loop
from mcp_types import CallToolResult, TextContent

from prowess.server.lines import line_transport

_ANSWER = {"episode_id": "00000000-0000-0000-0000-000000000000", "step": 1, "stored": 1, "receipt": "none"}


async def _call_tool(_request: Any, _params: Any) -> CallToolResult:
    return CallToolResult(content=[TextContent(type="text", text="did nothing")], structured_content=_ANSWER)


async def main() -> None:
    server: Server[Any] = Server("no-op", version="1", on_call_tool=_call_tool)
    async with line_transport(0, 1) as (incoming, outgoing):
        await serve_dual_era_loop(
            server, incoming, outgoing, lifespan_state={}, init_options=server.create_initialization_options()
        )


anyio.run(main)
