import type { ExplainedStep } from '../handle.ts';
import type { TransitionStep } from '../transitions/transition-log.ts';
import type { RunEntry } from './facts.ts';

/** A link that is an entry of the journal. */
export const entryStep = (
  { seq, at, event }: RunEntry,
  text: string,
  detail: Readonly<Record<string, unknown>> = {},
): ExplainedStep => ({
  at,
  kind: 'entry',
  seq,
  text: `${text} (seq ${seq}).`,
  detail: { type: event.type, ...detail },
});

/** A link that only the transition log has. */
export const transitionStep = (step: TransitionStep, text: string): ExplainedStep => {
  const { chart, actor, event, from, to, refused } = step;
  return {
    at: step.at,
    kind: 'transition',
    seq: null,
    text: `${text}.`,
    detail: { chart, actor, event, from, to, refused },
  };
};

/** A deadline or a window that passed, or that will. */
export const timerStep = (
  at: number,
  text: string,
  detail: Readonly<Record<string, unknown>>,
): ExplainedStep => ({ at, kind: 'timer', seq: null, text: `${text}.`, detail });

/** Something that a stop must reach and has not, or never did. */
export const obligationStep = (
  at: number,
  text: string,
  detail: Readonly<Record<string, unknown>> & { readonly seq?: number },
): ExplainedStep => {
  const { seq, ...rest } = detail;
  return { at, kind: 'obligation', seq: seq ?? null, text: `${text}.`, detail: rest };
};
