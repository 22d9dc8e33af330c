import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { reply } from '../../src/testing/fake-upstream-steps.ts';
import {
  begin,
  callSteps,
  control,
  ECHO,
  ended,
  eventsOf,
  gated,
  heard,
  refusal,
  says,
} from '../support/api-kit.ts';
import { running } from '../support/api-runs.ts';
import {
  ATTACHED,
  AWKWARD,
  cutAndComeBack,
  expectNoSeam,
  idOf,
  idsOf,
  open,
  readAll,
  runSource,
  sessionSource,
  taste,
  WAYS,
  wholeFrames,
} from '../support/replay-kit.ts';
import { systemWorlds } from '../support/system-world.ts';

/** A reader that is cut while the run streams, and one of a session with several runs, have no seam. */

const start = systemWorlds();

describe('a run that lives', () => {
  it('has no seam for a reader that is cut after any number of entries, again and again', async () => {
    await fc.assert(
      fc.asyncProperty(fc.infiniteStream(fc.integer({ min: 1, max: 6 })), async (counts) => {
        const world = await streaming(60);
        const next = () => counts.next().value ?? 1;
        const readers = await Promise.all([
          cutAndComeBack(world.world, runSource(world.runId), next),
          cutAndComeBack(world.world, runSource(world.runId), () => 1),
          readAll(world.world, world.runId),
        ]);
        const [cut, single, whole] = readers;
        expect(cut).toEqual(whole);
        expect(single).toEqual(whole);
        expect(idsOf(whole ?? [])).toEqual((whole ?? []).map((_, at) => at + 1));
        expect(whole?.at(-1)).toContain('"type":"finished"');
      }),
      { numRuns: 5 },
    );
  }, 120_000);

  it('has no seam for readers that attach at every entry there is', async () => {
    const { world, runId, go } = await held();
    const { last_seq: head } = await world.record(runId);
    const readers = Array.from({ length: head + 1 }, (_, at) =>
      WAYS.map((way) => open(world, runSource(runId), ATTACHED[way](at + 1))),
    );
    for (const each of readers.flat()) expect(await each.status()).toBe(200);
    go();
    await Promise.all(readers.flat().map((reader) => reader.all()));
    const whole = await readAll(world, runId);
    for (const [at, each] of readers.entries()) {
      for (const reader of each) expect(wholeFrames(reader.body)).toEqual(whole.slice(at));
    }
  });

  it('answers at once for a cursor that it has not reached, with the newest entry there is', async () => {
    const { world, runId, go } = await held();
    const { last_seq: head } = await world.record(runId);
    for (const way of WAYS) {
      const beyond = open(world, runSource(runId), ATTACHED[way](head + 2));
      const { error } = await beyond.json();
      expect(await beyond.status()).toBe(400);
      expect(error).toMatchObject({ param: way, message: expect.stringContaining(String(head)) });
    }
    go();
    await ended(world, runId);
  });

  it('gives a slow reader, and one that leaves, the same as everybody, and they take nothing from another', async () => {
    const { world, runId, go } = await held(reply({ text: many(4_000) }));
    const quick = [eventsOf(world, runId), eventsOf(world, runId)];
    const slow = eventsOf(world, runId);
    const response = await slow.answered;
    response.pause();
    const leaver = eventsOf(world, runId);
    await leaver.until(({ frames }) => frames.length > 2);
    go();
    await leaver.leave();
    await Promise.all(quick.map((reader) => reader.all()));
    response.resume();
    await slow.all();
    const whole = await readAll(world, runId);
    expect(whole.length).toBeGreaterThan(100);
    for (const reader of [...quick, slow]) {
      expect(wholeFrames(reader.body)).toEqual(whole);
      expect(reader.complete).toBe(true);
    }
  }, 60_000);

  it('that is parked ends its stream with parked, and the run that goes on has its own', async () => {
    const world = await start({ mcp: ['web'] });
    const { runId, reader, go } = await running(world, { rest: callSteps(ECHO) });
    await control(world, runId, 'park').answered;
    go();
    await reader.all();
    expect(reader.frames.at(-1)?.data).toContain('"type":"parked"');
    const last = idOf(wholeFrames(reader.body).at(-1));
    expect(await open(world, runSource(runId), { lastEventId: last }).status()).toBe(204);
    world.answer(says('Then.'));
    const next = String((await control(world, runId, 'resume').json())['run_id']);
    await ended(world, next);
    await expectNoSeam(world, runSource(next));
    expect(await readAll(world, runId)).toEqual(wholeFrames(reader.body));
  }, 60_000);
});

