import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { type SessionEmitted, sessionMachine } from '../../machines/session.machine.ts';
import type { BusyStrategy } from '../../machines/vocabulary.ts';
import { startDrive } from '../../src/testing/drive.ts';

const QUEUE_MAX = 2;

const strategy = fc.constantFrom<BusyStrategy>('reject', 'enqueue', 'interrupt', 'parallel');

/** Weighted towards asking, so that the queue is full now and then. */
const stimulus = fc.oneof(
  {
    weight: 5,
    arbitrary: fc.record({
      do: fc.constant('ask' as const),
      strategy,
      // Whoever asks may not have heard of all that live or wait; the session has.
      tellsAll: fc.boolean(),
    }),
  },
  { weight: 3, arbitrary: fc.record({ do: fc.constant('leave' as const), nth: fc.nat(9) }) },
);

interface Run {
  readonly runId: string;
  readonly strategy: BusyStrategy;
  state: 'live' | 'waits';
}

/** What a session should do, told as plainly as it can be. */
class Oracle {
  readonly runs: Run[] = [];

  ask(runId: string, wanted: BusyStrategy): string {
    const waiting = this.runs.filter(({ state }) => state === 'waits').length;
    if (wanted === 'parallel' || this.runs.length === 0) return this.#add(runId, wanted, 'live');
    if (wanted === 'reject' || waiting >= QUEUE_MAX) return 'session.refused';
    return this.#add(runId, wanted, 'waits');
  }

  leave(runId: string): string | undefined {
    this.runs.splice(
      this.runs.findIndex((run) => run.runId === runId),
      1,
    );
    if (this.runs.some(({ state }) => state === 'live')) return undefined;
    const [next] = this.runs;
    if (next !== undefined) next.state = 'live';
    return next?.runId;
  }

  #add(runId: string, wanted: BusyStrategy, state: Run['state']): string {
    this.runs.push({ runId, strategy: wanted, state });
    return state === 'live' ? 'session.admitted' : 'session.queued';
  }
}

describe('session chart: the order of a session under any history', () => {
  it('answers every start once and admits in order (SE1 to SE6)', () => {
    fc.assert(
      fc.property(fc.array(stimulus, { maxLength: 40 }), (history) => {
        const drive = startDrive(sessionMachine, { input: { queueMax: QUEUE_MAX } });
        const oracle = new Oracle();
        let asked = 0;
        for (const step of history) {
          if (drive.actor.getSnapshot().status !== 'active') break;
          const before = drive.emitted.length;
          const told = () => drive.emitted.slice(before) as unknown as SessionEmitted[];
          const known = oracle.runs.map(({ runId }) => runId);
          if (step.do === 'ask') {
            const runId = `run-${++asked}`;
            const answer = oracle.ask(runId, step.strategy);
            const others = step.tellsAll ? known : [];
            drive.send({ type: 'session.ask', runId, strategy: step.strategy, others });
            const displaced = told().filter(({ type }) => type === 'session.superseded');
            const own = told().filter(({ type }) => type !== 'session.superseded');
            expect(own).toMatchObject([{ type: answer, runId }]);
            const displaces = step.strategy === 'interrupt' && answer === 'session.queued';
            expect(displaced.map((fact) => fact.runId).sort()).toEqual(
              displaces ? [...known].sort() : [],
            );
          } else if (known.length > 0) {
            const runId = known[step.nth % known.length] ?? '';
            const admitted = oracle.leave(runId);
            drive.send({ type: 'session.left', runId });
            const heard = told().map((fact) => fact.runId);
            expect(heard).toEqual(admitted === undefined ? [] : [admitted]);
          }
        }
      }),
    );
  });
});
