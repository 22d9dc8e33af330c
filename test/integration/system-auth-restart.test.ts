import { describe, expect, it } from 'vitest';
import {
  type Api,
  ASKS_FIRST,
  askedOf,
  begin,
  calls,
  callSteps,
  control,
  decide,
  ECHO,
  ended,
  eventsOf,
  gated,
  heard,
  recordOf,
  refusal,
  says,
  STALLED,
} from '../support/api-kit.ts';
import { linesOf, type SentMessage } from '../support/api-pairing.ts';
import { as, authToml, bearer } from '../support/api-tenants.ts';
import { processWorlds } from '../support/system-process.ts';
import { type SystemOptions, type SystemWorld, systemWorlds } from '../support/system-world.ts';

/** Hazard: a tenant that is forgotten on the way through the store: by a park, a crash or a start. */

const start = systemWorlds();
const startProcess = processWorlds();
const RESUMES = '[runtime.park]\nresume_on_start = true\n';
const PARK = { liveness: { policy: 'park' } };
const AUTH: SystemOptions = { mcp: ['web'], toml: authToml() + ASKS_FIRST + RESUMES };
const AT_ONCE: SystemOptions = { flags: { 'shutdown-timeout-secs': '0' }, drains: true };

async function restarted(world: SystemWorld): Promise<SystemWorld> {
  world.server.shutdown('SIGTERM');
  await world.server.stopped;
  return start({ ...AUTH, dataDir: world.dataDir });
}

async function expectForeign(api: Api, ...runIds: readonly string[]): Promise<void> {
  for (const id of runIds) {
    for (const path of ['', '/events', '/explain', '/chart']) {
      expect(await refusal(api.ask(`/v1/runs/${id}${path}`))).toEqual([404, 'not_found']);
    }
    expect(await refusal(control(api, id, 'resume'))).toEqual([404, 'not_found']);
  }
  for (const list of ['runs', 'sessions', 'approvals']) {
    expect((await api.ask(`/v1/${list}`).json())['data']).toEqual([]);
  }
}

describe('a tenant’s run that was parked with its process', () => {
  it('is decided by that tenant alone, and goes on as its own', async () => {
    const world = await start({ ...AUTH, ...AT_ONCE });
    world.answer(calls(ECHO));
    const { run_id: runId } = await begin(as(world, 'acme'), PARK);
    const id = await askedOf(eventsOf(as(world, 'acme'), runId));
    const again = await restarted(world);
    const [acme, globex] = [as(again, 'acme'), as(again, 'globex')];
    expect(await recordOf(acme, runId)).toMatchObject({ state: 'parked', approvals: [id] });
    const { data } = await acme.ask('/v1/approvals').json();
    expect(data).toMatchObject([{ decision_id: id, session_id: 's', parked: true }]);
    await expectForeign(globex, runId);
    expect(await refusal(decide(globex, id, { approved: true }))).toEqual([404, 'not_found']);
    again.answer(says('Then.'));
    expect(await decide(acme, id, { approved: true }).status()).toBe(204);
    await again.upstream.request(0);
    const next = String((await recordOf(acme, runId)).continued_by);
    await expectForeign(globex, next);
    expect(await ended(acme, next)).toMatchObject({ state: 'finished', session_id: 's' });
    expect(await decide(globex, id, { approved: true }).status()).toBe(404);
    expect(await decide(acme, id, { approved: true }).status()).toBe(204);
  });

  it('is resumed at the next start inside its own session', async () => {
    const world = await start({ ...AUTH, ...AT_ONCE });
    const { answer, go } = gated('Let me see.', callSteps({ id: 'c', name: 'headers' }));
    world.answer(answer);
    const { run_id: runId } = await begin(as(world, 'acme'), PARK);
    await heard(eventsOf(as(world, 'acme'), runId), ({ type }) => type === 'text_delta');
    world.server.shutdown('SIGTERM');
    go();
    await world.server.stopped;
    const again = await start({ ...AUTH, dataDir: world.dataDir });
    again.respond = () => says('Then.');
    await again.upstream.request(0);
    const acme = as(again, 'acme');
    const next = String((await recordOf(acme, runId)).continued_by);
    expect(await ended(acme, next)).toMatchObject({ state: 'finished', session_id: 's' });
    await expectForeign(as(again, 'globex'), runId, next);
    const more = await begin(acme, { prompt: 'Next' });
    await ended(acme, more.run_id);
    const { messages } = (await again.upstream.request(1)).body;
    expect(linesOf(messages as readonly SentMessage[]).slice(-2)).toEqual([
      'assistant: Then.',
      'user: Next',
    ]);
  });
});

it('a tenant’s run that was lost is settled inside its own session', async () => {
  const world = await startProcess({ toml: authToml() });
  world.answer(STALLED);
  const before = as(world.server, 'acme');
  const { run_id: runId } = await begin(before);
  await heard(eventsOf(before, runId), ({ type }) => type === 'text_delta');
  world.server.signal('SIGKILL');
  await world.server.exit();
  const server = await world.again();
  const acme = as(server, 'acme');
  expect(await ended(acme, runId)).toMatchObject({
    state: 'failed',
    session_id: 's',
    end: { error: { code: 'owner_lost' } },
  });
  await expectForeign(as(server, 'globex'), runId);
  world.answer(says('Back.'));
  await ended(acme, (await begin(acme, { prompt: 'Next' })).run_id);
  const { messages } = (await world.upstream.request(1)).body;
  expect(linesOf(messages as readonly SentMessage[])).toEqual([
    'user: Go',
    'assistant: Half',
    'user: Next',
  ]);
});

it('no wire tells how the sessions of a tenant are stored', async () => {
  const world = await start({ mcp: ['web'], toml: authToml() + ASKS_FIRST });
  world.answer(calls(ECHO), says('Then.'));
  const acme = as(world, 'acme');
  const custom = { 'X-Aura-Custom-Events': 'true', 'X-Chat-Session-Id': 's' };
  const chat = world.chat({}, { ...custom, ...bearer('acme') });
  await chat.until(() => chat.data('aura.approval_pending').length > 0);
  const runId = await chat.runId();
  const read = [
    acme.ask(`/v1/runs/${runId}`),
    acme.ask('/v1/runs'),
    acme.ask('/v1/sessions'),
    acme.ask('/v1/sessions/s'),
    acme.ask('/v1/approvals'),
    acme.ask(`/v1/runs/${runId}/explain`),
    acme.ask(`/v1/runs/${runId}/chart`),
  ];
  for (const each of read) await each.all();
  const id = String(chat.data('aura.approval_pending')[0]?.['decision_id']);
  await decide(acme, id, { approved: true }).answered;
  await chat.all();
  expect(await chat.header('x-chat-session-id')).toBe('s');
  const reader = eventsOf(acme, runId);
  await reader.all();
  for (const { body } of [chat, reader, ...read]) {
    // Who decided is told by the name of his key.
    expect(body.replaceAll('"key:acme"', '')).not.toMatch(/acme|\\u001f|\u001f/);
    expect(body).not.toBe('');
  }
});
