import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { shutdownMachine } from '../../machines/shutdown.machine.ts';
import { startDrive } from '../../src/testing/drive.ts';

const BOUNDS = { graceMs: 30_000, drainMs: 5_000, abortMs: 2_000, flushMs: 3_000 };
const WHOLE_MS = BOUNDS.graceMs + BOUNDS.drainMs + BOUNDS.abortMs + BOUNDS.flushMs;

type Stimulus =
  | { do: 'signal' }
  | { do: 'load'; inFlight: number }
  | { do: 'wait'; ms: number }
  | { do: 'flushed'; well: boolean };

/** Weighted towards a load that stays, because without one every phase is skipped. */
const stimulus: fc.Arbitrary<Stimulus> = fc.oneof(
  { weight: 2, arbitrary: fc.constant<Stimulus>({ do: 'signal' }) },
  {
    weight: 4,
    arbitrary: fc.record({
      do: fc.constant('load' as const),
      inFlight: fc.constantFrom(0, 1, 1, 2, 2, 3),
    }),
  },
  {
    weight: 4,
    arbitrary: fc.record({
      do: fc.constant('wait' as const),
      ms: fc.constantFrom(1, 2_000, 5_000, 30_000),
    }),
  },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('flushed' as const), well: fc.boolean() }) },
);

const PHASES = ['accepting', 'gated', 'draining', 'aborting', 'flushing'] as const;

describe('shutdown chart: invariants under any history', () => {
  it('only goes forward, skips what is idle, is bounded and says how clean it was (SD1 to SD5)', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(stimulus, { maxLength: 20 }), async (history) => {
        const drive = startDrive(shutdownMachine, { input: BOUNDS });
        const { actor, clock, ports, emitted } = drive;
        const phase = () => PHASES.findIndex((tag) => actor.getSnapshot().hasTag(tag));
        let [load, signals, last] = [0, 0, 0];
        drive.send({ type: 'shutdown.load', inFlight: (load = 2) });
        for (const s of history) {
          const before = phase();
          if (s.do === 'wait') await clock.advance(s.ms);
          if (s.do === 'load') drive.send({ type: 'shutdown.load', inFlight: (load = s.inFlight) });
          if (s.do === 'flushed' && ports.live('flushAll')) {
            const type = s.well ? 'xstate.done.actor.flushAll' : 'xstate.error.actor.flushAll';
            drive.apply({ type });
          }
          if (s.do === 'signal') {
            drive.send({ type: 'shutdown.signal', signal: signals++ === 0 ? 'SIGTERM' : 'SIGINT' });
          }
          if (actor.getSnapshot().status !== 'active') break;

          expect(phase()).toBeGreaterThanOrEqual(last);
          last = phase();
          if (signals > 0) expect(phase()).toBeGreaterThanOrEqual(1);
          if (load === 0) expect([0, 4]).toContain(phase());
          if (s.do === 'signal' && (before === 1 || before === 2)) expect(phase()).toBe(3);
        }
        if (signals === 0) drive.send({ type: 'shutdown.signal', signal: 'SIGTERM' });
        await clock.advance(WHOLE_MS);

        const { status, output } = actor.getSnapshot();
        expect(status).toBe('done');
        const aborted = emitted.some(({ type }) => type === 'shutdown.aborting');
        expect(output?.cleanShutdown).toBe(!aborted);
        const completed = emitted.filter(({ type }) => type === 'shutdown.completed');
        expect(completed).toMatchObject([{ cleanShutdown: !aborted }]);
        expect(clock.pending).toEqual([]);
      }),
      { numRuns: 300 },
    );
  });
});
