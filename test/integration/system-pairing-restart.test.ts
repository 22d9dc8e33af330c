import { describe, expect, it } from 'vitest';
import type { UpstreamAnswer } from '../../src/testing/fake-upstream.ts';
import {
  ASKS_FIRST,
  askedOf,
  begin,
  calls,
  decide,
  ended,
  eventsOf,
  gated,
  heard,
  recordOf,
  says,
  STALLED,
} from '../support/api-kit.ts';
import { goOn, matching, sentLines } from '../support/api-pairing.ts';
import {
  type ProcessOptions,
  processWorlds,
  type ProcessWorld,
  type ServerProcess,
} from '../support/system-process.ts';

/**
 * Hazard: a process that is killed in the middle of a turn. The one after it settles the run, and the
 * session’s next run is accepted and told what is known, never that a tool did or did not run.
 */

const start = processWorlds();
const DEMO: ProcessOptions = { mcp: ['demo'] };
const SLOW = { id: 'call_1', name: 'slow_count', arguments: { to: 1_000, delay_ms: 50 } };
const ADD = { id: 'call_1', name: 'add', arguments: { a: 1, b: 2 } };
const asksFirst = ASKS_FIRST.replace('"echo"', '"add"');

/** Kills the process, and gives the next one on the same data. */
async function again(world: ProcessWorld): Promise<ServerProcess> {
  world.server.signal('SIGKILL');
  await world.server.exit();
  return world.again();
}

/** The world on another process. */
const on = (world: ProcessWorld, server: ServerProcess) => ({
  upstream: world.upstream,
  answer: world.answer,
  ask: server.ask.bind(server),
});

/** A headless run that is killed when it has told an entry of this type, and the next process. */
async function killed(
  type: string,
  options: ProcessOptions,
  answers: readonly UpstreamAnswer[],
  body: object = {},
) {
  const world = await start(options);
  world.answer(...answers);
  const { run_id: runId } = await begin(world.server, body);
  const reader = eventsOf(world.server, runId);
  await heard(reader, (event) => event.type === type);
  const server = await again(world);
  return { world, server, runId, reader };
}

describe('behind a crash', () => {
  it('in mid-text the half answer is kept', async () => {
    const { world, server, runId } = await killed('text_delta', {}, [STALLED]);
    expect(await ended(server, runId)).toMatchObject({
      state: 'failed',
      end: { error: { code: 'owner_lost' } },
    });
    expect(await goOn(on(world, server))).toEqual([
      'user: Go',
      matching(/^assistant: Half/),
      'user: Next',
    ]);
  });

  it('in mid-tool the outcome is unknown', async () => {
    const { world, server, runId } = await killed('tool_progress', DEMO, [calls(SLOW)]);
    await ended(server, runId);
    expect(await goOn(on(world, server))).toEqual([
      'user: Go',
      'assistant: [call_1=slow_count]',
      matching(/^tool call_1: .*may have happened/),
      'user: Next',
    ]);
  });

  it('in the second turn the first one’s result stays', async () => {
    const { world, server, runId } = await killed('text_delta', DEMO, [calls(ADD), STALLED]);
    await ended(server, runId);
    expect(await goOn(on(world, server))).toEqual([
      'user: Go',
      'assistant: [call_1=add]',
      'tool call_1: 3',
      matching(/^assistant: Half/),
      'user: Next',
    ]);
  });

  it('in a session’s second run the first one’s words stay', async () => {
    const world = await start();
    world.answer(says('First.'), STALLED);
    await ended(world.server, (await begin(world.server, { prompt: 'One' })).run_id);
    const { run_id: runId } = await begin(world.server, { prompt: 'Two' });
    await heard(eventsOf(world.server, runId), ({ type }) => type === 'text_delta');
    const server = await again(world);
    await ended(server, runId);
    expect(await goOn(on(world, server))).toEqual([
      'user: One',
      'assistant: First.',
      'user: Two',
      matching(/^assistant: Half/),
      'user: Next',
    ]);
  });

  it('of a chat, whose history the client brought, what it told is kept', async () => {
    const world = await start();
    world.answer(STALLED);
    const chat = world.server.chat('s');
    await chat.until(({ text }) => text === 'Half');
    const runId = await chat.runId();
    const server = await again(world);
    await ended(server, runId);
    expect(await goOn(on(world, server))).toEqual([
      'user: Hello',
      matching(/^assistant: Half/),
      'user: Next',
    ]);
  });

  it('of a run that waited for its turn, the session is as the others left it', async () => {
    const world = await start();
    world.answer(says('First.'), STALLED);
    await ended(world.server, (await begin(world.server, { prompt: 'One' })).run_id);
    const second = await begin(world.server, { prompt: 'Two' });
    await heard(eventsOf(world.server, second.run_id), ({ type }) => type === 'text_delta');
    const third = await begin(world.server, { prompt: 'Three', on_busy: 'enqueue' });
    const server = await again(world);
    for (const { run_id: id } of [second, third]) {
      expect(await ended(server, id)).toMatchObject({ state: 'failed' });
    }
    expect(await goOn(on(world, server))).toEqual([
      'user: One',
      'assistant: First.',
      'user: Two',
      matching(/^assistant: Half/),
      'user: Next',
    ]);
  });

  it('of a run that was beside the session’s own, the session is as its own left it', async () => {
    const world = await start();
    world.answer(STALLED, gated('Title').answer);
    const chat = world.server.chat('s');
    await chat.until(({ text }) => text === 'Half');
    const messages = [{ role: 'user', content: 'Give it a title' }];
    const title = world.server.chat('s', { messages });
    await title.until(({ text }) => text === 'Title');
    const ids = [await chat.runId(), await title.runId()];
    const server = await again(world);
    for (const id of ids) await ended(server, id);
    expect(await goOn(on(world, server))).toEqual([
      'user: Hello',
      matching(/^assistant: Half/),
      'user: Next',
    ]);
  });
});

