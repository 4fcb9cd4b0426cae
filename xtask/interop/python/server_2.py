"""The server of the official Python SDK, 2.x, for clients of both eras. Called with `http PORT` or `stdio`.

Tools ask by resolvers, which the SDK runs in either era; what it has no resolver for returns the questions itself.
"""

import sys
from typing import Annotated, Any

import mcp_types as types
from mcp.server.elicitation import ElicitationResult, render_elicitation_schema
from mcp.server.mcpserver import Context, Elicit, ListRoots, MCPServer, Resolve, Sample
from pydantic import Field

from forms import CAPITAL, URL, Language, Name, Notebook, Original, Resolved, greeting, resolved

server = MCPServer("python-2", log_level="ERROR")


def ask_name() -> Elicit[Name]:
    return Elicit("Who are you?", Name)


def ask_resolution() -> Elicit[Resolved]:
    return Elicit("How was this bug resolved?", Resolved)


def ask_original(how: Annotated[Resolved, Resolve(ask_resolution)]) -> Original | Elicit[Original]:
    return Elicit("Which work item is the original?", Original)


def ask_login() -> Elicit[Name]:
    return Elicit("Please provide your GitHub username", Name)


def ask_capital() -> Sample:
    text = types.TextContent(type="text", text=CAPITAL)
    return Sample([types.SamplingMessage(role="user", content=text)], max_tokens=100)


def ask_roots() -> ListRoots:
    return ListRoots()


@server.tool()
async def greet(answer: Annotated[ElicitationResult[Name], Resolve(ask_name)]) -> str:
    return greeting(answer.action, answer.data.name if answer.action == "accept" else None)


@server.tool()
async def update_work_item(
    workItemId: int, fields: dict[str, Any], original: Annotated[Original, Resolve(ask_original)]
) -> str:
    return resolved(workItemId, original.duplicateOfId)


@server.tool()
async def mixed(
    login: Annotated[Name, Resolve(ask_login)],
    capital: Annotated[types.CreateMessageResult, Resolve(ask_capital)],
    roots: Annotated[types.ListRootsResult, Resolve(ask_roots)],
) -> str:
    return f"{login.name}, {capital.content.text}, {roots.roots[0].uri}"


async def form(ctx: Context, key: str, message: str, schema):
    """The answer of a form, or, in the modern era, the result that asks for it."""
    if ctx.protocol_version < "2026-07-28":
        return (await ctx.elicit(message, schema)).data
    if ctx.input_responses is None:
        params = types.ElicitRequestFormParams(message=message, requested_schema=render_elicitation_schema(schema))
        return types.InputRequiredResult(input_requests={key: types.ElicitRequest(params=params)})
    return schema.model_validate(ctx.input_responses[key].content)


@server.prompt()
async def review(ctx: Context) -> str | types.InputRequiredResult:
    answer = await form(ctx, "language", "Which language?", Language)
    return f"Review this {answer.language}" if isinstance(answer, Language) else answer


@server.resource("notes://{what}")
async def notes(what: str, ctx: Context) -> str | types.InputRequiredResult:
    answer = await form(ctx, "pin", "Which notebook?", Notebook)
    return f"The notes of {answer.notebook}" if isinstance(answer, Notebook) else answer


@server.tool()
async def shed(ctx: Context) -> str | types.InputRequiredResult:
    if ctx.request_state is None:
        return types.InputRequiredResult(request_state="50")
    return f"Carried on from {ctx.request_state} percent"


@server.tool()
async def connect(ctx: Context) -> str | types.InputRequiredResult:
    if ctx.protocol_version < "2026-07-28":
        answer = await ctx.elicit_url("Connect your account", URL, "connect-1")
    elif ctx.input_responses is None:
        params = types.ElicitRequestURLParams(message="Connect your account", url=URL)
        return types.InputRequiredResult(input_requests={"connect": types.ElicitRequest(params=params)})
    else:
        answer = ctx.input_responses["connect"]
    return "Connected" if answer.action == "accept" else answer.action


@server.tool()
async def deploy(region: Annotated[str, Field(json_schema_extra={"x-mcp-header": "Region"})], ctx: Context) -> str:
    if ctx.headers is not None and ctx.headers.get("mcp-param-region") != region:
        raise ValueError("the header Mcp-Param-Region is missing")
    return f"Deployed to {region}"


if sys.argv[1] == "http":
    server.run("streamable-http", port=int(sys.argv[2]))
else:
    server.run("stdio")
