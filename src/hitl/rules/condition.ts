import type { ApprovalRule, JsonScalar, RuleCondition } from '../rules.ts';
import { compilePattern } from './pattern.ts';
import { compilePointer } from './pointer.ts';

type Effect = ApprovalRule['effect'];

/** Whether a condition holds for the arguments of a call. */
export type Holds = (args: unknown) => boolean;

/** What a comparison says of a value. `incomparable`: nothing, because of the value's type or size. */
type Answer = 'yes' | 'no' | 'incomparable';

/**
 * Compiles one condition of a rule with this effect. What cannot be compared counts against the call,
 * so that no oddly shaped argument slips past a rule:
 *
 * - Nothing is there: `ne` holds and the others do not. In an `allow` rule `ne` does not hold either.
 * - It has another type than the comparison is for (`gt` and `lt` a number, `matches` a text, the rest
 *   a text, number, boolean or null), or it is too long to match: an `allow` rule's condition does
 *   not hold, those of other rules do.
 *
 * `eq`, `ne` and `in` are strict: the text "1" is not the number 1.
 *
 * Throws what {@link compilePointer} and {@link compilePattern} throw, and a `TypeError` for a comparison
 * that nobody knows: a condition that never held would let the call of a `deny` rule pass.
 */
export function compileCondition(condition: RuleCondition, effect: Effect): Holds {
  const find = compilePointer(condition.pointer);
  const compare = comparison(condition);
  const restricts = effect !== 'allow';
  const whenMissing = condition.op === 'ne' && restricts;
  return (args) => {
    const found = find(args);
    if (found === undefined) return whenMissing;
    const answer = compare(found.value);
    return answer === 'incomparable' ? restricts : answer === 'yes';
  };
}

function comparison(condition: RuleCondition): (value: unknown) => Answer {
  switch (condition.op) {
    case 'eq':
    case 'ne': {
      const { op, value: wanted } = condition;
      return onScalars((value) => (value === wanted) === (op === 'eq'));
    }
    case 'in': {
      const wanted: ReadonlySet<unknown> = new Set(condition.value);
      return onScalars((value) => wanted.has(value));
    }
    case 'gt':
    case 'lt': {
      const { op, value: bound } = condition;
      return onNumbers((value) => (op === 'gt' ? value > bound : value < bound));
    }
    case 'matches': {
      const matches = compilePattern(condition.value);
      return (value) => (typeof value === 'string' ? answer(matches(value)) : 'incomparable');
    }
    default:
      return unknown(condition);
  }
}

/** Callers without types give anything. */
function unknown(condition: never): never {
  const { op } = condition as { readonly op?: unknown };
  throw new TypeError(`The condition compares by ${JSON.stringify(op)}, which is unknown.`);
}

const onScalars =
  (test: (value: JsonScalar) => boolean) =>
  (value: unknown): Answer =>
    isScalar(value) ? answer(test(value)) : 'incomparable';

const onNumbers =
  (test: (value: number) => boolean) =>
  (value: unknown): Answer =>
    typeof value === 'number' && !Number.isNaN(value) ? answer(test(value)) : 'incomparable';

const isScalar = (value: unknown): value is JsonScalar =>
  value === null || ['string', 'number', 'boolean'].includes(typeof value);

const answer = (holds: boolean | undefined): Answer =>
  holds === undefined ? 'incomparable' : holds ? 'yes' : 'no';
