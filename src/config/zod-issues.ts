import type * as z from 'zod';
import type { KeyPath } from './issue.ts';
import { nearest } from '../nearest.ts';
import type { IssueParams } from './schema/fields.ts';

/** An issue with its key as a path; the caller knows the file and its lines. */
export interface Finding {
  readonly path: KeyPath;
  readonly problem: string;
  readonly suggestion?: string;
  readonly quotable?: boolean;
}

type Issue = z.core.$ZodIssue;

/**
 * Says in our words what zod found; one finding for each unknown key. `valueAt` gives what stands
 * at a path, because zod's issues do not. `shapes` are the words of whoever wrote it.
 */
export function findingsOf(
  issue: Issue,
  valueAt: (path: KeyPath) => unknown,
  shapes: Shapes = TOML_SHAPES,
): readonly Finding[] {
  const path = issue.path.map((part) => (typeof part === 'symbol' ? String(part) : part));
  switch (issue.code) {
    case 'unrecognized_keys':
      return unknownKeys(issue, path);
    case 'invalid_type':
      return [{ path, ...wrongType(issue, valueAt(path), shapes) }];
    case 'invalid_union':
      return [{ path, ...unknownVariant(issue, valueAt(path)) }];
    case 'invalid_key':
      return issue.issues.flatMap((inner) => findingsOf({ ...inner, path }, valueAt, shapes));
    case 'custom':
      // Custom issues are ours alone, made with these params.
      return [{ path, problem: issue.message, ...(issue.params as IssueParams | undefined) }];
    default:
      return [{ path, problem: 'is not accepted', suggestion: `${issue.message}.` }];
  }
}

/** The advice stands in the message, one line a key: see `table` in `schema/fields.ts`. */
function unknownKeys(issue: z.core.$ZodIssueUnrecognizedKeys, path: KeyPath): Finding[] {
  const advice = issue.message.split('\n');
  return issue.keys.map((key, index) => ({
    path: [...path, key],
    problem: 'is not a known key',
    suggestion: advice[index] ?? '',
  }));
}

/** By zod's type: what it is called and how one writes it. */
export type Shapes = Readonly<Record<string, { readonly what: string; readonly how: string }>>;

const TOML_SHAPES: Shapes = {
  string: { what: 'a string', how: 'Write it in quotes.' },
  array: { what: 'a list', how: 'Write it in brackets: ["one", "two"].' },
  object: { what: 'a table', how: 'Write its keys under a [heading] of that name.' },
  record: { what: 'a table', how: 'Write its keys under a [heading] of that name.' },
};

type Told = Omit<Finding, 'path'>;

function wrongType(
  { expected }: z.core.$ZodIssueInvalidType,
  value: unknown,
  shapes: Shapes,
): Told {
  const { what, how } = shapes[expected] ?? { what: `of type ${expected}`, how: '' };
  if (value === undefined) return { problem: 'is missing', suggestion: `Add it; it is ${what}.` };
  return { problem: `is not ${what}`, suggestion: how };
}

/** The key that selects a variant (`provider`, `transport`, `mode`) has no or an unknown value. */
function unknownVariant(issue: z.core.$ZodIssueInvalidUnion, value: unknown): Told {
  const options = 'options' in issue ? (issue.options ?? []) : [];
  const words = options.filter((option) => typeof option === 'string');
  const known = `Use one of ${words.map((word) => `"${word}"`).join(', ')}.`;
  if (value === undefined) return { problem: 'is missing', suggestion: known };
  const close = typeof value === 'string' ? nearest(value, words) : undefined;
  const suggestion = close === undefined ? known : `Did you mean "${close}"? ${known}`;
  return { problem: 'is not a known value', suggestion, quotable: true };
}