describe('a run that waited for a person when its process died (decision 32)', () => {
  it.each(['continue', 'park'])('stays decidable under %s, and goes on', async (policy) => {
    const options = { ...DEMO, toml: asksFirst };
    const body = { liveness: { policy } };
    const { world, server, runId, reader } = await killed(
      'approval_pending',
      options,
      [calls(ADD)],
      body,
    );
    const id = await askedOf(reader);
    expect(await ended(server, runId)).toMatchObject({ state: 'parked', approvals: [id] });
    world.answer(says('Three.'));
    const inbox = await server.ask('/v1/approvals?state=pending').json();
    expect(inbox).toMatchObject({ data: [{ decision_id: id, run_id: runId, parked: true }] });
    expect(await decide(server, id, { approved: true }).status()).toBe(204);
    await world.upstream.request(1);
    const { continued_by: next } = await recordOf(server, runId);
    expect(await ended(server, String(next))).toMatchObject({ state: 'finished' });
    const pair = ['user: Go', 'assistant: [call_1=add]', 'tool call_1: 3'];
    expect(await sentLines(world.upstream, 1)).toEqual(pair);
    expect(await goOn(on(world, server))).toEqual([...pair, 'assistant: Three.', 'user: Next']);
  });

  it('is settled under cancel, and its approvals are cancelled', async () => {
    const options = { ...DEMO, toml: asksFirst };
    const body = { liveness: { policy: 'cancel' } };
    const { world, server, runId, reader } = await killed(
      'approval_pending',
      options,
      [calls(ADD)],
      body,
    );
    const id = await askedOf(reader);
    expect(await ended(server, runId)).toMatchObject({
      state: 'failed',
      end: { error: { code: 'owner_lost' } },
    });
    expect(await decide(server, id, { approved: true }).status()).toBe(404);
    expect(await server.ask('/v1/approvals?state=pending').json()).toMatchObject({ data: [] });
    expect(await goOn(on(world, server))).toEqual([
      'user: Go',
      'assistant: [call_1=add]',
      matching(/^tool call_1: \S/),
      'user: Next',
    ]);
  });

  it('is accepted by a provider while it is still parked', async () => {
    const options = { ...DEMO, toml: asksFirst };
    const { world, server, runId } = await killed('approval_pending', options, [calls(ADD)]);
    expect(await ended(server, runId)).toMatchObject({ state: 'parked' });
    expect(await goOn(on(world, server))).toEqual([
      'user: Go',
      'assistant: [call_1=add]',
      matching(/^tool call_1: \S/),
      'user: Next',
    ]);
  });
});

describe('with recover = "resume"', () => {
  const recover = (more = '') => ({
    ...DEMO,
    toml: `[runtime.crash]\nrecover = "resume"\n${more}`,
  });

  it('a run goes on in another one, and its half turn is asked for again', async () => {
    const world = await start(recover());
    world.answer(calls(ADD), STALLED);
    const { run_id: runId } = await begin(world.server);
    await heard(eventsOf(world.server, runId), ({ type }) => type === 'text_delta');
    world.answer(says('Three.'));
    const server = await again(world);
    await world.upstream.request(2);
    const { continued_by: next } = await recordOf(server, runId);
    expect(await ended(server, String(next))).toMatchObject({ state: 'finished' });
    const pair = ['user: Go', 'assistant: [call_1=add]', 'tool call_1: 3'];
    expect((await sentLines(world.upstream, 2)).slice(0, 3)).toEqual(pair);
    expect((await goOn(on(world, server))).slice(-2)).toEqual(['assistant: Three.', 'user: Next']);
  });

  it('a tool that had started is not executed again, and the model is told so', async () => {
    const world = await start(recover());
    world.answer(calls(SLOW));
    const { run_id: runId } = await begin(world.server);
    await heard(eventsOf(world.server, runId), ({ type }) => type === 'tool_progress');
    world.answer(says('I do not know.'));
    const server = await again(world);
    await world.upstream.request(1);
    const { continued_by: next } = await recordOf(server, runId);
    expect(await ended(server, String(next))).toMatchObject({ state: 'finished' });
    expect(await sentLines(world.upstream, 1)).toEqual([
      'user: Go',
      'assistant: [call_1=slow_count]',
      matching(/^tool call_1: .*may have happened/),
    ]);
    expect((await goOn(on(world, server))).at(-2)).toBe('assistant: I do not know.');
  });
});
