"""A server of the official Python SDK, 1.x, as its documentation shows one: a tool that asks in the middle of its call.

It speaks the legacy era alone: over stdio, or over HTTP on the port that it is told.
"""

import sys

from mcp.server.fastmcp import Context, FastMCP
from pydantic import BaseModel

port = int(sys.argv[1]) if len(sys.argv) > 1 else None
server = FastMCP("greeter", log_level="ERROR", port=port or 8000)


class Name(BaseModel):
    name: str


@server.tool()
async def greet(ctx: Context) -> str:
    answer = await ctx.elicit("Who are you?", Name)
    return f"Hello, {answer.data.name}" if answer.action == "accept" else answer.action


server.run("streamable-http" if port else "stdio")
