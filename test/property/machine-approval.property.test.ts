import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { approvalMachine } from '../../machines/approval.machine.ts';
import { startDrive } from '../../src/testing/drive.ts';
import { APPROVAL, SHUTDOWN } from '../model/samples.ts';

type Stimulus =
  | { do: 'decide'; mine: boolean; approved: boolean }
  | { do: 'cancel' }
  | { do: 'wait'; ms: number };

/** Weighted towards what leaves the approval open, so that several stimuli meet it. */
const stimulus: fc.Arbitrary<Stimulus> = fc.oneof(
  {
    weight: 4,
    arbitrary: fc.record({
      do: fc.constant('decide' as const),
      mine: fc.constantFrom(false, false, false, true),
      approved: fc.boolean(),
    }),
  },
  {
    weight: 3,
    arbitrary: fc.record({
      do: fc.constant('wait' as const),
      ms: fc.constantFrom(1, APPROVAL.timeoutMs / 3, APPROVAL.timeoutMs),
    }),
  },
  { weight: 1, arbitrary: fc.constant<Stimulus>({ do: 'cancel' }) },
);

/** What must win, told without the chart: the first thing that can end an approval. */
function winnerOf(history: readonly Stimulus[]): string | undefined {
  let waitedMs = 0;
  for (const s of history) {
    if (s.do === 'cancel') return 'cancelled';
    if (s.do === 'decide' && s.mine) return s.approved ? 'approved' : 'denied';
    if (s.do === 'wait') waitedMs += s.ms;
    if (waitedMs >= APPROVAL.timeoutMs) return 'timed_out';
  }
  return undefined;
}

describe('approval chart: invariants under any history', () => {
  it('has one winner, fails closed, tells it once and always ends (AP1 to AP4)', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(stimulus, { maxLength: 12 }), async (history) => {
        const drive = startDrive(approvalMachine, {
          input: { request: APPROVAL },
        });
        const { actor, clock, emitted } = drive;
        for (const s of history) {
          if (s.do === 'wait') await clock.advance(s.ms);
          if (s.do === 'cancel') drive.send({ type: 'approval.cancel', cause: SHUTDOWN });
          if (s.do === 'decide') {
            const decisionId = s.mine ? APPROVAL.decisionId : 'decision-of-another';
            drive.send({ type: 'approval.decide', decisionId, approved: s.approved });
          }
        }
        const winner = winnerOf(history);
        expect(actor.getSnapshot().output?.kind).toBe(winner);

        await clock.advance(APPROVAL.timeoutMs);
        expect(actor.getSnapshot().output?.kind).toBe(winner ?? 'timed_out');
        expect(emitted.map(({ type }) => type)).toEqual([
          'approval.requested',
          'approval.pending',
          'approval.completed',
        ]);
        expect(emitted.at(-1)).toMatchObject({ outcome: { kind: winner ?? 'timed_out' } });
        expect(clock.pending).toEqual([]);
      }),
      { numRuns: 300 },
    );
  });
});
