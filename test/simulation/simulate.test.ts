import { afterAll, describe, expect, it } from 'vitest';
import { campaign, historyOf } from '../../src/testing/simulation/campaign.ts';
import { Reach } from '../../src/testing/simulation/reach.ts';
import { closingLine, failureReport, journalsText } from '../../src/testing/simulation/report.ts';
import { simulate } from '../../src/testing/simulation/simulate.ts';

/**
 * The whole system in one process, under one seed: server, streams, clients, models, tools, people, disk,
 * clock and deaths. `SIMULATE_RUNS` says how many histories, `SIMULATE_SEED` where they begin.
 */

const RUNS = Number(process.env['SIMULATE_RUNS'] ?? (process.env['CI'] === 'true' ? 2_000 : 600));
const STEPS_MAX = 20;
/** Pieces of the whole, so that a test has an end that a person can wait for. */
const PIECES = 10;

const FIXED_SEED = 20_261_201;
const given = process.env['SIMULATE_SEED'];
const seed = given === undefined ? FIXED_SEED : Number(given);

const FAULTS = [
  ...['clock set back', 'clock set forward', 'crash', 'crash tears writes', 'disk refuses'],
  ...['disk slow', 'lease taken', 'reader leaves', 'reader takes nothing', 'reader vanishes'],
  ...['second signal', 'shutdown'],
];

const ENDS = [
  ...['finished', 'cancelled client_tool', 'cancelled external', 'cancelled lease_lost'],
  ...['cancelled shutdown', 'cancelled superseded', 'cancelled unclaimed'],
  ...[
    'cancelled deadline first_chunk',
    'cancelled deadline inactivity',
    'cancelled deadline setup',
  ],
  ...['cancelled deadline step', 'cancelled deadline total'],
  ...['failed context_length_exceeded', 'failed owner_lost', 'failed provider_error'],
  ...['failed provider_rate_limited', 'failed store_unavailable', 'failed turn_limit'],
  ...['parked external', 'parked owner_lost', 'parked shutdown', 'parked unclaimed'],
];

describe('the whole system under a seed', () => {
  const reach = new Reach();

  afterAll(() => {
    // The suite is to say what it covered, whatever became of it.
    process.stdout.write(`${closingLine(reach)} Seeds from ${seed} on.\n`);
  });

  for (let piece = 0; piece < PIECES; piece += 1) {
    const runs = Math.ceil(RUNS / PIECES);
    const first = seed + piece * runs;
    it(`shows no fault from seed ${first} to ${first + runs - 1}`, async () => {
      const options = { seed: first, runs, stepsMax: STEPS_MAX };
      const { reach: reached, failure } = await campaign(options);
      reach.add(reached);
      if (failure === undefined) return;
      const { journals } = await simulate(failure.shrunk);
      expect.fail(`${failureReport(failure, options)}\n\n${journalsText({ journals })}`);
    }, 600_000);
  }

  it.skipIf(RUNS < 600)('comes to every kind of fault and to every kind of end', () => {
    expect(reach.of('faults').map(([what]) => what)).toEqual(expect.arrayContaining(FAULTS));
    expect(reach.of('ends').map(([what]) => what)).toEqual(expect.arrayContaining(ENDS));
  });

  it('writes the same journals for the same seed, byte for byte', async () => {
    for (let at = 0; at < 15; at += 1) {
      const history = historyOf(seed + at, STEPS_MAX);
      const [one, other] = [await simulate(history), await simulate(history)];
      expect([...one.journals]).toEqual([...other.journals]);
    }
  }, 120_000);
});
