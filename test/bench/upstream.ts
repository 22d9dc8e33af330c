/** A model server that costs as little as it can: raw `node:http`, frames of about 180 bytes. */
import { type IncomingMessage, type ServerResponse, createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { type Pace, serveParent } from './child.ts';

let pace: Pace = { chunks: 200, intervalMs: 20, hold: false };

const frame = (choice: string, rest = ''): string =>
  `data: {"id":"chatcmpl-bench","object":"chat.completion.chunk","created":1700000000,"model":"bench","choices":[{"index":0,${choice}}]${rest}}\n\n`;

const [BEFORE, AFTER] = frame('"delta":{"content":"@ and so on"},"finish_reason":null').split(
  '@',
) as [string, string];

const END = `${frame(
  '"delta":{},"finish_reason":"stop"',
  ',"usage":{"prompt_tokens":9,"completion_tokens":200,"total_tokens":209}',
)}data: [DONE]\n\n`;

/** The text carries the moment of its sending, on the clock that all processes of a machine share. */
const chunk = (): string => `${BEFORE}t${process.hrtime.bigint() / 1000n};${AFTER}`;

function stream(response: ServerResponse): void {
  const { chunks, intervalMs, hold } = pace;
  let left = chunks;
  response.writeHead(200, { 'content-type': 'text/event-stream', 'cache-control': 'no-cache' });
  const end = () => {
    if (!hold) response.end(END);
  };
  const flood = () => {
    while (left > 0) {
      left -= 1;
      if (!response.write(chunk())) return void response.once('drain', flood);
    }
    end();
  };
  if (intervalMs === 0) return flood();
  const timer = setInterval(() => {
    left -= 1;
    response.write(chunk());
    if (left > 0) return;
    clearInterval(timer);
    end();
  }, intervalMs);
  response.once('close', () => clearInterval(timer));
}

const server = createServer((request: IncomingMessage, response: ServerResponse) => {
  request.resume();
  request.once('end', () => stream(response));
});

server.keepAliveTimeout = 60_000;
server.listen(0, '127.0.0.1', 4096, () => {
  const { port } = server.address() as AddressInfo;
  serveParent(`http://127.0.0.1:${port}`, { onPace: (next) => (pace = next) });
});
