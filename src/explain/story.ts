import type { JournalEvent } from '../journal/events.ts';
import type { TransitionStep } from '../transitions/transition-log.ts';
import type { ExplainFacts, RunEntry } from './facts.ts';

export type EntryOf<Type extends JournalEvent['type']> = RunEntry & {
  readonly event: Extract<JournalEvent, { type: Type }>;
};

/** An entry that tells of an approval that somebody is asked for. */
export type OpenAsking = EntryOf<'approval_requested' | 'approval_pending'>;

/** How a tool call is told: as it was asked for, and how it ended if it has. */
export interface CallStory {
  readonly requested: EntryOf<'tool_requested'>;
  readonly ended: EntryOf<'tool_complete'> | undefined;
}

/** The entries and transitions of one run, asked by what an explanation looks for. */
export class Story {
  readonly facts: ExplainFacts;
  readonly own: readonly RunEntry[];
  readonly #bySeq: ReadonlyMap<number, RunEntry>;

  constructor(facts: ExplainFacts) {
    this.facts = facts;
    const { run_id } = facts.record;
    this.own = facts.entries.filter(({ runId }) => runId === undefined || runId === run_id);
    this.#bySeq = new Map(facts.entries.map((entry) => [entry.seq, entry]));
  }

  /** Another run's too; undefined when it is trimmed or was left out. */
  at(seq: number): RunEntry | undefined {
    return this.#bySeq.get(seq);
  }

  first<Type extends JournalEvent['type']>(type: Type): EntryOf<Type> | undefined {
    return this.own.find((entry): entry is EntryOf<Type> => entry.event.type === type);
  }

  /** The newest entry of the type, before `seq` if that is given. */
  last<Type extends JournalEvent['type']>(
    type: Type,
    before = Number.POSITIVE_INFINITY,
  ): EntryOf<Type> | undefined {
    return this.own.findLast(
      (entry): entry is EntryOf<Type> => entry.event.type === type && entry.seq < before,
    );
  }

  all<Type extends JournalEvent['type']>(type: Type): readonly EntryOf<Type>[] {
    return this.own.filter((entry): entry is EntryOf<Type> => entry.event.type === type);
  }

  /** Every tool call that was asked for, in order. */
  get calls(): readonly CallStory[] {
    const ends = new Map(this.all('tool_complete').map((end) => [end.event.tool_id, end]));
    return this.all('tool_requested').map((requested) => ({
      requested,
      ended: ends.get(requested.event.tool_id),
    }));
  }

  /** Calls of ours that had been asked for and had not ended when the entry was written. */
  callsOpenAt(seq: number): readonly CallStory[] {
    return this.calls.filter(
      ({ requested, ended }) =>
        requested.event.client !== true &&
        requested.seq <= seq &&
        (ended === undefined || ended.seq > seq),
    );
  }

  /**
   * Approvals that had been asked for and had no answer when the entry was written, each by what shows
   * it best: that it waits, where that is told.
   */
  approvalsOpenAt(seq: number): readonly OpenAsking[] {
    const told = [...this.all('approval_requested'), ...this.all('approval_pending')];
    const open = new Map<string, OpenAsking>();
    for (const entry of told) if (entry.seq <= seq) open.set(entry.event.decision_id, entry);
    for (const { event, seq: answered } of this.all('approval_completed')) {
      if (answered <= seq) open.delete(event.decision_id);
    }
    return [...open.values()].sort((a, b) => a.seq - b.seq);
  }

  get steps(): readonly TransitionStep[] {
    return this.facts.transitions?.steps ?? [];
  }

  /** The steps of the newest model turn. */
  get turnSteps(): readonly TransitionStep[] {
    const steps = this.steps.filter(({ chart }) => chart === 'turn');
    const begun = steps.findLastIndex(({ from }) => from === null);
    return steps.slice(Math.max(0, begun));
  }

  /** The newest step that fits. */
  lastStep(fits: (step: TransitionStep) => boolean): TransitionStep | undefined {
    return this.steps.findLast(fits);
  }

  /** The step in which the run was asked to end resumable. */
  get parkingAsked(): TransitionStep | undefined {
    return this.lastStep(
      ({ chart, from, to }) => chart === 'run' && !isParking(from) && isParking(to),
    );
  }

  /** The step with which the run's own chart gave up its work, for whatever reason. */
  get decision(): TransitionStep | undefined {
    return this.steps.find(isDecision);
  }
}

/** Whether the step is the one with which a run's own chart gives up its work. */
export const isDecision = ({
  chart,
  from,
  to,
}: Pick<TransitionStep, 'chart' | 'from' | 'to'>): boolean =>
  chart === 'run' && from !== null && !isWindingDown(from) && to !== null && isWindingDown(to);

const isParking = (state: string | null): boolean => state?.includes('parking.asked') ?? false;

const WINDING_DOWN = /^(stopping|settling|releasing|ended)\b/;

const isWindingDown = (state: string): boolean => WINDING_DOWN.test(state);
