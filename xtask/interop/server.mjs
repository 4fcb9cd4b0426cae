// A server of the official TypeScript SDK, as its documentation shows one: a tool that asks twice before it answers.
//
// Called with `stdio`, or with `http PORT`.

import { createServer } from 'node:http';
import { createRequire } from 'node:module';
import { pathToFileURL } from 'node:url';

const require = createRequire(process.env.PACKAGES);
const load = async name => {
    const loaded = await import(pathToFileURL(require.resolve(name)));
    return loaded.default ?? loaded;
};
const { McpServer, acceptedContent, createMcpHandler, createRequestStateCodec, fromJsonSchema, inputRequired } =
    await load('@modelcontextprotocol/server');

const form = properties => ({ type: 'object', properties, required: Object.keys(properties) });
const codec = createRequestStateCodec({ key: 'a key of thirty-two bytes or more' });

function factory() {
    const options = { capabilities: { tools: {} }, requestState: { verify: codec.verify } };
    const server = new McpServer({ name: 'greeter', version: '1.0.0' }, options);
    const inputSchema = fromJsonSchema({ type: 'object', properties: {} });
    server.registerTool('greet', { inputSchema }, async (_, ctx) => {
        const known = ctx.mcpReq.requestState?.() ?? {};
        const name = acceptedContent(ctx.mcpReq.inputResponses, 'name')?.name ?? known.name;
        const ask = async (key, message, properties) => inputRequired({
            inputRequests: { [key]: inputRequired.elicit({ message, requestedSchema: form(properties) }) },
            requestState: await codec.mint({ name }, ctx)
        });
        if (name === undefined) return ask('name', 'Who are you?', { name: { type: 'string' } });
        const times = acceptedContent(ctx.mcpReq.inputResponses, 'times')?.times;
        if (times === undefined) return ask('times', 'How often?', { times: { type: 'integer' } });
        return { content: [{ type: 'text', text: `Hello, ${name}`.concat('!'.repeat(times)) }] };
    });
    return server;
}

const [kind, port] = process.argv.slice(2);
if (kind === 'stdio') {
    const { serveStdio } = await load('@modelcontextprotocol/server/stdio');
    serveStdio(factory);
} else {
    const handler = createMcpHandler(factory);
    createServer(async (incoming, outgoing) => {
        const chunks = [];
        for await (const chunk of incoming) chunks.push(chunk);
        const body = chunks.length > 0 ? Buffer.concat(chunks) : undefined;
        const url = `http://${incoming.headers.host}${incoming.url}`;
        const reply = await handler.fetch(new Request(url, { method: incoming.method, headers: incoming.headers, body }));
        outgoing.writeHead(reply.status, Object.fromEntries(reply.headers));
        for await (const chunk of reply.body ?? []) outgoing.write(chunk);
        outgoing.end();
    }).listen(Number(port), '127.0.0.1');
}
