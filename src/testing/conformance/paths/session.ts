import type { AnyEventObject, AnyMachineSnapshot, EventObject } from 'xstate';
import { type SessionContext, sessionMachine } from '../../../../machines/session.machine.ts';
import type { BusyStrategy } from '../../../../machines/vocabulary.ts';
import type { Fields } from '../../paths.ts';
import { AGENTS } from '../kit/agents.ts';
import type { Seen } from './graph.ts';
import { type Scenario, scenarioOf } from './scenario.ts';
import { askStep, leftStep } from './steps.ts';

const RUNS = ['a', 'b', 'c'];

/** Several runs want one session. */
export const sessionScenarios = (): Scenario[] => [
  session('a run that waits or is refused', ['reject', 'enqueue', 'parallel']),
  // Beside no other strategy that queues: what is queued then has displaced all before it.
  session('a run that displaces others', ['interrupt', 'parallel']),
];

const session = (name: string, strategies: readonly BusyStrategy[]): Scenario =>
  scenarioOf({
    feature: 'busy sessions',
    name,
    machine: sessionMachine,
    options: {
      input: { queueMax: RUNS.length },
      fact: factOf,
      key: keyOf,
      payloads: {
        'session.ask': Object.fromEntries(strategies.map((strategy) => [strategy, ask(strategy)])),
        'session.left': { known },
      },
    },
    begins: { agent: AGENTS.plain, by: 'none', model: 'waits' },
    sees: (event, before) => see(event, before, strategies.includes('interrupt')),
    tells: ['queued', 'started', 'refused', 'superseded'],
    ending: () => ({}),
  });

const contextOf = (snapshot: AnyMachineSnapshot): SessionContext => snapshot.context;

/** The run after the newest that is there, so that the walk ends and few names are used again. */
const ask =
  (strategy: BusyStrategy) =>
  (snapshot: AnyMachineSnapshot): Fields | undefined => {
    const { live, queue } = contextOf(snapshot);
    const newest = Math.max(-1, ...[...live, ...queue].map((id) => RUNS.indexOf(id)));
    const runId = RUNS[newest + 1];
    return runId === undefined ? undefined : { runId, strategy, others: [] };
  };

const known = (snapshot: AnyMachineSnapshot): Fields[] => {
  const { live, queue } = contextOf(snapshot);
  return [...live, ...queue].map((runId) => ({ runId }));
};

const keyOf = (snapshot: AnyMachineSnapshot): unknown => {
  const { live, queue } = contextOf(snapshot);
  return [`live ${live.join('+')}`, queue.length > 0 && `queued ${queue.join('+')}`];
};

/** A displaced run leaves by itself; one that waits is only ended by a stop, which has paths of its own. */
function see(event: EventObject, before: AnyMachineSnapshot, isDisplacing: boolean): Seen {
  const { runId, strategy } = event as EventObject & { runId: string; strategy?: string };
  if (strategy !== undefined) return { step: askStep(runId, strategy) };
  const { queue } = contextOf(before);
  if (isDisplacing && queue.length > 0) return runId === queue.at(-1) ? 'never' : 'by itself';
  return queue.includes(runId) ? 'never' : { step: leftStep(runId) };
}

function factOf({ type, runId }: AnyEventObject): string {
  const name = type === 'session.admitted' ? 'started' : type.replace('session.', '');
  return `${runId} ${name}`;
}
