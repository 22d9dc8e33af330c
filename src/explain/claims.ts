import type { ExplainedStep } from '../handle.ts';
import { duration } from './say.ts';
import { entryStep, timerStep } from './steps.ts';
import type { EntryOf, Story } from './story.ts';

/** How the run came to have no reader, and what was decided then. */
export interface Unclaimed {
  readonly detached: EntryOf<'observer_detached'> | undefined;
  readonly exhausted: EntryOf<'claims_exhausted'>;
  /** Undefined while the grace window is open. */
  readonly decided: EntryOf<'liveness_decided'> | undefined;
}

/** The newest time that the last claim went, unless somebody came back after it. */
export function unclaimedOf(story: Story): Unclaimed | undefined {
  const exhausted = story.last('claims_exhausted');
  if (exhausted === undefined) return undefined;
  const attached = story.last('observer_attached');
  if (attached !== undefined && attached.seq > exhausted.seq) return undefined;
  const decided = story.last('liveness_decided');
  return {
    detached: story.last('observer_detached', exhausted.seq),
    exhausted,
    decided: decided !== undefined && decided.seq > exhausted.seq ? decided : undefined,
  };
}

/** The reader's leaving, the window, and the decision at its end. */
export function unclaimedSteps(
  story: Story,
  { detached, exhausted, decided }: Unclaimed,
): ExplainedStep[] {
  const steps: ExplainedStep[] = [];
  if (detached !== undefined) {
    const { because, observer } = detached.event;
    steps.push(
      entryStep(detached, `The last reader left: ${WENT[because]}`, {
        observer: observer.id,
        because,
      }),
    );
  }
  const graceMs = exhausted.event.grace_ms;
  steps.push(
    entryStep(exhausted, `Nobody else held the run, ${windowText(graceMs)}`, { grace_ms: graceMs }),
  );
  if (decided === undefined) return steps;
  if (graceMs > 0) {
    const text = `The grace window of ${duration(graceMs)} passed and nobody came back`;
    steps.push(timerStep(exhausted.at + graceMs, text, { timer: 'grace', ms: graceMs }));
  }
  const { policy } = decided.event;
  const spared = policy === 'cancel' && isParkingBy(story, decided.seq) ? SPARED : DECIDED[policy];
  const text = `It was started under the policy ${policy}: ${spared}`;
  return [...steps, entryStep(decided, text, { policy, ...refusedBy(story) })];
}

/** The guards of the claims' chart that left no other way, where the log has the step. */
function refusedBy(story: Story): Readonly<Record<string, unknown>> {
  const step = story.lastStep(({ chart, to }) => chart === 'claims' && to === 'decided');
  if (step === undefined) return {};
  const { chart, event, from, refused } = step;
  return { chart, event, from, refused };
}

const windowText = (graceMs: number): string =>
  graceMs === 0
    ? 'and it has no grace window'
    : `so a grace window of ${duration(graceMs)} began in which a reader may come back`;

const WENT = {
  released: 'it closed its connection',
  expired: 'it was cut off, because it took nothing any more',
  displaced: 'another took its place',
} as const;

/** What is to be parked anyway does not end for want of a reader. */
const SPARED = 'without a reader it would be cancelled, but it had been asked to park';

const isParkingBy = (story: Story, seq: number): boolean =>
  (story.parkingAsked?.after ?? Number.POSITIVE_INFINITY) < seq;

const DECIDED = {
  cancel: 'without a reader it is cancelled',
  continue: 'it goes on without a reader',
  park: 'it is to end resumable at its next checkpoint',
} as const;
