"""The client of FastMCP, with the package that gives it tasks."""

import asyncio
import os

import fastmcp_tasks  # noqa: F401  Importing it is what has a client declare tasks.
import mcp_types as types
from fastmcp import Client
from fastmcp.client.elicitation import ElicitResult
from fastmcp.client.transports import StdioTransport
from mcp import MCPError

from contract import TOOLS, Seen, arguments

MODES = {"default": "auto", "modern": "2026-07-28", "legacy": "legacy"}


async def play(client, scenario):
    if scenario == "prompt":
        return (await client.get_prompt("review")).messages[0].content.text, False
    if scenario == "resource":
        return (await client.read_resource("notes://secret"))[0].text, False
    if scenario == "header":
        await client.list_tools()
    result = await client.call_tool(*TOOLS[scenario], raise_on_error=False)
    return result.content[0].text, result.is_error


async def main():
    scenario, era, kind, where = arguments()
    seen = Seen(scenario)

    async def elicit(message, response_type, params, context):
        if isinstance(params, types.ElicitRequestURLParams):
            seen.url(params.url)
            return ElicitResult(action="accept")
        action, content = seen.form(message, params.requested_schema["properties"])
        return ElicitResult(action=action, content=content)

    async def sample(messages, params, context):
        message = messages[0].content
        seen.sampling((message[0] if isinstance(message, list) else message).text)
        text = types.TextContent(type="text", text="Paris")
        return types.CreateMessageResult(role="assistant", content=text, model="test", stop_reason="endTurn")

    async def roots(context):
        seen.roots()
        return ["file:///project"]

    command = StdioTransport(command=where[0], args=where[1:], env=dict(os.environ)) if kind == "stdio" else None
    handlers = {"elicitation_handler": elicit, "sampling_handler": sample, "roots": roots}
    async with Client(command or where[0], mode=MODES[era], **handlers) as client:
        version = client.session.protocol_version
        try:
            text, is_error = await play(client, scenario)
            seen.tell(version, text, is_error)
        except MCPError as error:
            seen.tell(version, error.error.message, True, error.error.code)


asyncio.run(main())
