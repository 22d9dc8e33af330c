import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { ApprovalCase, failuresOf } from '../support/approval-case.ts';
import { playRace, type Race } from '../support/approval-race.ts';
import { anyPicks, anySetting, raceBy, sequenceBy } from '../support/approval-random.ts';
import {
  expectationAfter,
  heedsPolicy,
  sequencesOf,
  textOf,
} from '../support/approval-sequences.ts';
import type { Setting, Stimulus } from '../support/approval-stimuli.ts';

/**
 * The charts of approval, tool call, run and shutdown together, on the running system: what is done
 * to it, and in which order, decides who wins, what runs and who is told. An oracle that knows no
 * chart says it.
 */

/** Stimuli one after another: 3 are half a minute of work, 4 some minutes. */
const DEPTH = Number(process.env['APPROVAL_DEPTH'] ?? 3);

/** Of each property. */
const RUNS = Number(process.env['APPROVAL_RUNS'] ?? 200);

const PATIENCE_MS = 600_000;

const SETTINGS: readonly Setting[] = (['conversational', 'webhook'] as const).flatMap((route) =>
  ([1, 2] as const).flatMap((calls) =>
    (['cancel', 'continue', 'park'] as const).map(
      (policy) => ({ route, calls, policy, notices: 'taken' }) as const,
    ),
  ),
);

/** Under `cancel` all of them; under the others those that come to something else there. */
function sequencesFor(setting: Setting): readonly (readonly Stimulus[])[] {
  const all = sequencesOf(setting, DEPTH);
  return setting.policy === 'cancel' ? all : all.filter(heedsPolicy);
}

describe('approvals under every sequence of what can act on them', () => {
  for (const setting of SETTINGS) {
    const sequences = sequencesFor(setting);
    const { calls, route, policy } = setting;
    const asked = calls === 1 ? `one ${route} approval` : `two ${route} approvals`;
    const which = `all ${sequences.length} up to depth ${DEPTH} come to what their order says`;
    it(`${asked} under ${policy}: ${which}`, { timeout: PATIENCE_MS }, async () => {
      const failures = await failuresOf(setting, sequences);
      expect(failures.slice(0, 3), `${failures.length} of them`).toEqual([]);
    });
  }
});

/** Deeper than all of them are played, and each has gone wrong once. */
const KNOWN: readonly { readonly setting: Setting; readonly sequence: readonly Stimulus[] }[] = [
  {
    // The abort of a run that was being stopped told of another cause.
    setting: { route: 'conversational', policy: 'cancel', calls: 1, notices: 'taken' },
    sequence: [
      { deed: 'yes', call: 0 },
      ...(['deafen', 'leave', 'SIGTERM', 'SIGTERM again'] as const).map((deed) => ({ deed })),
    ],
  },
  {
    // A webhook that had been told of the expiry was told again.
    setting: { route: 'webhook', policy: 'continue', calls: 1, notices: 'refused' },
    sequence: (['park', 'expire', 'reboot', 'resume'] as const).map((deed) => ({ deed })),
  },
  {
    // What had been decided of a run that went on with it was open again for the next process.
    setting: { route: 'webhook', policy: 'park', calls: 2, notices: 'breaks' },
    sequence: [
      { deed: 'leave' },
      { deed: 'resume' },
      { deed: 'hook yes', call: 0 },
      { deed: 'reboot' },
      { deed: 'resume' },
      { deed: 'signed no', call: 1 },
      { deed: 'reboot' },
    ],
  },
];

describe('approvals in a sequence that has gone wrong once', () => {
  for (const { setting, sequence } of KNOWN) {
    it(`come to what their order says: ${textOf(sequence)}`, async () => {
      await new ApprovalCase(setting).play(sequence);
    });
  }
});

describe('approvals under any long sequence', () => {
  it('come to what its order says, and leave nothing behind', {
    timeout: PATIENCE_MS,
  }, async () => {
    const reached = new Set<string>();
    await fc.assert(
      fc.asyncProperty(anySetting, anyPicks(30), async (setting, picks) => {
        const sequence = sequenceBy(setting, picks);
        await naming(textOf(sequence), () => new ApprovalCase(setting).play(sequence));
        const { calls, ends } = expectationAfter(setting, sequence);
        for (const { approval } of calls)
          reached.add(approval.winner?.replace(/ .*/, '') ?? 'open');
        if (calls.some(({ approvals }) => approvals.length > 1)) reached.add('asked anew');
        if (ends.length > 1) reached.add('gone on with');
      }),
      { numRuns: RUNS },
    );
    const ends = ['approved', 'denied', 'timed_out', 'errored', 'cancelled', 'gone on with'];
    expect([...reached]).toEqual(expect.arrayContaining([...ends, 'asked anew']));
  });
});

describe('approvals to which two things happen at once', () => {
  it('come to what one order of the two comes to', { timeout: PATIENCE_MS }, async () => {
    const picks = fc.record({
      before: anyPicks(4),
      pair: fc.tuple(fc.nat(1_000), fc.nat(1_000)),
      gap: fc.nat(40),
    });
    await fc.assert(
      fc.asyncProperty(anySetting, picks, async (setting, chosen) => {
        const race = raceBy(setting, chosen);
        if (race === undefined) return;
        const { before, first, second, gap } = race;
        const what = `after ${textOf(before)}: ${textOf([first, second])}, ${gap} apart`;
        await naming(what, () => playRace(setting, race));
      }),
      { numRuns: RUNS },
    );
  });
});

/** A question that is taken back, and what may come to it meanwhile. */
const MEANWHILE: readonly Omit<Race, 'gap'>[] = [
  {
    before: [{ deed: 'park' }],
    first: { deed: 'resume' },
    second: { deed: 'signed yes', call: 0 },
  },
  ...(['signed yes', 'signed no', 'hook yes'] as const).map((deed) => ({
    before: [],
    first: { deed: 'park' } as const,
    second: { deed, call: 0 },
  })),
  ...(['park', 'leave', 'SIGTERM'] as const).map((deed) => ({
    before: [],
    first: { deed },
    second: { deed: 'reboot' } as const,
  })),
  { before: [{ deed: 'park' }], first: { deed: 'resume' }, second: { deed: 'reboot' } },
];

describe('a question that is taken back', () => {
  for (const race of MEANWHILE) {
    const { before, first, second } = race;
    const what = `${textOf([first, second])} at once`;
    const title = `after ${textOf(before)}: ${what} come to what one order says`;
    it(title, { timeout: PATIENCE_MS }, async () => {
      const setting = { route: 'webhook', policy: 'park', calls: 1, notices: 'taken' } as const;
      for (let gap = 0; gap < 40; gap += 1) {
        await naming(`${gap} apart`, () => playRace(setting, { ...race, gap }));
      }
    });
  }
});

/** What fast-check prints of a counterexample are numbers. */
async function naming(what: string, play: () => Promise<void>): Promise<void> {
  try {
    await play();
  } catch (error) {
    throw new Error(what, { cause: error });
  }
}
