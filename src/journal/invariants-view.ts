import { type Envelope, type JournalEvent, TERMINAL_TYPES } from './events.ts';

/** Something that a journal shows and that must not be. */
export interface Violation {
  /** `INV-nn` for what holds across charts, `JN-nn` for what the journal alone must tell. */
  readonly invariant: string;
  /** The entry at which it shows. */
  readonly seq: number;
  readonly runId: string | undefined;
  readonly message: string;
}

/** Looks at the whole journal of one session. Pure. */
export type Check = (entries: readonly Envelope[]) => Violation[];

export type EventOf<Type extends JournalEvent['type']> = Extract<JournalEvent, { type: Type }>;

/** An event and its place. */
export interface Placed<Event extends JournalEvent = JournalEvent> {
  readonly seq: number;
  /** Epoch milliseconds. */
  readonly at: number;
  readonly event: Event;
}

/** The entries of one run, in their order. */
export class RunView {
  readonly runId: string;
  readonly events: Placed[] = [];

  constructor(runId: string) {
    this.runId = runId;
  }

  /** The first terminal entry, if the run has ended. */
  get terminal(): Placed | undefined {
    return this.events.find(({ event }) => TERMINAL_TYPES.has(event.type));
  }

  of<Type extends JournalEvent['type']>(...types: Type[]): Placed<EventOf<Type>>[] {
    const wanted: readonly string[] = types;
    // The filter is what makes each event one of these types.
    return this.events.filter(({ event }) => wanted.includes(event.type)) as Placed<
      EventOf<Type>
    >[];
  }

  /** The first of one type. */
  first<Type extends JournalEvent['type']>(type: Type): Placed<EventOf<Type>> | undefined {
    return this.of(type)[0];
  }

  /** The parked run that this one goes on with. */
  get continues(): string | undefined {
    const [first] = this.of('queued', 'started');
    return first?.event.continues;
  }

  violation(invariant: string, seq: number, message: string): Violation {
    return { invariant, seq, runId: this.runId, message };
  }
}

/** The runs of a journal, in the order of their first entries. */
export function runsOf(entries: readonly Envelope[]): RunView[] {
  const runs = new Map<string, RunView>();
  for (const { run_id: runId, seq, at, payload } of entries) {
    if (runId === undefined) continue;
    const run = runs.get(runId) ?? new RunView(runId);
    runs.set(runId, run);
    run.events.push({ seq, at, event: payload.event });
  }
  return [...runs.values()];
}

/** A check that looks at one run at a time. */
export const perRun =
  (check: (run: RunView) => Violation[]): Check =>
  (entries) =>
    runsOf(entries).flatMap(check);
