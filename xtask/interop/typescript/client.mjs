// The client of the official TypeScript SDK; its tasks are those of the package `ext-tasks`.
//
// Called with `SCENARIO (default|modern|legacy) (http URL | stdio COMMAND ARGUMENT…)`; the README of the folder above
// says what each scenario is.

import { load, loadFile } from './load.mjs';

const { Client, StreamableHTTPClientTransport } = await load('@modelcontextprotocol/client');

const tools = {
    'three-rounds': ['update_work_item', { workItemId: 4522, fields: {} }],
    mixed: ['mixed', {}],
    'state-only': ['shed', {}],
    url: ['connect', {}],
    header: ['deploy', { region: 'us-west1' }],
    task: ['echo_task', {}]
};
const content = { resolution: 'Duplicate', duplicateOfId: 4301, language: 'Rust', notebook: 'blue', text: 'hi' };

const [scenario, era, kind, where, ...args] = process.argv.slice(2);
const asked = [];

function elicit({ mode, message, url, requestedSchema }) {
    if (mode === 'url') {
        asked.push(`url: ${url}`);
        return { action: 'accept' };
    }
    asked.push(`form: ${message}`);
    if (scenario === 'decline' || scenario === 'cancel') return { action: scenario };
    const known = { ...content, name: message.includes('GitHub') ? 'octocat' : 'Ada' };
    const fields = Object.keys(requestedSchema.properties).map(field => [field, known[field]]);
    return { action: 'accept', content: Object.fromEntries(fields) };
}

function sample({ messages }) {
    asked.push(`sampling: ${[messages[0].content].flat()[0].text}`);
    return { role: 'assistant', content: { type: 'text', text: 'Paris' }, model: 'test', stopReason: 'endTurn' };
}

function roots() {
    asked.push('roots');
    return { roots: [{ uri: 'file:///project' }] };
}

async function play(client, transport) {
    if (scenario === 'prompt') return (await client.getPrompt({ name: 'review' })).messages[0].content;
    if (scenario === 'resource') return (await client.readResource({ uri: 'notes://secret' })).contents[0];
    const [name, parameters] = tools[scenario] ?? ['greet', {}];
    if (scenario === 'header') await client.listTools();
    if (scenario === 'task') return await followed(client, transport, name, parameters);
    return await client.callTool({ name, arguments: parameters });
}

/** Has `ext-tasks` call the tool. Its host sends the requests, so these go out beside those of the client. */
async function followed(client, transport, name, parameters) {
    const { createTaskSessionFromClient, resultFromTaskOutcome } = await loadFile(
        '@modelcontextprotocol/ext-tasks/dist/client/index.js');
    const { rawDispatch } = await import('./raw_dispatch.mjs');
    const session = createTaskSessionFromClient(client, {
        endpointId: 'interop',
        onInputRequest: async request => elicit(request.params),
        rawDispatch: rawDispatch(transport),
        v2RequestFraming: { protocolVersion: '2026-07-28', clientInfo, clientCapabilities: capabilities }
    });
    try {
        const execution = await session.callTool(name, parameters);
        return resultFromTaskOutcome((await execution.settle()).outcome);
    } finally {
        await session.close();
    }
}

const clientInfo = { name: 'interop', version: '1.0.0' };
const capabilities = { elicitation: { form: {}, url: {} }, sampling: {}, roots: {} };
const modes = { modern: { pin: '2026-07-28' }, legacy: 'legacy' };
const options = { capabilities, ...(modes[era] && { versionNegotiation: { mode: modes[era] } }) };
const client = new Client(clientInfo, options);
client.setRequestHandler('elicitation/create', async ({ params }) => elicit(params));
client.setRequestHandler('sampling/createMessage', async ({ params }) => sample(params));
client.setRequestHandler('roots/list', async () => roots());

let transport;
if (kind === 'http') {
    transport = new StreamableHTTPClientTransport(new URL(where));
} else {
    const { StdioClientTransport } = await load('@modelcontextprotocol/client/stdio');
    transport = new StdioClientTransport({ command: where, args, env: process.env });
}
await client.connect(transport);
const version = client.getNegotiatedProtocolVersion() ?? null;
try {
    const result = await play(client, transport);
    const text = result.text ?? result.content[0].text;
    console.log(JSON.stringify({ version, asked, text, isError: result.isError ?? false }));
} catch (error) {
    if (typeof error.code !== 'number') throw error;
    console.log(JSON.stringify({ version, asked, text: error.message, isError: true, error: error.code }));
}
await client.close();
