// The server of the official TypeScript SDK, for clients of both eras. Called with `http PORT`, or with `stdio`.
//
// Handlers return what they ask; in a session of the legacy era the SDK asks it by requests of its own.

import { createServer } from 'node:http';
import { randomUUID } from 'node:crypto';

import { load } from './load.mjs';

const sdk = await load('@modelcontextprotocol/server');
const { McpServer, createMcpHandler, createRequestStateCodec, fromJsonSchema, inputRequired, isLegacyRequest } = sdk;

const codec = createRequestStateCodec({ key: 'a key of thirty-two bytes or more' });
const object = properties => ({ type: 'object', properties, required: Object.keys(properties) });
const nothing = fromJsonSchema({ type: 'object', properties: {} });
const form = (message, properties) => inputRequired.elicit({ message, requestedSchema: object(properties) });
const string = { type: 'string' };
const says = text => ({ content: [{ type: 'text', text }] });
const answers = ctx => ctx.mcpReq.inputResponses ?? {};

function told(effect) {
    process.stderr.write(`effect: ${effect}\n`);
    return effect;
}

function greet(ctx) {
    const answer = answers(ctx).name;
    if (!answer) return inputRequired({ inputRequests: { name: form('Who are you?', { name: string }) } });
    if (answer.action === 'accept') return says(`Hello, ${answer.content.name}`);
    return says(told(answer.action === 'decline' ? 'declined' : 'cancelled'));
}

async function updateWorkItem({ workItemId }, ctx) {
    const { resolution, duplicate_of: original } = answers(ctx);
    const known = ctx.mcpReq.requestState?.();
    if (original && known?.resolution === 'Duplicate') {
        told('link');
        return says(`Bug #${workItemId} resolved as duplicate of #${original.content.duplicateOfId}`);
    }
    if (resolution) {
        const asks = form('Which work item is the original?', { duplicateOfId: { type: 'integer' } });
        const requestState = await codec.mint({ resolution: resolution.content.resolution }, ctx);
        return inputRequired({ inputRequests: { duplicate_of: asks }, requestState });
    }
    const ways = { type: 'string', enum: ['Fixed', "Won't Fix", 'Duplicate', 'By Design'] };
    return inputRequired({ inputRequests: { resolution: form('How was this bug resolved?', { resolution: ways }) } });
}

function mixed(ctx) {
    const { login, capital, roots } = answers(ctx);
    if (login && capital && roots) {
        return says(`${login.content.name}, ${[capital.content].flat()[0].text}, ${roots.roots[0].uri}`);
    }
    const question = { role: 'user', content: { type: 'text', text: 'What is the capital of France?' } };
    return inputRequired({ inputRequests: {
        login: form('Please provide your GitHub username', { name: string }),
        capital: inputRequired.createMessage({ messages: [question], maxTokens: 100 }),
        roots: inputRequired.listRoots()
    } });
}

function review(ctx) {
    const answer = answers(ctx).language;
    if (!answer) return inputRequired({ inputRequests: { language: form('Which language?', { language: string }) } });
    const text = `Review this ${answer.content.language}`;
    return { messages: [{ role: 'user', content: { type: 'text', text } }] };
}

function notes(uri, ctx) {
    const answer = answers(ctx).pin;
    if (!answer) return inputRequired({ inputRequests: { pin: form('Which notebook?', { notebook: string }) } });
    return { contents: [{ uri: uri.href, text: `The notes of ${answer.content.notebook}` }] };
}

async function shed(ctx) {
    const known = ctx.mcpReq.requestState?.();
    return known ? says(`Carried on from ${known.percent} percent`)
        : inputRequired({ requestState: await codec.mint({ percent: 50 }, ctx) });
}

function connect(ctx) {
    const answer = answers(ctx).connect;
    if (answer) return says(answer.action === 'accept' ? 'Connected' : answer.action);
    const asks = inputRequired.elicitUrl({ message: 'Connect your account', url: 'http://127.0.0.1:9/connect' });
    return inputRequired({ inputRequests: { connect: asks } });
}

function deploy({ region }, ctx) {
    const headers = ctx.http?.req?.headers;
    if (headers && headers.get('mcp-param-region') !== region) throw new Error('the header Mcp-Param-Region is missing');
    return says(`Deployed to ${region}`);
}

function factory() {
    const capabilities = { tools: {}, prompts: {}, resources: {} };
    const options = { capabilities, requestState: { verify: codec.verify } };
    const server = new McpServer({ name: 'typescript', version: '1.0.0' }, options);
    const work = fromJsonSchema(object({ workItemId: { type: 'integer' }, fields: { type: 'object' } }));
    const region = fromJsonSchema(object({ region: { type: 'string', 'x-mcp-header': 'Region' } }));
    server.registerTool('greet', { inputSchema: nothing }, async (_, ctx) => greet(ctx));
    server.registerTool('update_work_item', { inputSchema: work }, updateWorkItem);
    server.registerTool('mixed', { inputSchema: nothing }, async (_, ctx) => mixed(ctx));
    server.registerTool('shed', { inputSchema: nothing }, async (_, ctx) => shed(ctx));
    server.registerTool('connect', { inputSchema: nothing }, async (_, ctx) => connect(ctx));
    server.registerTool('deploy', { inputSchema: region }, async (given, ctx) => deploy(given, ctx));
    server.registerPrompt('review', {}, async ctx => review(ctx));
    server.registerResource('notes', 'notes://secret', {}, async (uri, ctx) => notes(uri, ctx));
    return server;
}

/** Sessions of the legacy era, each with a server of its own, as the SDK's documentation has it. */
const sessions = new Map();

async function legacy(request) {
    const known = sessions.get(request.headers.get('mcp-session-id'));
    if (known) return await known.handleRequest(request);
    const transport = new sdk.WebStandardStreamableHTTPServerTransport({
        sessionIdGenerator: randomUUID,
        onsessioninitialized: id => sessions.set(id, transport)
    });
    await factory().connect(transport);
    return await transport.handleRequest(request);
}

const modern = createMcpHandler(factory, { legacy: 'reject' });

async function serve(incoming, outgoing) {
    const chunks = [];
    for await (const chunk of incoming) chunks.push(chunk);
    const body = chunks.length > 0 ? Buffer.concat(chunks) : undefined;
    const url = `http://${incoming.headers.host}${incoming.url}`;
    const request = new Request(url, { method: incoming.method, headers: incoming.headers, body });
    const reply = await isLegacyRequest(request.clone()) ? await legacy(request) : await modern.fetch(request);
    outgoing.writeHead(reply.status, Object.fromEntries(reply.headers));
    outgoing.flushHeaders();
    for await (const chunk of reply.body ?? []) outgoing.write(chunk);
    outgoing.end();
}

const [kind, port] = process.argv.slice(2);
if (kind === 'stdio') {
    const { serveStdio } = await load('@modelcontextprotocol/server/stdio');
    serveStdio(factory);
} else {
    createServer(serve).listen(Number(port), '127.0.0.1');
}
