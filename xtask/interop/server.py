"""A server of the official Python SDK, 2.x, as its documentation shows one: a tool that asks before it answers.

Called with `http PORT`; otherwise it serves on standard input and output.
"""

import sys
from typing import Annotated

from mcp.server.mcpserver import Elicit, MCPServer, Resolve
from pydantic import BaseModel

server = MCPServer("greeter")


class Name(BaseModel):
    name: str


def ask() -> Elicit[Name]:
    return Elicit("Who are you?", Name)


@server.tool()
async def greet(name: Annotated[Name, Resolve(ask)]) -> str:
    return f"Hello, {name.name}"


if "http" in sys.argv:
    server.run("streamable-http", port=int(sys.argv[2]))
else:
    server.run("stdio")
