import { describe, expect, it } from 'vitest';
import { reply } from '../../src/testing/fake-upstream-steps.ts';
import {
  ASKS_FIRST,
  askedOf,
  begin,
  decide,
  ended,
  eventsOf,
  gated,
  heard,
  refusal,
  says,
} from '../support/api-kit.ts';
import {
  ATTACHED,
  AWKWARD,
  expectNoSeam,
  framesOf,
  HEAD,
  idOf,
  open,
  readAll,
  runSource,
  taste,
  WAYS,
} from '../support/replay-kit.ts';
import { systemWorlds } from '../support/system-world.ts';

/**
 * Hazard: a seam. A reader that is cut anywhere and comes back must end with the bytes of one who was
 * never cut (INV-60): none missing, none twice, and the end of the run last.
 */

const start = systemWorlds();
const ECHO = { id: 'call_1', name: 'echo', arguments: { said: 'a "b"\n\u2028c' } };
const SECOND = { id: 'call_2', name: 'headers' };

/** A run with text, two tools, an approval, claims that come and go; it has ended. */
async function recorded() {
  const world = await start({ mcp: ['web'], toml: ASKS_FIRST });
  const { answer, go } = gated('Do', reply({ text: AWKWARD }));
  world.answer(
    { steps: reply({ text: AWKWARD, toolCalls: [ECHO, withArguments(SECOND)] }) },
    answer,
  );
  const { run_id: runId } = await begin(world);
  const holder = eventsOf(world, runId, '?claim=true');
  await decide(world, await askedOf(holder), { approved: true }).answered;
  await heard(holder, (event) => event.type === 'text_delta' && event.text === 'Do');
  await holder.leave();
  const other = eventsOf(world, runId, '?claim=true');
  await heard(other, ({ type }) => type === 'liveness_decided');
  go();
  await other.all();
  return { world, runId };
}

const withArguments = (call: { id: string; name: string }) => ({ ...call, arguments: {} });

describe('a recorded run', () => {
  it('has in its stream what a replay may get wrong', async () => {
    const { world, runId } = await recorded();
    const reader = eventsOf(world, runId);
    await reader.all();
    expect(reader.body.startsWith(HEAD)).toBe(true);
    const types = new Set(reader.frames.map(({ data }) => JSON.parse(data).payload.event.type));
    for (const type of [
      'started',
      'observer_attached',
      'text_delta',
      'tool_requested',
      'approval_pending',
      'approval_completed',
      'tool_complete',
      'observer_detached',
      'claims_exhausted',
      'liveness_decided',
      'finished',
    ]) {
      expect(types).toContain(type);
    }
  });

  it('is the same from each entry on, however the entry is named', async () => {
    const { world, runId } = await recorded();
    const whole = await readAll(world, runId);
    for (const [at, frame] of whole.entries()) {
      for (const way of WAYS) {
        const rest = await framesOf(world, runSource(runId), ATTACHED[way](Number(idOf(frame))));
        expect(rest.join(''), `${way} ${idOf(frame)}`).toBe(whole.slice(at).join(''));
      }
    }
  });

  it('has no seam for a reader that attaches at any entry, is cut at any later one and comes back', async () => {
    const { world, runId } = await recorded();
    await expectNoSeam(world, runSource(runId));
  }, 120_000);

  it.each(['kind=lifecycle', 'named=true', 'kind=lifecycle&named=true'])(
    'has no seam in its view %s',
    async (query) => {
      const { world, runId } = await recorded();
      await expectNoSeam(world, runSource(runId, query));
    },
    120_000,
  );

  it('shows in kind=lifecycle exactly the lifecycle entries, with their ids', async () => {
    const { world, runId } = await recorded();
    const whole = await readAll(world, runId);
    const part = await readAll(world, runId, 'kind=lifecycle');
    expect(part).toEqual(whole.filter((frame) => frame.includes('"kind":"lifecycle"')));
    expect(part.length).toBeLessThan(whole.length);
  });

  it('shows in named=true the same frames with the type as their event’s name', async () => {
    const { world, runId } = await recorded();
    const whole = await readAll(world, runId);
    const named = await readAll(world, runId, 'named=true');
    expect(named.map((frame) => frame.replace(/^event: [^\n]*\n/, ''))).toEqual(whole);
    for (const frame of named) {
      const { type } = JSON.parse(/^data: ([^\n]*)\n/m.exec(frame)?.[1] ?? '').payload.event;
      expect(frame.startsWith(`event: ${type}\n`)).toBe(true);
    }
  });

  it('is 204 at its end and past it, which stops a browser from coming back', async () => {
    const { world, runId } = await recorded();
    const last = Number(idOf((await readAll(world, runId)).at(-1)));
    for (const seq of [last + 1, last + 2, 999_999]) {
      for (const way of WAYS) {
        const late = open(world, runSource(runId), ATTACHED[way](seq));
        expect(await late.status(), `${way} ${seq}`).toBe(204);
        expect(late.body).toBe('');
      }
    }
  });

  it('takes Last-Event-ID before after, and after before from (decision 22)', async () => {
    const { world, runId } = await recorded();
    const whole = await readAll(world, runId);
    const all = await framesOf(world, runSource(runId, 'after=2&from=9'), { lastEventId: '4' });
    expect(all).toEqual(whole.slice(4));
    expect(await readAll(world, runId, 'after=2&from=9')).toEqual(whole.slice(2));
    expect(await readAll(world, runId, 'from=9')).toEqual(whole.slice(8));
  });

  it('is not changed by being read (decision 20)', async () => {
    const { world, runId } = await recorded();
    const before = await world.record(runId);
    const whole = await readAll(world, runId);
    await taste(world, runSource(runId, 'claim=true'), { count: 3 });
    expect(await readAll(world, runId, 'claim=true')).toEqual(whole);
    expect(await world.record(runId)).toEqual(before);
  });

  it('is the same bytes from the next process', async () => {
    const { world, runId } = await recorded();
    const whole = await readAll(world, runId);
    world.server.shutdown('SIGTERM');
    await world.server.stopped;
    const next = await start({ dataDir: world.dataDir });
    expect(await readAll(next, runId)).toEqual(whole);
    await expectNoSeam(next, runSource(runId, 'kind=lifecycle'));
  });

  it.each([
    ['after=x', 'after'],
    ['from=-1', 'from'],
    ['from=1&from=2', 'from'],
    ['kind=agent', 'kind'],
    ['claim=yes', 'claim'],
    ['named=1', 'named'],
  ])('refuses %s and names the parameter', async (query, param) => {
    const world = await start();
    world.answer(says('a'));
    const { run_id: runId } = await begin(world);
    await ended(world, runId);
    const answer = open(world, runSource(runId, query));
    expect(await refusal(answer)).toEqual([400, 'invalid_request_error', param]);
  });
});