describe('a session', () => {
  it('has one order over several runs, with no seam wherever its reader is cut', async () => {
    const world = await start();
    const { answer, go } = gated('a', reply({ text: AWKWARD }));
    world.answer(answer, says('beside'));
    const first = await begin(world);
    const live = open(world, sessionSource('s'));
    await heard(live, ({ type }) => type === 'text_delta');
    const beside = await begin(world, { on_busy: 'parallel' });
    await ended(world, beside.run_id);
    go();
    await ended(world, first.run_id);
    world.answer(says('later', ' on'));
    const later = await begin(world);
    const { last_seq: last } = await ended(world, later.run_id);
    await live.until(({ body }) => wholeFrames(body).length >= last);
    const whole = wholeFrames(live.body);
    expect(idsOf(whole)).toEqual(Array.from({ length: last }, (_, at) => at + 1));
    for (const { run_id: id } of [first, beside, later]) {
      const own = whole.filter((frame) => frame.includes(`"run_id":"${id}"`));
      expect(await readAll(world, id)).toEqual(own);
    }
    for (const [at, frame] of whole.entries()) {
      for (const way of WAYS) {
        const place = ATTACHED[way](Number(idOf(frame)));
        const rest = whole.length - at;
        expect(await taste(world, sessionSource('s'), { place, count: rest })).toEqual(
          whole.slice(at),
        );
      }
      const upTo = await taste(world, sessionSource('s'), { count: at + 1 });
      const lastEventId = idOf(upTo.at(-1));
      if (at + 1 === whole.length) continue;
      const count = whole.length - at - 1;
      const rest = await taste(world, sessionSource('s'), { place: { lastEventId }, count });
      expect([...upTo, ...rest]).toEqual(whole);
    }
    await live.leave();
  }, 60_000);

  it('waits at its newest entry, and is refused beyond', async () => {
    const world = await start();
    world.answer(says('a'), says('b'));
    const first = await begin(world);
    const { last_seq: head } = await ended(world, first.run_id);
    const waits = open(world, sessionSource('s'), { lastEventId: String(head) });
    expect(await waits.status()).toBe(200);
    const beyond = open(world, sessionSource('s'), { lastEventId: String(head + 1) });
    expect(await refusal(beyond)).toEqual([400, 'invalid_request_error', 'Last-Event-ID']);
    const second = await begin(world);
    const { last_seq: last } = await ended(world, second.run_id);
    await waits.until(({ body }) => wholeFrames(body).length >= last - head);
    expect(idsOf(wholeFrames(waits.body))[0]).toBe(head + 1);
    await waits.leave();
  });
});

const many = (count: number) => Array.from({ length: count }, (_, at) => `word ${at} `.repeat(40));

/** A run that is at rest in the middle, until `go`. */
async function held(then = reply({ text: AWKWARD })) {
  const world = await start({ mcp: ['web'] });
  const { answer, go } = gated('Do', then);
  world.answer({ steps: reply({ text: AWKWARD, toolCalls: [ECHO] }) }, answer);
  const { run_id: runId } = await begin(world);
  const reader = eventsOf(world, runId);
  await heard(reader, (event) => event.type === 'text_delta' && event.text === 'Do');
  await reader.leave();
  return { world, runId, go };
}

/** A run that says so many words, one each millisecond or so. */
async function streaming(words: number) {
  const world = await start();
  world.answer({ steps: reply({ text: many(words), everyMs: 1 }) });
  const { run_id: runId } = await begin(world);
  return { world, runId };
}
