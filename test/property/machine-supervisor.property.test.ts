import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { AnyActorRef } from 'xstate';
import { supervisorMachine } from '../../machines/supervisor.machine.ts';
import { startDrive } from '../../src/testing/drive.ts';
import { LIMITS } from '../model/samples.ts';

const BOUNDS = { graceMs: 30_000, drainMs: 5_000, abortMs: 2_000, flushMs: 3_000 };
const WHOLE_MS = Object.values(BOUNDS).reduce((sum, ms) => sum + ms, 0);
const RUNS_MAX = 3;

type Stimulus =
  | { do: 'submit' | 'end' | 'signal' | 'request' | 'answer' }
  | { do: 'wait'; ms: number };

/** Weighted towards runs that come and stay; the signal is rare, because it ends the admitting. */
const stimulus: fc.Arbitrary<Stimulus> = fc.oneof(
  { weight: 8, arbitrary: fc.constant<Stimulus>({ do: 'submit' }) },
  { weight: 3, arbitrary: fc.constant<Stimulus>({ do: 'end' }) },
  { weight: 2, arbitrary: fc.constantFrom<Stimulus>({ do: 'request' }, { do: 'answer' }) },
  { weight: 1, arbitrary: fc.constant<Stimulus>({ do: 'signal' }) },
  {
    weight: 2,
    arbitrary: fc.record({
      do: fc.constant('wait' as const),
      ms: fc.constantFrom(1, BOUNDS.abortMs, BOUNDS.drainMs, BOUNDS.graceMs),
    }),
  },
);

const submit = (runId: string) =>
  ({
    type: 'run.submit',
    waits: false,
    tenant: { live: 0, max: 0 },
    input: {
      runId,
      liveness: { policy: 'cancel', graceMs: 0 },
      limits: LIMITS,
      firstClaim: null,
    },
  }) as const;

describe('supervisor chart: invariants under any history', () => {
  it('answers every submit, tells shutdown the load and stops runs once (SU1, SU3, SU4)', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(stimulus, { maxLength: 30 }), async (history) => {
        const drive = startDrive(supervisorMachine, {
          input: { runsMax: RUNS_MAX, queueMax: 3, shutdown: BOUNDS, drainToolGraceMs: 4_000 },
          real: ['shutdown'],
        });
        const { actor, clock, ports, emitted } = drive;
        const phases = new Set<string>();
        actor.subscribe(({ value }) => phases.add(JSON.stringify(value)));
        drive.send({ type: 'supervisor.begin' });
        const runs = ports.live('runs');
        const told = (type: string) => runs?.received.filter((event) => event.type === type) ?? [];
        let [live, requests, submitted, admitted, signalled] = [0, 0, 0, 0, false];
        // The pool is a fake, so its part is played here: a run is live once it was spawned.
        const report = (count: number) => {
          live = count;
          if (ports.live('runs')) runs?.tell({ type: 'pool.changed', pool: 'runs', live } as never);
        };
        for (const s of history) {
          if (actor.getSnapshot().status !== 'active') break;
          if (s.do === 'wait') await clock.advance(s.ms);
          if (s.do === 'end' && live > 0) report(live - 1);
          if (s.do === 'signal') drive.send({ type: 'shutdown.signal', signal: 'SIGTERM' });
          if (s.do === 'signal') signalled = true;
          if (s.do === 'request') requests++;
          if (s.do === 'request') drive.send({ type: 'request.begin' });
          if (s.do === 'answer' && requests > 0) requests--;
          if (s.do === 'answer') drive.send({ type: 'request.end' });
          if (s.do === 'submit' && actor.getSnapshot().status === 'active') {
            const before = emitted.length;
            drive.send(submit(`run-${++submitted}`));
            const answer = emitted.slice(before);
            const reason = signalled ? 'draining' : 'full';
            const admits = !signalled && live < RUNS_MAX;
            expect(answer).toMatchObject([
              admits ? { type: 'run.admitted' } : { type: 'run.rejected', reason },
            ]);
            if (admits) report(live + 1);
            if (admits) admitted++;
            expect(told('pool.spawn').length).toBe(admitted);
          }
          if (told('pool.stopAll').length > 0 && live > 0) report(0);
          const { shutdown } = actor.getSnapshot().children as { shutdown?: AnyActorRef };
          if (shutdown) expect(shutdown.getSnapshot().context.inFlight).toBe(live + requests);
        }
        drive.send({ type: 'shutdown.signal', signal: 'SIGTERM' });
        await clock.advance(WHOLE_MS);
        expect(actor.getSnapshot().status).toBe('done');
        const times = (phase: string) => (phases.has(`{"active":"${phase}"}`) ? 1 : 0);
        expect(told('pool.tellAll').length).toBe(times('draining'));
        expect(told('pool.stopAll').length).toBe(times('aborting'));
        expect(clock.pending).toEqual([]);
      }),
      { numRuns: 300 },
    );
  });
});
