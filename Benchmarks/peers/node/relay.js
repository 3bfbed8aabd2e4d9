// SPDX-License-Identifier: Apache-2.0
// A tunnel relay on Node's ws, as one would write it first. It has no limits, timers, metrics or logs and is there for
// measuring only. relay.js WS_MODULE PORT [CERTIFICATE KEY]
'use strict';
const fs = require('fs');
const [, , modulePath, port, certificate, key] = process.argv;
const { WebSocketServer } = require(modulePath);

const waiting = new Map();
const sockets = new WebSocketServer({
    noServer: true,
    perMessageDeflate: false,
    clientTracking: false,
    handleProtocols: () => 'fido.cable',
});
sockets.on('headers', (headers, request) => {
    if (request.url.startsWith('/cable/new/')) headers.push('X-caBLE-Routing-ID: 000000');
});

function couple(phone, client) {
    for (const [from, to] of [[phone, client], [client, phone]]) {
        from.on('message', (message, binary) => to.send(message, { binary }));
        from.on('close', () => to.close(1000));
        from.on('error', () => from.terminate());
    }
}

function upgrade(request, socket, head) {
    const parts = request.url.split('/');
    const [, cable, kind] = parts;
    const id = parts[parts.length - 1];
    const opens = kind === 'new' && parts.length === 4 && !waiting.has(id);
    const joins = kind === 'connect' && parts.length === 5 && waiting.has(id);
    if (cable !== 'cable' || !(opens || joins)) {
        socket.destroy();
        return;
    }
    sockets.handleUpgrade(request, socket, head, (end) => {
        if (opens) {
            waiting.set(id, end);
            end.once('close', () => waiting.delete(id));
        } else {
            const phone = waiting.get(id);
            waiting.delete(id);
            couple(phone, end);
        }
    });
}

const server = certificate
    ? require('https').createServer({ cert: fs.readFileSync(certificate), key: fs.readFileSync(key) })
    : require('http').createServer();
server.on('upgrade', upgrade);
server.listen({ host: '127.0.0.1', port: Number(port), backlog: 4096 });
