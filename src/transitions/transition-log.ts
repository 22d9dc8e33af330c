/** Steps that a run's log keeps; an older one goes when another comes. */
export const STEPS_MAX = 256;

/** Charts of one run that are remembered from before the first step that is kept. */
const BEFORE_MAX = 32;

/** One step of one chart: from rest to rest, however many states it passed through between. */
export interface TransitionStep {
  /** Epoch milliseconds. */
  readonly at: number;
  /** The run's newest journal entry when the step was taken; what the step tells comes after. */
  readonly after: number;
  /** The chart's id: `run`, `turn`, `toolCall`, `approval`, `claims`. */
  readonly chart: string;
  /** Which actor of that chart: `run`, or the path of the child below the run. */
  readonly actor: string;
  /** The event's type without its payload, in words. */
  readonly event: string;
  /** Null when the actor began with this step. */
  readonly from: string | null;
  /** Null when the actor was stopped before its end; the same as `from` when guards refused. */
  readonly to: string | null;
  /** The actor is over with this step. */
  readonly ended: boolean;
  /** Named guards that said no on the way. */
  readonly refused: readonly string[];
}

/** A chart that was at work, and where it stood. */
export interface ActorState {
  readonly chart: string;
  readonly actor: string;
  readonly state: string;
}

/** What is known of a run's transitions, from a log that lives or from one that was stored. */
export interface TransitionHistory {
  /** Oldest first. */
  readonly steps: readonly TransitionStep[];
  /** Steps before the first one that are not kept any more. */
  readonly dropped: number;
  /** Where the charts stood before the first step that is kept. */
  readonly before: readonly ActorState[];
}

/**
 * The transitions that the charts of one run took, as a ring of {@link STEPS_MAX}.
 *
 * It is told by the inspector of the actor system and read by whoever explains the run. It holds no
 * payload, no context and no text of a user or of a model.
 */
export class TransitionLog {
  readonly #clock: { now(): number };
  readonly #lastSeq: () => number;
  readonly #ring: TransitionStep[] = [];
  readonly #before = new Map<string, ActorState>();
  /** Where the oldest step is once the ring is full. */
  #oldest = 0;
  #dropped = 0;

  /** `lastSeq` is the newest entry of the run, 0 while it has none. */
  constructor(clock: { now(): number }, lastSeq: () => number = () => 0) {
    this.#clock = clock;
    this.#lastSeq = lastSeq;
  }

  /** When something happens now: in time, and among the run's entries. */
  stamp(): Pick<TransitionStep, 'at' | 'after'> {
    return { at: this.#clock.now(), after: this.#lastSeq() };
  }

  /** Keeps a step; its maker may go on changing it until the step is over. */
  push(step: TransitionStep): void {
    if (this.#ring.length < STEPS_MAX) {
      this.#ring.push(step);
      return;
    }
    this.#forget(this.#ring[this.#oldest] as TransitionStep);
    this.#ring[this.#oldest] = step;
    this.#oldest = (this.#oldest + 1) % STEPS_MAX;
  }

  get history(): TransitionHistory {
    return {
      steps: [...this.#ring.slice(this.#oldest), ...this.#ring.slice(0, this.#oldest)],
      dropped: this.#dropped,
      before: [...this.#before.values()],
    };
  }

  #forget(step: TransitionStep): void {
    this.#dropped += 1;
    apply(this.#before, step);
  }
}

/** The history without its first `count` steps, which are folded into `before`. */
export function dropOldest(history: TransitionHistory, count: number): TransitionHistory {
  const states = new Map(history.before.map((state) => [state.actor, state]));
  for (const step of history.steps.slice(0, count)) apply(states, step);
  return {
    steps: history.steps.slice(count),
    dropped: history.dropped + Math.min(count, history.steps.length),
    before: [...states.values()],
  };
}

/** Where the charts stood after the first `count` steps; charts that were over are left out. */
export function statesAfter(history: TransitionHistory, count: number): readonly ActorState[] {
  return dropOldest(history, count).before;
}

function apply(states: Map<string, ActorState>, step: TransitionStep): void {
  const { chart, actor, to, ended } = step;
  states.delete(actor); // So that those which have stood longest come first.
  if (to === null || ended) return;
  states.set(actor, { chart, actor, state: to });
  if (states.size <= BEFORE_MAX) return;
  for (const oldest of states.keys()) {
    if (oldest === 'run') continue;
    states.delete(oldest);
    return;
  }
}
