"""The client of the official Python SDK, 1.x, which speaks the legacy era alone."""

import asyncio
import os

from mcp import ClientSession, McpError, StdioServerParameters, types
from mcp.client.stdio import stdio_client
from mcp.client.streamable_http import streamable_http_client

from contract import TOOLS, Seen, arguments, unsupported


async def play(session, scenario):
    if scenario == "prompt":
        return (await session.get_prompt("review")).messages[0].content.text, False
    if scenario == "resource":
        return (await session.read_resource("notes://secret")).contents[0].text, False
    result = await session.call_tool(*TOOLS[scenario])
    return result.content[0].text, bool(result.isError)


async def talk(read, write, scenario):
    seen = Seen(scenario)

    async def elicit(context, params):
        if isinstance(params, types.ElicitRequestURLParams):
            seen.url(params.url)
            return types.ElicitResult(action="accept")
        action, content = seen.form(params.message, params.requestedSchema["properties"])
        return types.ElicitResult(action=action, content=content)

    async def sample(context, params):
        message = params.messages[0].content
        seen.sampling((message[0] if isinstance(message, list) else message).text)
        text = types.TextContent(type="text", text="Paris")
        return types.CreateMessageResult(role="assistant", content=text, model="test", stopReason="endTurn")

    async def roots(context):
        seen.roots()
        return types.ListRootsResult(roots=[types.Root(uri="file:///project")])

    handlers = {"elicitation_callback": elicit, "sampling_callback": sample, "list_roots_callback": roots}
    async with ClientSession(read, write, **handlers) as session:
        version = (await session.initialize()).protocolVersion
        try:
            text, is_error = await play(session, scenario)
            seen.tell(version, text, is_error)
        except McpError as error:
            seen.tell(version, error.error.message, True, error.error.code)


async def main():
    scenario, era, kind, where = arguments()
    if era == "modern":
        unsupported("it speaks the legacy era alone")
    if kind == "http":
        async with streamable_http_client(where[0]) as (read, write, _):
            await talk(read, write, scenario)
    else:
        command = StdioServerParameters(command=where[0], args=where[1:], env=dict(os.environ))
        async with stdio_client(command) as (read, write):
            await talk(read, write, scenario)


asyncio.run(main())
