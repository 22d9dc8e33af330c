import {
  type ActorState,
  dropOldest,
  STEPS_MAX,
  type TransitionHistory,
  type TransitionStep,
} from './transition-log.ts';

/** The most that a stored log takes. */
export const LOG_BYTES_MAX = 32_768;

/**
 * How a log is stored: each text once, and steps as rows of numbers. Numbers are positions in
 * `texts`; -1 is null. A field may be added; anything else is a new version.
 */
interface StoredLog {
  readonly version: 1;
  /** Epoch milliseconds of the first step; a step's time counts from the step before it. */
  readonly from: number;
  readonly dropped: number;
  readonly texts: readonly string[];
  /** Actor, chart, state. */
  readonly before: readonly (readonly number[])[];
  /** Milliseconds since the step before, `after`, actor, chart, event, from, to, ended, guards. */
  readonly steps: readonly (readonly number[])[];
}

/**
 * JSON of at most {@link LOG_BYTES_MAX} bytes; of a log that is longer the oldest steps go. What is
 * remembered from before the first step has bounds that leave room for steps.
 */
export function encodeLog(history: TransitionHistory): string {
  const text = JSON.stringify(toStored(history));
  if (Buffer.byteLength(text) <= LOG_BYTES_MAX || history.steps.length === 0) return text;
  return encodeLog(dropOldest(history, Math.ceil(history.steps.length / 4)));
}

/**
 * Reads what {@link encodeLog} wrote. Undefined for a version or a shape that it does not know:
 * an explanation without a log is only shorter.
 */
export function parseLog(text: string): TransitionHistory | undefined {
  try {
    const json: unknown = JSON.parse(text);
    return isStored(json) ? fromStored(json) : undefined;
  } catch {
    return undefined;
  }
}

function toStored({ steps, dropped, before }: TransitionHistory): StoredLog {
  const texts = new Texts();
  const from = steps[0]?.at ?? 0;
  let last = from;
  const rows = steps.map((step) => {
    const since = step.at - last;
    last = step.at;
    return toRow(step, since, texts);
  });
  const states = before.map(({ actor, chart, state }) => [actor, chart, state].map(texts.place));
  return { version: 1, from, dropped, texts: texts.all, before: states, steps: rows };
}

const toRow = (step: TransitionStep, since: number, { place }: Texts): number[] => [
  since,
  step.after,
  place(step.actor),
  place(step.chart),
  place(step.event),
  place(step.from),
  place(step.to),
  step.ended ? 1 : 0,
  ...step.refused.map(place),
];

class Texts {
  readonly #places = new Map<string, number>();

  readonly place = (text: string | null): number => {
    if (text === null) return -1;
    const known = this.#places.get(text);
    if (known !== undefined) return known;
    this.#places.set(text, this.#places.size);
    return this.#places.size - 1;
  };

  get all(): readonly string[] {
    return [...this.#places.keys()];
  }
}

function fromStored({ from, dropped, texts, before, steps }: StoredLog): TransitionHistory {
  const textAt = (place: number): string => {
    const text = texts[place];
    if (text === undefined) throw new RangeError('a position without a text');
    return text;
  };
  let at = from;
  return {
    dropped,
    before: before.map((row) => toState(row, textAt)),
    steps: steps.map((row) => {
      at += row[0] ?? 0;
      return toStep(row, at, textAt);
    }),
  };
}

type TextAt = (place: number) => string;

function toState(row: readonly number[], textAt: TextAt): ActorState {
  const [actor, chart, state] = row.map(textAt);
  if (actor === undefined || chart === undefined || state === undefined) {
    throw new RangeError('a state without a name');
  }
  return { actor, chart, state };
}

function toStep(row: readonly number[], at: number, textAt: TextAt): TransitionStep {
  const [, after = 0, actor = -1, chart = -1, event = -1, from = -1, to = -1, ended, ...refused] =
    row;
  return {
    at,
    after,
    chart: textAt(chart),
    actor: textAt(actor),
    event: textAt(event),
    from: from === -1 ? null : textAt(from),
    to: to === -1 ? null : textAt(to),
    ended: ended === 1,
    refused: refused.map(textAt),
  };
}

function isStored(json: unknown): json is StoredLog {
  if (typeof json !== 'object' || json === null) return false;
  const { version, from, dropped, texts, before, steps } = json as Partial<StoredLog>;
  return (
    version === 1 &&
    Number.isFinite(from) &&
    Number.isSafeInteger(dropped) &&
    Array.isArray(texts) &&
    texts.every((text) => typeof text === 'string') &&
    isTable(before) &&
    isTable(steps) &&
    steps.length <= STEPS_MAX
  );
}

const isTable = (rows: unknown): rows is readonly (readonly number[])[] =>
  Array.isArray(rows) && rows.every((row) => Array.isArray(row) && row.every(Number.isFinite));
