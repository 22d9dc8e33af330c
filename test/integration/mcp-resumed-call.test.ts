import type { ServerResponse } from 'node:http';
import { afterEach, expect, it } from 'vitest';
import { accept, askedContext } from './mcp-asking-kit.ts';
import { type HttpFixture, type SeenRequest, startHttpServer } from './mcp-http-kit.ts';
import { callContext, type Mcp, startMcp, toolNamed } from './mcp-kit.ts';

let mcp: Mcp;
let web: HttpFixture;
afterEach(async () => {
  await mcp.stop();
  await web.stop();
});

/** Ends the stream of an `echo` at once, asks on the one that resumes it, and answers there. */
function resuming(question: object) {
  let resumed: ServerResponse | undefined;
  let callId: unknown;
  const event = (message: object) => `data: ${JSON.stringify({ jsonrpc: '2.0', ...message })}\n\n`;
  return ({ method, headers, rpc, body }: SeenRequest, response: ServerResponse): boolean => {
    const params = body?.['params'] as { name?: unknown } | undefined;
    if (rpc === 'tools/call' && params?.name === 'echo') {
      callId = body?.['id'];
      response.writeHead(200, { 'content-type': 'text/event-stream' });
      response.end('retry: 1\nid: before\ndata:\n\n');
      return true;
    }
    if (method === 'GET' && headers['last-event-id'] === 'before') {
      resumed = response.writeHead(200, { 'content-type': 'text/event-stream' });
      const asked = { message: 'Why?', requestedSchema: question };
      resumed.write(event({ id: 'q', method: 'elicitation/create', params: asked }));
      return true;
    }
    if (body?.['id'] !== 'q') return false;
    response.writeHead(202).end();
    const content = [{ type: 'text', text: JSON.stringify(body['result']) }];
    resumed?.end(event({ id: callId, result: { content } }));
    return true;
  };
}

it('a question on the stream that resumes a call belongs to it, and its headers are not sent anew', async () => {
  mcp = startMcp();
  const schema = { type: 'object', properties: { reason: { type: 'string' } } };
  web = await startHttpServer({ intercept: resuming(schema) });
  const lease = await mcp.acquire([web.config()]);
  const other = callContext();
  const waiting = toolNamed(lease, 'waits').execute({}, other.context);
  await other.until(({ progress }) => progress.length > 0);

  const { context, question } = askedContext({ headers: { 'x-team': 'only-this-call' } });
  const done = toolNamed(lease, 'echo').execute({ said: 'x' }, context);
  (await question(1)).answer(accept('because'));
  expect(JSON.parse((await done).text)).toEqual(accept('because'));
  const carriers = web.seen.filter(({ headers }) => headers['x-team'] !== undefined);
  expect(carriers.map(({ method, rpc }) => [method, rpc])).toEqual([['POST', 'tools/call']]);

  other.abort(new Error('stopped'));
  await expect(waiting).rejects.toThrow('stopped');
});
