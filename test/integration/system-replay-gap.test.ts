import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { openSqliteStore } from '../../src/stores/sqlite.ts';
import { begin, ended, envelopes, recordOf, refusal, says } from '../support/api-kit.ts';
import {
  ATTACHED,
  framesOf,
  HEAD,
  idOf,
  idsOf,
  open,
  runSource,
  sessionSource,
  wholeFrames,
} from '../support/replay-kit.ts';
import { processWorlds } from '../support/system-process.ts';

/**
 * Hazard: entries that are not kept any more. A reader that wants them is told so, by a frame that
 * leaves its own place as it is, and then goes on with what there is.
 */

const start = processWorlds();
const WORDS = Array.from({ length: 12 }, (_, at) => `word ${at} `);

/** A session of two runs whose entries up to `through` are gone, on a process that never had them. */
async function trimmed(through: (firstLast: number) => number) {
  const world = await start();
  world.answer(says(...WORDS), says(...WORDS));
  const first = await begin(world.server);
  const { last_seq: firstLast } = await ended(world.server, first.run_id);
  const second = await begin(world.server);
  await ended(world.server, second.run_id);
  const whole = new Map<string, readonly string[]>();
  for (const { run_id: id } of [first, second]) {
    whole.set(id, await framesOf(world.server, runSource(id)));
  }
  world.server.signal('SIGTERM');
  await world.server.exit();
  const seq = through(firstLast);
  const store = openSqliteStore({ path: join(world.dataDir, 'runwarden.db') });
  const floor = await store.trim('s', seq);
  await store.close();
  const server = await world.again();
  return { world, server, first: first.run_id, second: second.run_id, whole, floor, firstLast };
}

const gapIn = (frame: string | undefined) =>
  JSON.parse(/^data: (.*)$/m.exec(frame ?? '')?.[1] ?? 'null') as {
    run_id?: string;
    session_id: string;
    seq?: number;
    payload: unknown;
  };

const gap = (from: number, to: number) => ({
  kind: 'lifecycle',
  event: { type: 'gap', from, to },
});

describe('a trimmed journal', () => {
  it('gives a run’s reader an explicit gap without an id, and then the rest', async () => {
    const { server, first, whole, floor, firstLast } = await trimmed((last) => last - 5);
    expect(floor).toBeLessThan(firstLast);
    const [told, ...rest] = await framesOf(server, runSource(first));
    expect(gapIn(told)).toMatchObject({ session_id: 's', run_id: first, payload: gap(1, floor) });
    expect(gapIn(told).seq).toBeUndefined();
    expect(idOf(told)).toBe('');
    expect(rest).toEqual(whole.get(first)?.slice(floor));
  });

  it('gives the gap from where the reader stands, and none to one that needs nothing of it', async () => {
    const { server, first, whole, floor } = await trimmed((last) => last - 5);
    const all = whole.get(first) ?? [];
    for (const [at, frame] of all.entries()) {
      const seq = Number(idOf(frame));
      for (const [way, place] of Object.entries(ATTACHED)) {
        const frames = await framesOf(server, runSource(first), place(seq));
        const told = seq <= floor ? [gap(seq, floor)] : [];
        const kept = frames.slice(told.length);
        expect(frames.slice(0, told.length).map((each) => gapIn(each).payload)).toEqual(told);
        expect(kept, `${way} ${seq}`).toEqual(all.slice(Math.max(at, floor)));
      }
    }
  });

  it('tells of it in a view of the lifecycle too, and names it where names are asked for', async () => {
    const { server, first } = await trimmed((last) => last - 5);
    const [told, ...rest] = await framesOf(server, runSource(first, 'kind=lifecycle&named=true'));
    expect(told?.startsWith('event: gap\n')).toBe(true);
    expect(rest.at(-1)?.startsWith('event: finished\n')).toBe(true);
  });

  it('ends the stream of a run of which nothing is left, and never hangs', async () => {
    const { server, first, second, firstLast } = await trimmed((last) => last);
    expect(await recordOf(server, first)).toMatchObject({ state: 'finished' });
    const reader = open(server, runSource(first));
    await reader.all();
    expect(reader.complete).toBe(true);
    expect(wholeFrames(reader.body).map((each) => gapIn(each).payload)).toEqual([
      gap(1, firstLast),
    ]);
    const late = open(server, runSource(first), { lastEventId: String(firstLast) });
    expect(await late.status()).toBe(204);
    expect((await framesOf(server, runSource(second))).map(idOf)).not.toContain('');
  });

  it('gives a session’s reader the gap, the rest, and what comes then', async () => {
    const { world, server, floor } = await trimmed((last) => last - 5);
    const reader = open(server, sessionSource('s'));
    world.answer(says('More'));
    const third = await begin(server);
    const { last_seq: last } = await ended(server, third.run_id);
    await reader.until(({ body }) => idOf(wholeFrames(body).at(-1)) === String(last));
    await reader.leave();
    expect(reader.body.startsWith(HEAD)).toBe(true);
    const [told, ...rest] = wholeFrames(reader.body);
    expect(gapIn(told)).toMatchObject({ session_id: 's', payload: gap(1, floor) });
    expect(gapIn(told).run_id).toBeUndefined();
    expect(idsOf(rest)).toEqual(Array.from({ length: last - floor }, (_, at) => floor + 1 + at));
    expect(envelopes(reader).at(-1)?.payload.event.type).toBe('finished');
  });

  it('is numbered on from where it was, also when nothing of it is left', async () => {
    const { world, server, firstLast } = await trimmed(() => 1_000_000);
    world.answer(says('More'));
    const third = await begin(server);
    expect(third.seq).toBe(2 * firstLast + 1);
    await ended(server, third.run_id);
    const beyond = open(server, sessionSource('s'), { lastEventId: '999999' });
    expect(await refusal(beyond)).toEqual([400, 'invalid_request_error', 'Last-Event-ID']);
  });
});
