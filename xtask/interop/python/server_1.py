"""The server of the official Python SDK, 1.x, which speaks the legacy era alone. Called with `http PORT` or `stdio`."""

import sys
from typing import Any

from mcp import types
from mcp.server.fastmcp import Context, FastMCP

from forms import CAPITAL, URL, Language, Name, Notebook, Original, Resolved, greeting, resolved

port = int(sys.argv[2]) if sys.argv[1] == "http" else 8000
server = FastMCP("python-1", log_level="ERROR", port=port)


@server.tool()
async def greet(ctx: Context) -> str:
    answer = await ctx.elicit("Who are you?", Name)
    return greeting(answer.action, answer.data.name if answer.action == "accept" else None)


@server.tool()
async def update_work_item(workItemId: int, fields: dict[str, Any], ctx: Context) -> str:
    await ctx.elicit("How was this bug resolved?", Resolved)
    original = await ctx.elicit("Which work item is the original?", Original)
    return resolved(workItemId, original.data.duplicateOfId)


@server.tool()
async def mixed(ctx: Context) -> str:
    login = await ctx.elicit("Please provide your GitHub username", Name)
    question = types.SamplingMessage(role="user", content=types.TextContent(type="text", text=CAPITAL))
    capital = await ctx.session.create_message([question], max_tokens=100, related_request_id=ctx.request_id)
    roots = await ctx.session.list_roots()
    return f"{login.data.name}, {capital.content.text}, {roots.roots[0].uri}"


@server.prompt()
async def review(ctx: Context) -> str:
    return f"Review this {(await ctx.elicit('Which language?', Language)).data.language}"


@server.resource("notes://{what}")
async def notes(what: str, ctx: Context) -> str:
    return f"The notes of {(await ctx.elicit('Which notebook?', Notebook)).data.notebook}"


@server.tool()
async def connect(ctx: Context) -> str:
    answer = await ctx.elicit_url("Connect your account", URL, "connect-1")
    return "Connected" if answer.action == "accept" else answer.action


server.run("streamable-http" if sys.argv[1] == "http" else "stdio")
