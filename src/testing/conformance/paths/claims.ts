import type { AnyMachineSnapshot, EventObject } from 'xstate';
import { claimsMachine } from '../../../../machines/claims.machine.ts';
import type { Liveness, Observer } from '../../../../machines/vocabulary.ts';
import { AGENTS } from '../kit/agents.ts';
import type { Seen } from './graph.ts';
import { type Beginning, type Scenario, scenarioOf } from './scenario.ts';
import { STEPS } from './steps.ts';

const ANN: Observer = { id: 'ann', presence: true };
const BOB: Observer = { id: 'bob', presence: false };

/** Longer than a slow machine takes to attach, short enough to wait for. */
const GRACE_MS = 1_500;

/** Who holds a run's right to go on, under each policy. */
export const claimScenarios = (): Scenario[] => [
  claims('cancel at once', { policy: 'cancel', graceMs: 0 }),
  claims('cancel after a grace', { policy: 'cancel', graceMs: GRACE_MS }),
  claims('continue', { policy: 'continue', graceMs: 0 }),
  claims('continue after a grace', { policy: 'continue', graceMs: GRACE_MS }),
  claims('park after a grace', { policy: 'park', graceMs: GRACE_MS }),
  claims('the stream of a chat', { policy: 'cancel', graceMs: 0 }, ANN),
];

const claims = (name: string, liveness: Liveness, first: Observer | null = null): Scenario =>
  scenarioOf({
    feature: 'liveness',
    name,
    machine: claimsMachine,
    options: {
      input: { liveness, first },
      key: ({ context }: AnyMachineSnapshot) => context.claims.map(({ id }: Observer) => id),
      fact: (fact) => factOf(fact),
      payloads: {
        'claim.attach': { ann: { observer: ANN }, bob: { observer: BOB } },
        'claim.detach': {
          ann: { observerId: ANN.id, because: 'released' },
          bob: { observerId: BOB.id, because: 'released' },
        },
      },
    },
    begins: beginning(liveness, first),
    sees,
    tells: ['observer_attached', 'observer_detached', 'claims_exhausted', 'liveness_decided'],
    endsAnywhere: true,
    ending: ({ output }) => ({ terminal: terminalUnder(output?.policy) }),
  });

const beginning = ({ policy, graceMs }: Liveness, first: Observer | null): Beginning => ({
  agent: AGENTS.plain,
  by: first === null ? 'start' : 'chat',
  liveness: { policy, grace_ms: graceMs },
  model: 'speaks',
});

/** While nothing is decided the run goes on, and the model is let answer in the end. */
const terminalUnder = (decided: string | undefined): string => {
  if (decided === 'cancel') return 'cancelled(unclaimed)';
  return decided === 'park' ? 'parked(unclaimed)' : 'finished';
};

/** Each connection is an observer of its own: none attaches twice, none leaves that is not there. */
function sees(event: EventObject, { context }: AnyMachineSnapshot): Seen {
  const held = context.claims.map(({ id }: Observer) => id);
  const { observer, observerId } = event as { observer?: Observer; observerId?: string };
  if (observer !== undefined) {
    if (held.includes(observer.id)) return 'never';
    return { step: observer === ANN ? STEPS.annAttaches : STEPS.bobAttaches };
  }
  if (observerId === undefined) return { step: STEPS.gracePasses };
  if (!held.includes(observerId)) return 'never';
  return { step: observerId === ANN.id ? STEPS.annLeaves : STEPS.bobLeaves };
}

function factOf({ type, ...fact }: { type: string; [key: string]: unknown }): string {
  const name = type.replace('.', '_');
  if (fact['withinGrace'] === true) return `${name}(within grace)`;
  const detail = fact['because'] ?? fact['policy'];
  return typeof detail === 'string' ? `${name}(${detail})` : name;
}
