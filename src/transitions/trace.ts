import type { AnyActorRef, EventObject, Snapshot, StateValue } from 'xstate';
import type { GuardNotes } from './guard-notes.ts';
import type { TransitionLog, TransitionStep } from './transition-log.ts';
import { eventWords, short, stateText } from './words.ts';

/** A step whose end is not known yet. */
type OpenStep = { -readonly [Key in keyof TransitionStep]: TransitionStep[Key] };

const NOBODY: readonly string[] = [];

const INIT = 'xstate.init';
const STOP = 'xstate.stop';

/** What XState tells of one microstep of one chart. */
export interface Microstep {
  readonly event: EventObject;
  readonly snapshot: Snapshot<unknown>;
  readonly transitions: readonly { readonly target?: readonly unknown[] | undefined }[];
}

/**
 * Follows one actor of a run's charts and writes its steps to the run's log.
 *
 * TR1. A step is written when its first move is known, so that steps stand in the order in which
 *      they were taken, also when one chart's end makes another step at once.
 * TR2. What changes no state is not written, unless guards refused an event that came from outside.
 */
export class ActorTrace {
  readonly #log: TransitionLog;
  readonly #notes: GuardNotes | undefined;
  readonly #chart: string;
  readonly #actor: string;
  #state: string | undefined;
  #open: OpenStep | undefined;
  /** The event that was refused last where the actor stands; said once. */
  #refusedType: string | undefined;

  constructor(options: {
    readonly log: TransitionLog;
    readonly notes: GuardNotes | undefined;
    readonly chart: string;
    readonly actor: string;
  }) {
    this.#log = options.log;
    this.#notes = options.notes;
    this.#chart = options.chart;
    this.#actor = short(options.actor);
  }

  stepped({ event, snapshot, transitions }: Microstep): void {
    if (event.type === INIT) return; // Its chart is built before the step that starts it is told.
    if (event.type === STOP) return this.#stopped(event);
    if (transitions.length === 0) return this.#refused(event);
    if (!transitions.some(({ target }) => target !== undefined)) return;
    const to = valueText(snapshot);
    const ended = snapshot.status !== 'active';
    if (to === undefined || (to === this.#state && !ended)) return;
    this.#move(event, to, ended);
  }

  /** The actor is at rest after the event; the first time, where its chart begins. */
  rested(event: EventObject, snapshot: Snapshot<unknown>): void {
    if (event.type === INIT) this.#started(event, snapshot);
    this.#open = undefined;
    this.#notes?.close(this.#chart, event);
  }

  #started(event: EventObject, snapshot: Snapshot<unknown>): void {
    const to = valueText(snapshot);
    if (to === undefined) return;
    this.#write(event, to, { ended: snapshot.status !== 'active', refused: NOBODY });
  }

  #move(event: EventObject, to: string, ended: boolean): void {
    const open = this.#open;
    if (open === undefined) {
      this.#write(event, to, { ended, refused: this.#notes?.of(this.#chart, event) ?? NOBODY });
      return;
    }
    open.to = to;
    open.ended = ended;
    this.#state = to;
  }

  #refused(event: EventObject): void {
    if (this.#open !== undefined || event.type.startsWith('xstate.')) return;
    const refused = this.#notes?.of(this.#chart, event);
    if (refused === undefined || this.#refusedType === event.type) return;
    const state = this.#state ?? null;
    this.#log.push(this.#step(event, { to: state, ended: false, refused: [...refused] }));
    this.#refusedType = event.type;
  }

  #stopped(event: EventObject): void {
    if (this.#state === undefined) return;
    this.#log.push(this.#step(event, { to: null, ended: true, refused: NOBODY }));
    this.#state = undefined;
  }

  #write(event: EventObject, to: string, how: Pick<TransitionStep, 'ended' | 'refused'>): void {
    this.#open = this.#step(event, { to, ...how });
    this.#log.push(this.#open);
    this.#state = to;
    this.#refusedType = undefined;
  }

  #step(
    { type }: EventObject,
    { to, ended, refused }: Pick<TransitionStep, 'to' | 'ended' | 'refused'>,
  ): OpenStep {
    return {
      ...this.#log.stamp(),
      chart: this.#chart,
      actor: this.#actor,
      event: eventWords(type),
      from: this.#state ?? null,
      to,
      ended,
      refused,
    };
  }
}

/** The id of the actor's chart; undefined for an actor that is no chart. */
export function chartOf(actor: AnyActorRef): string | undefined {
  // XState's type of a reference leaves the logic out; every actor has it.
  const { logic } = actor as unknown as { readonly logic?: { root?: unknown; id?: unknown } };
  return logic?.root !== undefined && typeof logic.id === 'string' ? logic.id : undefined;
}

/** Whether the snapshot is a chart's: promises and callbacks have no states. */
export const isOfChart = (snapshot: Snapshot<unknown>): boolean =>
  (snapshot as { readonly value?: unknown }).value !== undefined;

/** Undefined when the chart crashed before it had a state. */
function valueText(snapshot: Snapshot<unknown>): string | undefined {
  const { value } = snapshot as { readonly value?: StateValue };
  return value === undefined ? undefined : stateText(value);
}
