// What `ext-tasks` has its host bring: requests that go over the transport of a client, beside the client's own.

export function rawDispatch(transport) {
    const waiting = new Map();
    const others = transport.onmessage;
    let last = 0;
    transport.onmessage = (message, extra) => {
        const answer = waiting.get(message.id);
        if (answer === undefined) return others(message, extra);
        waiting.delete(message.id);
        answer(message);
    };
    return async request => {
        const id = `raw-${++last}`;
        const replied = new Promise(resolve => waiting.set(id, resolve));
        await transport.send({ ...request, jsonrpc: '2.0', id });
        return await replied;
    };
}
