import { expect, it } from 'vitest';
import { begin, calls, ECHO, ended, eventsOf, says } from '../support/api-kit.ts';
import { as, authToml, bearer, secretOf } from '../support/api-tenants.ts';
import { type SystemOptions, type SystemWorld, systemWorlds } from '../support/system-world.ts';
import { type HttpFixture, startHttpServer } from './mcp-http-kit.ts';

/**
 * Hazard: a secret in the words of somebody else's error. The provider's key is checked for in journal
 * and log by whoever closes a world; what clients read is checked here.
 */

const start = systemWorlds();
/** The key of the upstream in every world's configuration. */
const PROVIDER_KEY = 'sk-system-test-0123456789';
const MCP_KEY = 'mcp-secret-9876543210';

/** Everything that a client can read of a run. */
async function read(world: SystemWorld, runId: string): Promise<string> {
  const api = as(world, 'acme');
  await ended(api, runId);
  const paths = [
    `/v1/runs/${runId}`,
    `/v1/runs/${runId}/explain`,
    `/v1/runs/${runId}/chart`,
    '/v1/runs',
    '/v1/sessions',
  ];
  const readers = [...paths.map((path) => api.ask(path)), eventsOf(api, runId)];
  for (const reader of readers) await reader.all();
  return readers.map(({ body }) => body).join('\n');
}

const logged = ({ log }: SystemWorld): string => JSON.stringify(log);

it('a provider’s error that quotes its key is told without it', async () => {
  const world = await start({ toml: authToml() });
  const message = `Incorrect API key provided: ${PROVIDER_KEY}.`;
  const failure = { status: 401, body: { error: { message, type: 'x', code: null } } };
  world.answer(failure, failure);
  const { run_id: runId } = await begin(as(world, 'acme'));
  expect(await read(world, runId)).not.toContain(PROVIDER_KEY);
  const chat = world.chat({}, bearer('acme'));
  await chat.all();
  expect(chat.error).toBeDefined();
  expect(chat.body).not.toContain(PROVIDER_KEY);
});

/** A tool whose result or error is `text`. */
const telling = (text: string, how: 'result' | 'failed result' | 'error'): SystemOptions => ({
  mcp: ['web'],
  toml: authToml(),
  web: {
    intercept: ({ rpc, body }, response) => {
      if (rpc !== 'tools/call') return false;
      const result = { content: [{ type: 'text', text }], isError: how === 'failed result' };
      const answer = how === 'error' ? { error: { code: -32000, message: text } } : { result };
      const json = JSON.stringify({ jsonrpc: '2.0', id: body?.['id'], ...answer });
      response.writeHead(200, { 'content-type': 'application/json' }).end(json);
      return true;
    },
  },
});

it.each(['result', 'failed result', 'error'] as const)(
  'a tool’s %s that quotes the provider’s key and the caller’s token is told without them',
  async (how) => {
    const key = 'team-token-0123456789';
    const headers = { 'X-Team-Token': key };
    const world = await start(telling(`It was ${PROVIDER_KEY} and ${key}.`, how));
    world.answer(calls(ECHO), says('Well.'), calls(ECHO), says('Well.'));
    const { run_id: runId } = await begin(as(world, 'acme'), {}, headers);
    const all = await read(world, runId);
    expect(all).toContain('[redacted]');
    const custom = { 'X-Aura-Custom-Events': 'true', ...headers };
    const chat = world.chat({}, { ...custom, ...bearer('acme') });
    await chat.all();
    for (const secret of [PROVIDER_KEY, key]) {
      for (const text of [all, chat.body, logged(world)]) expect(text).not.toContain(secret);
      const sent = JSON.stringify(world.upstream.requests.map(({ body }) => body));
      expect(sent).not.toContain(secret);
    }
  },
);

it('an MCP server’s refusal that quotes its header is told without it', async () => {
  const refusing: HttpFixture = await startHttpServer({
    intercept: ({ headers }, response) => {
      response.writeHead(401).end(`No access with ${String(headers['x-access-key'])}`);
      return true;
    },
  });
  const server = `[mcp.servers.refusing]
transport = "http_streamable"
url = "http://127.0.0.1:${refusing.port}/mcp"
headers = { X-Access-Key = "${MCP_KEY}" }
`;
  const world = await start({ toml: server + authToml() });
  world.answer(says('Well.'), says('Well.'));
  const { run_id: runId } = await begin(as(world, 'acme'));
  const all = await read(world, runId);
  expect(all).toContain('"status":"failed"');
  const chat = world.chat({}, { 'X-Aura-Custom-Events': 'true', ...bearer('acme') });
  await chat.all();
  expect(refusing.seen[0]?.headers['x-access-key']).toBe(MCP_KEY);
  for (const text of [all, chat.body, logged(world)]) expect(text).not.toContain(MCP_KEY);
  await refusing.stop();
});

it('a key of a caller reaches neither the log nor an answer, not even a wrong one', async () => {
  const world = await start({ toml: authToml() });
  const wrong = 'rw-wrong-0123456789abcdef';
  const refused = world.ask('/v1/runs', { headers: { Authorization: `Bearer ${wrong}` } });
  expect(await refused.status()).toBe(401);
  await refused.all();
  world.answer(says('a'));
  const { run_id: runId } = await begin(as(world, 'acme'));
  const all = await read(world, runId);
  for (const secret of [wrong, secretOf('acme')]) {
    for (const text of [refused.body, all, logged(world)]) expect(text).not.toContain(secret);
  }
});
