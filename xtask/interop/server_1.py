"""A server of the official Python SDK, 1.x, as its documentation shows one: a tool that elicits in a session.

Called with `stdio`, or with `http PORT`.
"""

import sys

from mcp.server.fastmcp import Context, FastMCP
from pydantic import BaseModel


class Name(BaseModel):
    name: str


port = int(sys.argv[2]) if len(sys.argv) > 2 else 8000
server = FastMCP("greeter", port=port, log_level="WARNING")


@server.tool()
async def greet(ctx: Context) -> str:
    answer = await ctx.elicit(message="Who are you?", schema=Name)
    return f"Hello, {answer.data.name}" if answer.action == "accept" else answer.action


server.run("stdio" if sys.argv[1] == "stdio" else "streamable-http")
