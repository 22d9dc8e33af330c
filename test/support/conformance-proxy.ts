import { once } from 'node:events';
import http from 'node:http';
import type { AddressInfo } from 'node:net';

/** How a proxy makes a server worse than it is. */
export interface Fault {
  /** Answers in the server's place; undefined lets the server answer. */
  readonly answer?: (request: {
    readonly method: string;
    readonly path: string;
    readonly body: string;
  }) => number | undefined;
  /** What goes out for one frame of a stream. */
  readonly frames?: (frame: string) => readonly string[];
  /** What goes out for a whole JSON body. */
  readonly json?: (text: string) => string;
  /** Request headers that are not passed on. */
  readonly without?: readonly string[];
}

export interface Proxy {
  readonly url: string;
  close(): Promise<void>;
}

/** Passes requests on to a server, with one fault. */
export async function startProxy(target: string, fault: Fault): Promise<Proxy> {
  const server = http.createServer((incoming, outgoing) => {
    void pass(target, fault, incoming, outgoing).catch(() => outgoing.destroy());
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  const close = async (): Promise<void> => {
    const closed = once(server, 'close');
    server.close();
    server.closeAllConnections();
    await closed;
  };
  return { url: `http://127.0.0.1:${port}`, close };
}

async function pass(
  target: string,
  fault: Fault,
  incoming: http.IncomingMessage,
  outgoing: http.ServerResponse,
): Promise<void> {
  const { method = 'GET', url: path = '/' } = incoming;
  const body = await textOf(incoming);
  const status = fault.answer?.({ method, path, body });
  if (status !== undefined) return void outgoing.writeHead(status).end();
  const headers = { ...incoming.headers };
  for (const name of ['host', ...(fault.without ?? [])]) delete headers[name];
  const request = http.request(`${target}${path}`, { method, headers, agent: false });
  outgoing.on('close', () => request.destroy());
  request.on('error', () => outgoing.destroy());
  request.end(body);
  const [response] = (await once(request, 'response')) as [http.IncomingMessage];
  await answer(fault, response, outgoing);
}

async function answer(
  fault: Fault,
  response: http.IncomingMessage,
  outgoing: http.ServerResponse,
): Promise<void> {
  const { 'content-length': _, ...headers } = response.headers;
  outgoing.writeHead(response.statusCode ?? 500, headers);
  outgoing.flushHeaders();
  const isStream = headers['content-type']?.startsWith('text/event-stream') === true;
  if (!isStream) {
    const text = await textOf(response);
    outgoing.end(fault.json?.(text) ?? text);
    return;
  }
  let rest = '';
  response.setEncoding('utf8');
  for await (const piece of response) {
    const frames = (rest + String(piece)).split('\n\n');
    rest = frames.pop() ?? '';
    for (const frame of frames) {
      for (const out of fault.frames?.(frame) ?? [frame]) outgoing.write(`${out}\n\n`);
    }
  }
  outgoing.end(rest);
}

async function textOf(stream: http.IncomingMessage): Promise<string> {
  let text = '';
  stream.setEncoding('utf8');
  for await (const piece of stream) text += String(piece);
  return text;
}
