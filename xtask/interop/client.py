"""A client of the official Python SDK, 1.x, as its documentation shows one: lists tools, calls one, answers what it asks.

Prints what it saw, as JSON. Called with `http URL` or `stdio COMMAND ARGUMENT...`.
"""

import asyncio
import json
import os
import sys

from mcp import ClientSession, StdioServerParameters, types
from mcp.client.stdio import stdio_client
from mcp.client.streamable_http import streamable_http_client

ANSWERS = {"resolution": "Duplicate", "duplicateOfId": 4301}
asked = []


async def answer(context, params):
    asked.append(params.message)
    fields = params.requestedSchema["properties"]
    return types.ElicitResult(action="accept", content={field: ANSWERS[field] for field in fields})


async def talk(read, write):
    async with ClientSession(read, write, elicitation_callback=answer) as session:
        initialized = await session.initialize()
        tools = await session.list_tools()
        result = await session.call_tool("update_work_item", {"workItemId": 4522, "fields": {}})
        seen = {
            "version": initialized.protocolVersion,
            "tools": [tool.name for tool in tools.tools],
            "asked": asked,
            "text": result.content[0].text,
        }
        print(json.dumps(seen))


async def main():
    kind, where, *arguments = sys.argv[1:]
    if kind == "http":
        async with streamable_http_client(where) as (read, write, _):
            await talk(read, write)
    else:
        async with stdio_client(StdioServerParameters(command=where, args=arguments, env=dict(os.environ))) as (read, write):
            await talk(read, write)


asyncio.run(main())
