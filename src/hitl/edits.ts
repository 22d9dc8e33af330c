import type { Decision } from '../../machines/vocabulary.ts';
import { argumentsDigest } from './digest.ts';
import { misfitOf, type SchemaReading } from './schema-check.ts';

/** What a call's arguments must fit, and how that is to be read. */
export interface ArgumentsSchema extends SchemaReading {
  readonly schema: Readonly<Record<string, unknown>>;
}

/** Where edited arguments do not fit the tool. `message` is a sentence that names the field. */
export interface EditMisfit {
  /** `arguments`, and the names that lead to the value behind dots. */
  readonly field: string;
  readonly message: string;
}

/** Names may come from the approver, and a problem repeats them. */
const FIELD_CHARS_MAX = 200;

/**
 * The decision without arguments that are those that were asked for: who sends them back unchanged has
 * edited nothing. `asked` is the digest of what was asked for.
 */
export function withoutEmptyEdit<Given extends Pick<Decision, 'arguments'>>(
  decision: Given,
  asked: string,
): Given {
  if (decision.arguments === undefined || argumentsDigest(decision.arguments) !== asked)
    return decision;
  const { arguments: _unchanged, ...rest } = decision;
  // Only an optional member is gone.
  return rest as Given;
}

/** Undefined for arguments that fit, and where nobody knows what the tool takes. */
export function editMisfit(
  edited: Readonly<Record<string, unknown>>,
  expected: ArgumentsSchema | undefined,
): EditMisfit | undefined {
  if (expected === undefined) return undefined;
  const misfit = misfitOf(expected.schema, edited, expected);
  if (misfit === undefined) return undefined;
  const dotted = ['arguments', ...misfit.path].join('.');
  const field = dotted.length > FIELD_CHARS_MAX ? `${dotted.slice(0, FIELD_CHARS_MAX)}…` : dotted;
  return { field, message: `\`${field}\` ${misfit.problem}.` };
}
