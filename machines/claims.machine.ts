import { assign, emit, setup } from 'xstate';
import type { DetachBecause, Liveness, LivenessPolicy, Observer } from './vocabulary.ts';

export interface ClaimsInput {
  readonly liveness: Liveness;
  /** The claim a run is started with, so that leaving during setup is noticed. */
  readonly first: Observer | null;
}

export type ClaimsEvent =
  | { type: 'claim.attach'; observer: Observer }
  | { type: 'claim.detach'; observerId: string; because: DetachBecause };

export type ClaimsEmitted =
  | { type: 'observer.attached'; observer: Observer; withinGrace: boolean }
  | { type: 'observer.detached'; observer: Observer; because: DetachBecause }
  | { type: 'claims.exhausted'; graceMs: number }
  | { type: 'liveness.decided'; policy: LivenessPolicy };

export interface ClaimsOutput {
  readonly policy: LivenessPolicy;
}

export interface ClaimsContext {
  readonly liveness: Liveness;
  readonly first: Observer | null;
  readonly claims: readonly Observer[];
}

const claimsSetup = setup({
  types: {
    context: {} as ClaimsContext,
    input: {} as ClaimsInput,
    events: {} as ClaimsEvent,
    emitted: {} as ClaimsEmitted,
    output: {} as ClaimsOutput,
    tags: {} as 'claimed',
  },
  actions: {
    addFirst: assign({ claims: ({ context }) => (context.first ? [context.first] : []) }),
    addClaim: assign({
      claims: ({ context }, params: { observer: Observer }) => [...context.claims, params.observer],
    }),
    dropClaim: assign({
      claims: ({ context }, params: { observerId: string }) =>
        context.claims.filter((claim) => claim.id !== params.observerId),
    }),
  },
  guards: {
    hasFirst: ({ context }) => context.first !== null,
    isNew: ({ context }, params: { observerId: string }) =>
      context.claims.every((claim) => claim.id !== params.observerId),
    isHeld: ({ context }, params: { observerId: string }) =>
      context.claims.some((claim) => claim.id === params.observerId),
    isLast: ({ context }, params: { observerId: string }) =>
      context.claims.length === 1 && context.claims[0]?.id === params.observerId,
    hasGrace: ({ context }) => context.liveness.graceMs > 0,
    mayGoOn: ({ context }) => context.liveness.policy === 'continue',
  },
  delays: { grace: ({ context }) => context.liveness.graceMs },
});

const tellAttached = (withinGrace: boolean) =>
  claimsSetup.emit(({ event }) => ({
    type: 'observer.attached',
    observer: (event as Extract<ClaimsEvent, { type: 'claim.attach' }>).observer,
    withinGrace,
  }));

const tellDetached = claimsSetup.emit(({ context, event }) => {
  const { observerId, because } = event as Extract<ClaimsEvent, { type: 'claim.detach' }>;
  const observer = context.claims.find((claim) => claim.id === observerId);
  return {
    type: 'observer.detached',
    observer: observer ?? { id: observerId, presence: false },
    because,
  };
});

const attach = (withinGrace: boolean) =>
  [
    tellAttached(withinGrace),
    {
      type: 'addClaim',
      params: ({ event }: { event: Extract<ClaimsEvent, { type: 'claim.attach' }> }) => ({
        observer: event.observer,
      }),
    },
  ] as const;

const detach = [
  tellDetached,
  {
    type: 'dropClaim',
    params: ({ event }: { event: Extract<ClaimsEvent, { type: 'claim.detach' }> }) => ({
      observerId: event.observerId,
    }),
  },
] as const;

/**
 * Who holds a live run's right to go on, and what happens when nobody does.
 *
 * CL1. A claim counts once, however often it attaches, and a detach of an unknown one is nothing.
 * CL2. The last detach is told before the exhaustion, and that before the decision.
 * CL3. A claim inside the grace window leaves no trace but its attach.
 * CL4. A run that never had a claim is never exhausted.
 * CL5. Continue decides again when a later claim is lost; cancel and park decide once.
 */
export const claimsMachine = claimsSetup.createMachine({
  id: 'claims',
  options: { maxIterations: 100 },
  context: ({ input }) => ({ ...input, claims: [] }),
  initial: 'opening',
  states: {
    opening: {
      always: [
        {
          guard: 'hasFirst',
          target: 'claimed',
          actions: [
            'addFirst',
            emit(({ context }) => ({
              type: 'observer.attached' as const,
              observer: context.first ?? { id: '', presence: false },
              withinGrace: false,
            })),
          ],
        },
        { target: 'unclaimed' },
      ],
    },
    unclaimed: {
      on: { 'claim.attach': { target: 'claimed', actions: [...attach(false)] } },
    },
    claimed: {
      tags: ['claimed'],
      on: {
        'claim.attach': {
          guard: { type: 'isNew', params: ({ event }) => ({ observerId: event.observer.id }) },
          actions: [...attach(false)],
        },
        'claim.detach': [
          {
            guard: { type: 'isLast', params: ({ event }) => ({ observerId: event.observerId }) },
            target: 'exhausted',
            actions: [...detach],
          },
          {
            guard: { type: 'isHeld', params: ({ event }) => ({ observerId: event.observerId }) },
            actions: [...detach],
          },
        ],
      },
    },
    exhausted: {
      entry: emit(({ context }) => ({
        type: 'claims.exhausted' as const,
        graceMs: context.liveness.graceMs,
      })),
      always: [{ guard: 'hasGrace', target: 'grace' }, { target: 'deciding' }],
    },
    grace: {
      after: { grace: { target: 'deciding' } },
      on: { 'claim.attach': { target: 'claimed', actions: [...attach(true)] } },
    },
    deciding: {
      entry: emit(({ context }) => ({
        type: 'liveness.decided' as const,
        policy: context.liveness.policy,
      })),
      always: [{ guard: 'mayGoOn', target: 'unclaimed' }, { target: 'decided' }],
    },
    decided: { type: 'final' },
  },
  output: ({ context }) => ({ policy: context.liveness.policy }),
});
