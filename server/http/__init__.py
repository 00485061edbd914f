"""MCP over Streamable HTTP, for agents that run in containers or on other machines: served by the hub on request."""
