import type { AnyMachineSnapshot, EventObject } from 'xstate';
import { type ShutdownContext, shutdownMachine } from '../../../../machines/shutdown.machine.ts';
import { labelOfEvent } from '../../labels.ts';
import { AGENTS } from '../kit/agents.ts';
import type { Seen } from './graph.ts';
import { ITSELF, type Scenario, scenarioOf } from './scenario.ts';
import { STEPS } from './steps.ts';

/** How the process leaves. Only somebody who may signal it can take these paths. */
export const shutdownScenario = (): Scenario =>
  scenarioOf({
    feature: 'shutdown',
    name: 'the process',
    machine: shutdownMachine,
    options: {
      input: { graceMs: 1_000, drainMs: 1_000, abortMs: 1_000, flushMs: 1_000 },
      fact: () => '',
      key: ({ context: { inFlight, aborted, second } }: AnyMachineSnapshot) => [
        inFlight,
        aborted,
        second,
      ],
      payloads: {
        // The same signal within a second counts once, so the second one is another.
        'shutdown.signal': {
          first: (at) => (at.matches('serving') ? { signal: 'SIGTERM' } : undefined),
          second: (at) => (at.matches('serving') ? undefined : { signal: 'SIGINT' }),
        },
        'shutdown.load': { 'a run': { inFlight: 1 }, none: { inFlight: 0 } },
        'xstate.error.actor.flushAll': { '': () => undefined },
      },
    },
    begins: { agent: AGENTS.plain, by: 'none', model: 'waits' },
    sees,
    tells: [],
    ending: ({ output }) => ({ terminal: `exit code ${exitCodeOf(output)}` }),
  });

function sees(event: EventObject, before: AnyMachineSnapshot): Seen {
  const { inFlight, second } = before.context as ShutdownContext;
  switch (labelOfEvent(event)) {
    case 'shutdown.signal (first)':
      return { step: STEPS.terminate };
    case 'shutdown.signal (second)':
      return second === null && !before.matches('flushing') ? { step: STEPS.interrupt } : 'never';
    case 'shutdown.load (a run)':
      return before.matches('serving') && inFlight === 0 ? { step: STEPS.chatBegins } : 'never';
    case 'shutdown.load (none)':
      if (inFlight === 0) return 'never';
      // What is told to stop stops.
      if (before.matches('draining') || before.matches('aborting')) return ITSELF;
      return { step: STEPS.answers };
    case 'after grace':
      return { step: STEPS.shutdownGracePasses };
    case 'done flushAll':
      return ITSELF;
    default:
      return 'never';
  }
}

/** As the command line gives it. */
function exitCodeOf({ cleanShutdown, second }: { cleanShutdown: boolean; second: string | null }) {
  if (second !== null) return 130;
  return cleanShutdown ? 0 : 1;
}
