import type { JournalEvent } from '../../src/journal/events.ts';
import { checkJournal } from '../../src/journal/invariants.ts';
import { journalOf, of, type RunStep } from './journal-samples.ts';

/** What an ended journal shows to be wrong, each with its place. */
export const found = (steps: readonly RunStep[]) =>
  checkJournal(journalOf(...steps), { ended: true })
    .map(({ seq, message }) => `${seq} ${message}`)
    .toSorted();

type Type = JournalEvent['type'];
/** Breaks a sound journal in one place. */
export type Break = (steps: readonly RunStep[]) => readonly RunStep[];

/** The last entry of a type: the run that goes on tells some again. */
const placeOf = (steps: readonly RunStep[], type: Type): number => {
  const at = steps.findLastIndex(({ event }) => event.type === type);
  if (at < 0) throw new Error(`no ${type} to break`);
  return at;
};

/** Takes the last entry of a type away. */
export const without =
  (type: Type): Break =>
  (steps) =>
    steps.toSpliced(placeOf(steps, type), 1);

/** Other fields, or another time. */
export const change =
  (type: Type, fields: object, at?: number): Break =>
  (steps) => {
    const place = placeOf(steps, type);
    const step = steps[place] as RunStep;
    const event = { ...step.event, ...fields } as JournalEvent;
    return steps.with(place, { ...step, event, ...(at !== undefined && { at }) });
  };

/** The last entry of a type without one of its fields. */
export const omit =
  (type: Type, field: string): Break =>
  (steps) => {
    const place = placeOf(steps, type);
    const step = steps[place] as RunStep;
    const fields = Object.entries(step.event).filter(([key]) => key !== field);
    return steps.with(place, { ...step, event: Object.fromEntries(fields) as JournalEvent });
  };

/** Right after the last entry of a type, in the same run. */
export const after =
  (type: Type, ...events: JournalEvent[]): Break =>
  (steps) => {
    const place = placeOf(steps, type);
    const { run } = steps[place] as RunStep;
    return steps.toSpliced(place + 1, 0, ...events.map((event) => of(run, event) as RunStep));
  };

/** Takes the last entry of a type and puts it right before the last one of another. */
export const moved =
  (type: Type, before: Type): Break =>
  (steps) => {
    const from = placeOf(steps, type);
    const rest = steps.toSpliced(from, 1);
    return rest.toSpliced(placeOf(rest, before), 0, steps[from] as RunStep);
  };

/** One break after the other. */
export const both =
  (...breaks: Break[]): Break =>
  (steps) =>
    breaks.reduce((broken, next) => next(broken), steps);
