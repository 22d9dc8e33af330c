import { wordOf } from '../acts/entries.ts';
import { Mismatch } from '../acts/mismatch.ts';
import type { Stage } from '../acts/stage.ts';
import type { ClientPath, Expected } from '../paths/scenario.ts';

/** What the path's entries tell must be one of what its chart may tell. */
export function checkOutcome(stage: Stage, path: ClientPath): void {
  const seen = seenIn(stage, path);
  const isRight = path.expected.some((expected) => isLike(expected, seen));
  if (isRight) return;
  const expected = path.expected.map(said).join(', or ');
  throw new Mismatch(expected, `${said(seen)}; ${stage.excerpt()}`);
}

function seenIn(stage: Stage, { tells, expected }: ClientPath): Expected {
  const ofSession = expected.some(({ facts }) => facts.some((fact) => LETTERED.test(fact)));
  const terminal = ofSession ? undefined : stage.terminal();
  const facts = stage.runs.flatMap(({ letter, runId }) =>
    stage.entries
      .filter((entry) => entry.run_id === runId)
      .flatMap(({ payload: { event } }) => factsOf(wordOf(event), tells))
      .map((word) => (ofSession ? `${letter} ${word}` : word)),
  );
  return {
    facts: [...facts, ...stage.refused.map((letter) => `${letter} refused`)],
    ...(terminal !== undefined && { terminal }),
    modelCalls: stage.model.count,
  };
}

const LETTERED = /^[a-z] /;

function factsOf(word: string, tells: readonly string[]): readonly string[] {
  if (word === 'cancelled(superseded)') return tells.includes('superseded') ? ['superseded'] : [];
  return tells.includes(word.replace(/\(.*/, '')) ? [word] : [];
}

function isLike(expected: Expected, seen: Expected): boolean {
  if (expected.terminal !== undefined && expected.terminal !== seen.terminal) return false;
  if (expected.modelCalls !== undefined && expected.modelCalls !== seen.modelCalls) return false;
  return said({ facts: perRun(expected.facts) }) === said({ facts: perRun(seen.facts) });
}

/** Runs beside each other tell what they tell in any order; each for itself has one. */
const perRun = (facts: readonly string[]): readonly string[] =>
  facts
    .map((fact) => fact)
    .sort((a, b) => (LETTERED.exec(a)?.[0] ?? '').localeCompare(LETTERED.exec(b)?.[0] ?? ''));

const said = ({ facts, terminal, modelCalls }: Expected): string =>
  [
    `[${facts.join(', ')}]`,
    ...(terminal === undefined ? [] : [`ended as ${terminal}`]),
    ...(modelCalls === undefined ? [] : [`${modelCalls} requests to the model`]),
  ].join(', ');
