// A client of the official TypeScript SDK, as its documentation shows one: lists tools, calls one, answers what it asks.
//
// Prints what it saw, as JSON. Called with `http URL` or `stdio COMMAND ARGUMENT...`, and with ERA=modern in the
// environment where it is to speak the modern era; by default it opens with `initialize`.

import { createRequire } from 'node:module';
import { pathToFileURL } from 'node:url';

const require = createRequire(process.env.PACKAGES);
const load = name => import(pathToFileURL(require.resolve(name)));
const sdk = await load('@modelcontextprotocol/client');
const { Client, StreamableHTTPClientTransport } = sdk.default ?? sdk;

const answers = { resolution: 'Duplicate', duplicateOfId: 4301 };
const asked = [];
const options = { capabilities: { elicitation: { form: {} } } };
if (process.env.ERA === 'modern') options.versionNegotiation = { mode: 'auto' };
const client = new Client({ name: 'interop', version: '1.0.0' }, options);
client.setRequestHandler('elicitation/create', async request => {
    asked.push(request.params.message);
    const fields = Object.keys(request.params.requestedSchema.properties);
    return { action: 'accept', content: Object.fromEntries(fields.map(field => [field, answers[field]])) };
});

const [kind, where, ...args] = process.argv.slice(2);
let transport;
if (kind === 'http') {
    transport = new StreamableHTTPClientTransport(new URL(where));
} else {
    const stdio = await load('@modelcontextprotocol/client/stdio');
    const { StdioClientTransport } = stdio.default ?? stdio;
    transport = new StdioClientTransport({ command: where, args, env: process.env });
}
await client.connect(transport);
const { tools } = await client.listTools();
const result = await client.callTool({ name: 'update_work_item', arguments: { workItemId: 4522, fields: {} } });
console.log(JSON.stringify({
    version: client.getNegotiatedProtocolVersion() ?? null,
    tools: tools.map(tool => tool.name),
    asked,
    text: result.content[0].text
}));
await client.close();
