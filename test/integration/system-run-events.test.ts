import { describe, expect, it } from 'vitest';
import { delta, reply } from '../../src/testing/fake-upstream-steps.ts';
import type { Exchange } from '../support/system-client.ts';
import { type SystemWorld, systemWorlds } from '../support/system-world.ts';

/** `GET /v1/runs/{id}/events`: any number of readers, at any place, of a run that lives or has ended. */

const start = systemWorlds();
const IN_SESSION = { 'X-Chat-Session-Id': 's' };
const ECHO = { id: 'call_1', name: 'echo', arguments: { said: 'x' } };
/** Ends the frames of an ended run, and is on no other. */
const TERMINAL = /"type":"(finished|cancelled|failed)"/;

const events = (world: SystemWorld, runId: string, after?: number | string, query = ''): Exchange =>
  world.ask(`/v1/runs/${runId}/events${query}`, {
    headers: after === undefined ? {} : { 'Last-Event-ID': String(after) },
  });

const ids = (reader: Exchange): readonly number[] => reader.frames.map(({ id }) => Number(id));

/** A run of some length whose model waits in the middle until `go`. */
async function longRun() {
  const { promise: open, resolve: go } = Promise.withResolvers<void>();
  const world = await start({ mcp: ['web'] });
  world.answer(
    { steps: reply({ text: ['Let', ' me', ' see.'], toolCalls: [ECHO] }) },
    { steps: [delta({ content: 'Do' }), { kind: 'gate', open }, ...reply({ text: ['n', 'e'] })] },
  );
  const chat = world.chat({}, IN_SESSION);
  await chat.until(({ text }) => text.endsWith('Do'));
  return { world, chat, runId: await chat.runId(), go };
}

describe('the events of a run', () => {
  it('are the same bytes for whoever reads from the start, early, late or twice (INV-60)', async () => {
    const { world, chat, runId, go } = await longRun();
    const early = [events(world, runId), events(world, runId)];
    await early[0]?.until(({ body }) => body.includes('"text":"Do"'));
    go();
    await chat.all();
    const readers = [...early, events(world, runId), events(world, runId, undefined, '?from=1')];
    await Promise.all(readers.map((reader) => reader.all()));
    const [first] = readers;
    for (const reader of readers) {
      expect(reader.body).toBe(first?.body);
      expect(reader.complete).toBe(true);
    }
    expect(ids(readers[0] as Exchange)).toEqual(
      Array.from({ length: first?.frames.length ?? 0 }, (_, at) => at + 1),
    );
    expect(first?.frames.at(-1)?.data).toMatch(TERMINAL);
    expect(chat.text).toBe('Let me see.\n\nDone');
  });

  it('go on behind any Last-Event-ID with the same bytes, and are 204 at the end (INV-61)', async () => {
    const { world, chat, runId, go } = await longRun();
    go();
    await chat.all();
    const whole = events(world, runId);
    await whole.all();
    const cutAt = (id: number): string => {
      const mark = `\nid: ${id}\n\n`;
      return whole.body.slice(whole.body.indexOf(mark) + mark.length);
    };
    const head = whole.body.slice(0, whole.body.indexOf('data:'));
    const [last = 0] = ids(whole).slice(-1);
    for (const id of ids(whole).slice(0, -1)) {
      const rest = events(world, runId, id);
      await rest.all();
      expect(rest.body).toBe(head + cutAt(id));
    }
    for (const id of [last, last + 1, 999_999]) {
      expect(await events(world, runId, id).status()).toBe(204);
    }
  });

  it('go on behind any place while the run still lives', async () => {
    const { world, chat, runId, go } = await longRun();
    const { last_seq: head } = await world.record(runId);
    const readers = Array.from({ length: head }, (_, at) => events(world, runId, at));
    await Promise.all(readers.map((reader) => reader.answered));
    const beyond = events(world, runId, head + 100);
    expect(await beyond.status()).toBe(400);
    go();
    await chat.all();
    await Promise.all(readers.map((reader) => reader.all()));
    const all = ids(readers[0] as Exchange);
    readers.forEach((reader, at) => expect(ids(reader)).toEqual(all.slice(at)));
  });

  it('reach a reader that stays when another one leaves, and the chat notices neither', async () => {
    const { world, chat, runId, go } = await longRun();
    const [leaves, stays] = [events(world, runId), events(world, runId)];
    await Promise.all([leaves, stays].map((each) => each.until(({ frames }) => frames.length > 3)));
    expect(await world.record(runId)).toMatchObject({ observers: 2, claims: [{}] });
    await leaves.leave();
    go();
    await stays.all();
    await chat.all();
    expect(stays.frames.at(-1)?.data).toMatch(TERMINAL);
    expect(await world.ended('s')).toMatchObject({ state: 'finished' });
    const types = (await world.journal('s')).map(({ type }) => type);
    expect(types.filter((type) => type.startsWith('observer_'))).toEqual(['observer_attached']);
  });

  it('of a run nobody knows are 404', async () => {
    const world = await start();
    const reader = events(world, '01890000-0000-7000-8000-000000000000');
    expect(await reader.status()).toBe(404);
    expect(await reader.json()).toMatchObject({ error: { code: 'not_found' } });
  });

  it('of two runs of one session are told apart', async () => {
    const { world, chat, runId, go } = await longRun();
    world.answer({ steps: reply({ text: ['Title'] }) });
    const title = world.chat({}, IN_SESSION);
    await title.all();
    go();
    await chat.all();
    const [one, two] = [events(world, runId), events(world, await title.runId())];
    await Promise.all([one.all(), two.all()]);
    expect(one.body).not.toContain('Title');
    expect(ids(two)).toHaveLength(new Set(ids(two)).size);
    expect(ids(one).filter((id) => ids(two).includes(id))).toEqual([]);
    const union = [...ids(one), ...ids(two)].toSorted((a, b) => a - b);
    expect(union).toEqual(Array.from({ length: union.length }, (_, at) => at + 1));
  });
});

