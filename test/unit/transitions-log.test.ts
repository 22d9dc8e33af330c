import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { encodeLog, LOG_BYTES_MAX, parseLog } from '../../src/transitions/codec.ts';
import {
  dropOldest,
  STEPS_MAX,
  statesAfter,
  type TransitionHistory,
  TransitionLog,
  type TransitionStep,
} from '../../src/transitions/transition-log.ts';
import { stepOf, tickingLog } from './transitions-kit.ts';

/** A log with so many steps of one chart, each to a state of its number. */
function logOf(count: number): TransitionLog {
  const log = tickingLog();
  for (let n = 0; n < count; n += 1) log.push(stepOf({ at: n, from: `s${n}`, to: `s${n + 1}` }));
  return log;
}

describe('the ring of steps', () => {
  it('has its steps oldest first', () => {
    expect(logOf(3).history.steps.map(({ to }) => to)).toEqual(['s1', 's2', 's3']);
  });

  it('lets the oldest go, counts them, and remembers where they left their chart', () => {
    const { steps, dropped, before } = logOf(STEPS_MAX + 44).history;
    expect(steps).toHaveLength(STEPS_MAX);
    expect(steps.map(({ at }) => at)).toEqual(steps.map((_, index) => index + 44));
    expect(dropped).toBe(44);
    expect(before).toEqual([{ chart: 'run', actor: 'run', state: 's44' }]);
  });

  it('remembers no chart that was over or stopped before the first step that is kept', () => {
    const log = tickingLog();
    log.push(stepOf({ actor: 'turn', to: 'answered', ended: true }));
    log.push(stepOf({ actor: 'claims', to: 'claimed' }));
    log.push(stepOf({ actor: 'claims', from: 'claimed', to: null, ended: true }));
    log.push(stepOf({ actor: 'run', to: 'ended.not' }));
    for (let n = 0; n < STEPS_MAX; n += 1) log.push(stepOf({ actor: 'other' }));
    expect(log.history.before.map(({ actor }) => actor)).toEqual(['run']);
  });

  it('knows what the journal had when a step was taken', () => {
    let last = 0;
    const log = new TransitionLog({ now: () => 5 }, () => last);
    expect(log.stamp()).toEqual({ at: 5, after: 0 });
    last = 7;
    expect(log.stamp()).toEqual({ at: 5, after: 7 });
  });

  it('tells where the charts stood after any of its steps', () => {
    const history: TransitionHistory = {
      dropped: 1,
      before: [{ chart: 'run', actor: 'run', state: 'working' }],
      steps: [
        stepOf({ actor: 'turn', chart: 'turn', from: null, to: 'calling' }),
        stepOf({ actor: 'turn', chart: 'turn', from: 'calling', to: 'answered', ended: true }),
        stepOf({ from: 'working', to: 'settling' }),
      ],
    };
    const at = (count: number) =>
      statesAfter(history, count).map(({ actor, state }) => `${actor} ${state}`);
    expect([0, 1, 2, 3].map(at)).toEqual([
      ['run working'],
      ['run working', 'turn calling'],
      ['run working'],
      ['run settling'],
    ]);
  });

  it('remembers the run itself before any number of charts that never end', () => {
    const log = tickingLog();
    log.push(stepOf({ to: 'working' }));
    for (let n = 0; n < 2 * STEPS_MAX; n += 1)
      log.push(stepOf({ actor: `tool.${n}`, to: 'gated' }));
    const { before } = log.history;
    expect(before.length).toBeLessThanOrEqual(32);
    expect(before).toContainEqual({ chart: 'run', actor: 'run', state: 'working' });
  });
});

const words = fc.string({ unit: 'grapheme', maxLength: 96 });

const step: fc.Arbitrary<TransitionStep> = fc.record({
  at: fc.integer({ min: 0, max: 1_900_000_000_000 }),
  after: fc.nat(),
  chart: words,
  actor: words,
  event: words,
  from: fc.option(words),
  to: fc.option(words),
  ended: fc.boolean(),
  refused: fc.array(words, { maxLength: 8 }),
});

const history: fc.Arbitrary<TransitionHistory> = fc.record({
  dropped: fc.nat(),
  before: fc.array(fc.record({ chart: words, actor: words, state: words }), { maxLength: 4 }),
  steps: fc.array(step, { maxLength: STEPS_MAX }),
});

describe('a stored log', () => {
  it('is read as it was written', () => {
    fc.assert(
      fc.property(history, (written) => {
        const text = encodeLog(written);
        const read = parseLog(text);
        const lost = (read?.dropped ?? 0) - written.dropped;
        expect(read).toEqual(lost === 0 ? written : dropOldest(written, lost));
      }),
    );
  });

  it('is never longer than its bound, and keeps the newest steps', () => {
    const steps = Array.from({ length: STEPS_MAX }, (_, n) =>
      stepOf({ actor: `${n}-${'é'.repeat(90)}`, event: `${n}-${'ü'.repeat(90)}` }),
    );
    const text = encodeLog({ steps, dropped: 0, before: [] });
    expect(Buffer.byteLength(text)).toBeLessThanOrEqual(LOG_BYTES_MAX);
    const read = parseLog(text);
    expect(read?.steps.at(-1)).toEqual(steps.at(-1));
    expect(read?.dropped).toBe(STEPS_MAX - (read?.steps.length ?? 0));
  });

  it('of a run without tools takes less than a kilobyte', () => {
    const steps = Array.from({ length: 12 }, (_, n) =>
      stepOf({ at: 1_800_000_000_000 + n, from: `working.state${n}`, to: `working.state${n + 1}` }),
    );
    expect(encodeLog({ steps, dropped: 0, before: [] }).length).toBeLessThan(1_024);
  });

  it.each([
    ['no JSON', '{'],
    ['null', 'null'],
    ['another version', '{"version":2,"from":0,"dropped":0,"texts":[],"before":[],"steps":[]}'],
    ['a missing list', '{"version":1,"from":0,"dropped":0,"texts":[],"before":[]}'],
    [
      'a text that is none',
      '{"version":1,"from":0,"dropped":0,"texts":[1],"before":[],"steps":[]}',
    ],
    [
      'a wrong position',
      '{"version":1,"from":0,"dropped":0,"texts":[],"before":[],"steps":[[0,0,1,2,3,4,5,0]]}',
    ],
    ['half a state', '{"version":1,"from":0,"dropped":0,"texts":["a"],"before":[[0]],"steps":[]}'],
  ])('that is %s is not read at all', (_, text) => {
    expect(parseLog(text)).toBeUndefined();
  });
});
