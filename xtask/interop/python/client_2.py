"""The client of the official Python SDK, 2.x."""

import asyncio
import os

import mcp_types as types
from mcp import Client, MCPError, StdioServerParameters

from contract import TOOLS, Seen, arguments, unsupported

MODES = {"default": "auto", "modern": "2026-07-28", "legacy": "legacy"}


async def play(client, scenario):
    if scenario == "prompt":
        return (await client.get_prompt("review")).messages[0].content.text, False
    if scenario == "resource":
        return (await client.read_resource("notes://secret")).contents[0].text, False
    if scenario == "header":
        await client.list_tools()
    result = await client.call_tool(*TOOLS[scenario])
    return result.content[0].text, bool(result.is_error)


async def main():
    scenario, era, kind, where = arguments()
    if scenario == "task":
        unsupported("it has no tasks, only the hooks for an extension that brings them")
    seen = Seen(scenario)

    async def elicit(context, params):
        if isinstance(params, types.ElicitRequestURLParams):
            seen.url(params.url)
            return types.ElicitResult(action="accept")
        action, content = seen.form(params.message, params.requested_schema["properties"])
        return types.ElicitResult(action=action, content=content)

    async def sample(context, params):
        message = params.messages[0].content
        seen.sampling((message[0] if isinstance(message, list) else message).text)
        text = types.TextContent(type="text", text="Paris")
        return types.CreateMessageResult(role="assistant", content=text, model="test", stop_reason="endTurn")

    async def roots(context):
        seen.roots()
        return types.ListRootsResult(roots=[types.Root(uri="file:///project")])

    command = StdioServerParameters(command=where[0], args=where[1:], env=dict(os.environ))
    server = where[0] if kind == "http" else command
    handlers = {"elicitation_callback": elicit, "sampling_callback": sample, "list_roots_callback": roots}
    async with Client(server, mode=MODES[era], **handlers) as client:
        try:
            text, is_error = await play(client, scenario)
            seen.tell(client.protocol_version, text, is_error)
        except MCPError as error:
            seen.tell(client.protocol_version, error.error.message, True, error.error.code)


asyncio.run(main())
