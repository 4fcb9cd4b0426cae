"""The server of FastMCP, with the package that gives it tasks, for clients of both eras.

Called with `http PORT` or `stdio`. In the modern era a handler returns what it asks, and carries what it knows in the
state; in a session it asks in the middle of its call.
"""

import sys
from typing import Annotated, Any

import mcp_types as types
from fastmcp import Context, FastMCP
from fastmcp.server.dependencies import get_http_headers
from fastmcp_tasks import TasksExtension
from mcp.server.elicitation import render_elicitation_schema
from pydantic import Field

from forms import CAPITAL, URL, Echo, Language, Name, Notebook, Original, Resolved, greeting, resolved

server = FastMCP("fastmcp")
server.add_extension(TasksExtension(url="memory://"))


def is_modern(ctx: Context):
    return ctx.request_context.protocol_version >= "2026-07-28"


def form(message, schema):
    params = types.ElicitRequestFormParams(message=message, requested_schema=render_elicitation_schema(schema))
    return types.ElicitRequest(params=params)


def asks(key, request, state=None):
    return types.InputRequiredResult(input_requests={key: request}, request_state=state)


def answer_of(ctx: Context, key):
    return (ctx.input_responses or {}).get(key)


@server.tool
async def greet(ctx: Context) -> str | types.InputRequiredResult:
    if is_modern(ctx):
        answer = answer_of(ctx, "name")
        if answer is None:
            return asks("name", form("Who are you?", Name))
        return greeting(answer.action, (answer.content or {}).get("name"))
    answer = await ctx.elicit("Who are you?", Name)
    return greeting(answer.action, answer.data.name if answer.action == "accept" else None)


@server.tool
async def update_work_item(
    workItemId: int, fields: dict[str, Any], ctx: Context
) -> str | types.InputRequiredResult:
    if is_modern(ctx):
        resolution, original = answer_of(ctx, "resolution"), answer_of(ctx, "duplicate_of")
        if original is not None and ctx.request_state == "Duplicate":
            return resolved(workItemId, original.content["duplicateOfId"])
        if resolution is not None:
            state = resolution.content["resolution"]
            return asks("duplicate_of", form("Which work item is the original?", Original), state)
        return asks("resolution", form("How was this bug resolved?", Resolved))
    await ctx.elicit("How was this bug resolved?", Resolved)
    original = await ctx.elicit("Which work item is the original?", Original)
    return resolved(workItemId, original.data.duplicateOfId)


@server.tool
async def mixed(ctx: Context) -> str | types.InputRequiredResult:
    question = types.SamplingMessage(role="user", content=types.TextContent(type="text", text=CAPITAL))
    login = "Please provide your GitHub username"
    if not is_modern(ctx):
        name = (await ctx.elicit(login, Name)).data.name
        capital = await ctx.session.create_message([question], max_tokens=100, related_request_id=ctx.request_id)
        roots = await ctx.session.list_roots()
    elif ctx.input_responses is None:
        sampling = types.CreateMessageRequestParams(messages=[question], max_tokens=100)
        requests = {
            "login": form(login, Name),
            "capital": types.CreateMessageRequest(params=sampling),
            "roots": types.ListRootsRequest(),
        }
        return types.InputRequiredResult(input_requests=requests)
    else:
        name = ctx.input_responses["login"].content["name"]
        capital, roots = ctx.input_responses["capital"], ctx.input_responses["roots"]
    return f"{name}, {capital.content.text}, {roots.roots[0].uri}"


async def one_field(ctx: Context, key, message, schema, field):
    """What was filled in, or, in the modern era, the result that asks for it."""
    if not is_modern(ctx):
        return getattr((await ctx.elicit(message, schema)).data, field)
    answer = answer_of(ctx, key)
    return answer.content[field] if answer is not None else asks(key, form(message, schema))


@server.prompt
async def review(ctx: Context) -> str | types.InputRequiredResult:
    language = await one_field(ctx, "language", "Which language?", Language, "language")
    return f"Review this {language}" if isinstance(language, str) else language


@server.resource("notes://secret")
async def notes(ctx: Context) -> str | types.InputRequiredResult:
    notebook = await one_field(ctx, "pin", "Which notebook?", Notebook, "notebook")
    return f"The notes of {notebook}" if isinstance(notebook, str) else notebook


@server.tool
async def shed(ctx: Context) -> str | types.InputRequiredResult:
    if ctx.request_state is None:
        return types.InputRequiredResult(request_state="50")
    return f"Carried on from {ctx.request_state} percent"


@server.tool
async def connect(ctx: Context) -> str | types.InputRequiredResult:
    if not is_modern(ctx):
        answer = await ctx.session.elicit_url("Connect your account", URL, "connect-1", ctx.request_id)
    else:
        answer = answer_of(ctx, "connect")
        if answer is None:
            params = types.ElicitRequestURLParams(message="Connect your account", url=URL)
            return asks("connect", types.ElicitRequest(params=params))
    return "Connected" if answer.action == "accept" else answer.action


@server.tool
async def deploy(region: Annotated[str, Field(json_schema_extra={"x-mcp-header": "Region"})]) -> str:
    headers = get_http_headers(include_all=True)
    if headers and headers.get("mcp-param-region") != region:
        raise ValueError("the header Mcp-Param-Region is missing")
    return f"Deployed to {region}"


@server.tool(task=True)
async def echo_task(ctx: Context) -> str | types.InputRequiredResult:
    answer = answer_of(ctx, "echo_input")
    return asks("echo_input", form("What shall I echo?", Echo)) if answer is None else f"Echo: {answer.content['text']}"


if sys.argv[1] == "http":
    server.run("http", host="127.0.0.1", port=int(sys.argv[2]), path="/mcp", show_banner=False, log_level="error")
else:
    server.run("stdio", show_banner=False, log_level="error")
