import { createActor, setup, type AnyActorRef, type AnyStateMachine } from 'xstate';
import { poolOf } from '../../machines/pool.ts';
import { createFeed } from '../../src/feed.ts';
import { createLog } from '../../src/log.ts';
import type { RunScopes } from '../../src/ports/run-scopes.ts';
import { GuardNotes } from '../../src/transitions/guard-notes.ts';
import { TransitionLog, type TransitionStep } from '../../src/transitions/transition-log.ts';

/** A log whose clock goes on by a millisecond whenever it is asked. */
export function tickingLog(): TransitionLog {
  let now = 1_000;
  return new TransitionLog({ now: () => now++ });
}

/** A step with what a test does not care about filled in. */
export const stepOf = (change: Partial<TransitionStep>): TransitionStep => ({
  at: 1_000,
  after: 0,
  chart: 'run',
  actor: 'run',
  event: 'run.begin',
  from: 'idle',
  to: 'working',
  ended: false,
  refused: [],
  ...change,
});

/** Charts of one kind in a pool of runs, heard by the real feed. */
export class FeedWorld {
  readonly log = tickingLog();
  readonly notes = new GuardNotes();
  readonly #pool;

  constructor(
    machineFor: (notes: GuardNotes) => AnyStateMachine,
    runIds: readonly string[] = ['r1'],
  ) {
    const logs = new Map(runIds.map((runId) => [runId, runId === 'r1' ? this.log : tickingLog()]));
    const feed = createFeed({
      // The feed only asks for the scope of an id, and of a scope only for its log.
      scopes: { get: (id: string) => scopeOf(logs.get(id)) } as unknown as RunScopes,
      log: createLog({ level: 'silent' }),
      onSystemFact: () => {},
      guardNotes: this.notes,
    });
    const root = setup({ actors: { runs: poolOf('runs', machineFor(this.notes)) } }).createMachine({
      invoke: { id: 'runs', src: 'runs', input: { parent: undefined }, onError: {} },
    });
    const actor = createActor(root, { inspect: feed });
    actor.start();
    this.#pool = actor.getSnapshot().children['runs'] as AnyActorRef;
    for (const id of runIds) {
      this.#pool.send({ type: 'pool.spawn', id, input: undefined, begin: { type: 'begin' } });
    }
  }

  tell(event: { readonly type: string }): void {
    this.#pool.send({ type: 'pool.tell', id: 'r1', event });
  }

  tellAll(event: { readonly type: string }): void {
    this.#pool.send({ type: 'pool.tellAll', event });
  }

  get steps(): readonly TransitionStep[] {
    return this.log.history.steps;
  }

  /** Steps on a line each: who, from where, where to, why, and what said no. */
  get lines(): readonly string[] {
    return this.steps.map(({ actor, from, to, event, refused }) =>
      [actor, `${from} > ${to}`, event, ...refused].join(' | '),
    );
  }
}

const scopeOf = (transitions: TransitionLog | undefined) =>
  transitions === undefined ? undefined : { transitions };