describe('a claim', () => {
  it('holds the run when the chat’s own reader leaves, until it leaves too', async () => {
    const { world, chat, runId } = await longRun();
    const holder = events(world, runId, undefined, '?claim=true');
    await holder.until(({ body }) => body.includes('"text":"Do"'));
    expect((await world.record(runId)).claims).toHaveLength(2);
    await chat.leave();
    await holder.until(({ body }) => body.includes('observer_detached'));
    expect(await world.record(runId)).toMatchObject({ state: 'running', claims: [{}] });
    await holder.leave();
    expect(await world.ended('s')).toMatchObject({
      state: 'cancelled',
      end: { reason: 'unclaimed' },
    });
    const types = (await world.journal('s')).map(({ type }) => type);
    expect(types.filter((type) => type === 'observer_detached')).toHaveLength(2);
    expect(types.filter((type) => type === 'claims_exhausted')).toHaveLength(1);
  });

  it('lets the run finish for a reader that came for the chat’s', async () => {
    const { world, chat, runId, go } = await longRun();
    const holder = events(world, runId, undefined, '?claim=true');
    await holder.until(({ frames }) => frames.length > 3);
    await chat.leave();
    await holder.until(({ body }) => body.includes('observer_detached'));
    go();
    await holder.all();
    expect(holder.frames.at(-1)?.data).toContain('"type":"finished"');
    expect(holder.complete).toBe(true);
  });

  it('on a run that has ended changes nothing', async () => {
    const { world, chat, runId, go } = await longRun();
    go();
    await chat.all();
    const before = await world.record(runId);
    const reader = events(world, runId, undefined, '?claim=true');
    await reader.all();
    expect(reader.frames.at(-1)?.data).toMatch(TERMINAL);
    expect(await world.record(runId)).toEqual(before);
  });
});
