import * as z from 'zod';
import { compileGlob, GlobSyntaxError } from '../../hitl/glob.ts';
import { nearest } from '../../nearest.ts';
import { type Reader, type Reading, text, toggle } from '../values.ts';

/** What our own issues carry beside their message, which is the problem. */
export interface IssueParams {
  readonly suggestion?: string;
  /** The value may be shown in the message. */
  readonly quotable?: boolean;
}

/** A field whose value `read` reads and checks; `missing` is what its absence is answered. */
export const field = <T>(read: Reader<T>, missing: Refusal = MISSING) =>
  z.unknown().transform((value, ctx): T => {
    const reading: Reading<T> = value === undefined ? { ok: false, ...missing } : read(value);
    if (reading.ok) return reading.value;
    const { problem, suggestion, quotable = false } = reading;
    const params: IssueParams = { suggestion, quotable };
    ctx.addIssue({ code: 'custom', message: problem, params: { ...params } });
    return z.NEVER;
  });

interface Refusal {
  readonly problem: string;
  readonly suggestion: string;
}

const MISSING: Refusal = { problem: 'is missing', suggestion: 'Add it; it has no default.' };

/**
 * A table that knows its keys. The advice for unknown ones travels in the message of zod's issue,
 * one line a key in the order of the keys, because zod's issue does not say what was known.
 * `elsewhere` tells where a key belongs that people look for here.
 */
export function table<Shape extends z.ZodRawShape>(
  shape: Shape,
  elsewhere: Readonly<Record<string, string>> = {},
) {
  const known = Object.keys(shape);
  return z.strictObject(shape, {
    error: (issue) =>
      issue.code === 'unrecognized_keys'
        ? issue.keys.map((key) => elsewhere[key] ?? unknownKeyAdvice(key, known)).join('\n')
        : undefined,
  });
}

function unknownKeyAdvice(key: string, known: readonly string[]): string {
  const close = nearest(key, known);
  return close === undefined ? `Known keys here: ${known.join(', ')}.` : `Did you mean "${close}"?`;
}

/** A part of AURA's schema that is refused while it is not built, whatever its value. */
export const notYet = (suggestion: string) => notYetUnless(() => false, suggestion);

/** As {@link notYet}, but a value that leaves the part switched off is accepted. */
export const notYetUnless = (isOff: (value: unknown) => boolean, suggestion: string) =>
  z
    .unknown()
    .superRefine((value, ctx) => {
      if (value !== undefined && !isOff(value)) refuseNotYet(ctx, suggestion);
    })
    .optional();

export function refuseNotYet(
  ctx: z.core.$RefinementCtx,
  suggestion: string,
  path: PropertyKey[] = [],
): void {
  // No part that is not built has a secret for its value.
  const params: IssueParams = { suggestion, quotable: true };
  ctx.addIssue({ code: 'custom', message: 'is not supported yet', path, params: { ...params } });
}

/** A switch that can only be off. */
export const switchedOff = (suggestion: string) => notYetUnless(isFalse, suggestion);

export function isFalse(value: unknown): boolean {
  const reading = toggle(value);
  return reading.ok && !reading.value;
}

export const isEmptyList = (value: unknown): boolean => Array.isArray(value) && value.length === 0;

/** A table of a part that is off: its keys are known, their values have no effect. */
export const idleTable = <const Keys extends readonly string[]>(keys: Keys) =>
  Object.fromEntries(keys.map((key) => [key, z.unknown().optional()])) as {
    // `fromEntries` forgets which keys it was given.
    [Key in Keys[number]]: z.ZodOptional<z.ZodUnknown>;
  };

export const strings = z.array(z.string());
export const stringMap = z.record(z.string(), z.string());

const GLOB_ADVICE = 'Write a glob such as "delete_*", "db_[a-z]*" or "{move,remove}_file".';

/** Tool names by globset's syntax, compiled here so that a bad pattern stops the start. */
export const glob = field<string>((value) => {
  if (typeof value !== 'string' || value === '') return text('"delete_*"')(value);
  try {
    compileGlob(value);
    return { ok: true, value };
  } catch (error) {
    if (!(error instanceof GlobSyntaxError)) throw error;
    return { ok: false, problem: error.message, suggestion: GLOB_ADVICE };
  }
});

/** Drops the keys that are undefined, so that "absent" has one form. */
export function present<T extends object>(fields: T): Present<T> {
  const kept = Object.entries(fields).filter(([, value]) => value !== undefined);
  // `fromEntries` forgets the keys; the filter is what `Present` says.
  return Object.fromEntries(kept) as Present<T>;
}

type Present<T> = {
  [Key in keyof T as undefined extends T[Key] ? never : Key]: T[Key];
} & {
  [Key in keyof T as undefined extends T[Key] ? Key : never]?: Exclude<T[Key], undefined>;
};
