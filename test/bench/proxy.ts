/** The practical limit in Node: every byte passed on as it came, nothing looked at. */
import { Agent, createServer, request } from 'node:http';
import type { AddressInfo } from 'node:net';
import { serveParent } from './child.ts';

const upstream = process.argv[2] ?? '';
const agent = new Agent({ keepAlive: true, maxSockets: Number.POSITIVE_INFINITY });

const server = createServer((incoming, outgoing) => {
  const { method, headers } = incoming;
  const relayed = request(`${upstream}${incoming.url}`, { method, headers, agent }, (answer) => {
    outgoing.writeHead(answer.statusCode ?? 502, answer.headers);
    answer.pipe(outgoing);
  });
  relayed.on('error', () => outgoing.destroy());
  outgoing.once('close', () => relayed.destroy());
  incoming.pipe(relayed);
});

server.keepAliveTimeout = 60_000;
server.listen(0, '127.0.0.1', 4096, () => {
  const { port } = server.address() as AddressInfo;
  serveParent(`http://127.0.0.1:${port}`, {});
});
