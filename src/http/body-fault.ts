import type { z } from 'zod';
import { isEchoable } from './echo.ts';
import { badRequest, type HttpError } from './errors.ts';

/**
 * What is wrong with a body, as a 400 that names the field. Every route says it in these words;
 * the validator's own never reach a client. Limits of a schema are `refine`s, whose messages
 * continue the sentence that begins with the field's name ("must not be negative").
 */
export function refusalOf(issue: z.core.$ZodIssue | undefined): HttpError {
  if (issue === undefined) return badRequest('The body is not what this path takes.');
  if (issue.code === 'unrecognized_keys') return unknownKey(issue);
  const param = pathOf(issue.path);
  if (param === '') return notAnObject(issue.input);
  return badRequest(`\`${param}\` ${faultOf(issue)}.`, param);
}

/** 400 for a body of another kind. */
export const notAnObject = (body: unknown): HttpError =>
  badRequest(`The body must be a JSON object, not ${kindOf(body)}.`);

function unknownKey({ path, keys }: z.core.$ZodIssueUnrecognizedKeys): HttpError {
  const param = pathOf([...path, keys[0] ?? '']);
  return badRequest(`Unknown key \`${param}\` in the body; leave it out.`, param);
}

function faultOf(issue: z.core.$ZodIssue): string {
  switch (issue.code) {
    case 'custom':
      return issue.message;
    case 'invalid_type':
      return typeFault(issue);
    case 'invalid_value':
      return `must be ${issue.values.map((value) => `"${String(value)}"`).join(' or ')}`;
    default:
      return 'is not valid';
  }
}

function typeFault({ input, expected }: z.core.$ZodIssueInvalidType): string {
  const wanted = EXPECTED[expected];
  if (input === undefined)
    return `is missing${wanted === undefined ? '' : `; it must be ${wanted}`}`;
  if (wanted === undefined) return 'is of the wrong type';
  // JSON has no infinity, but its numbers may be too large for ours.
  const isBoundless = typeof input === 'number' && !Number.isFinite(input);
  if (isBoundless && expected === 'number') return input > 0 ? 'is too large' : 'is too small';
  return `must be ${wanted}, not ${kindOf(input)}`;
}

const EXPECTED: Readonly<Record<string, string>> = {
  string: 'a string',
  number: 'a number',
  boolean: 'true or false',
  array: 'an array',
  object: 'an object',
  record: 'an object',
};

function kindOf(value: unknown): string {
  if (value === null) return 'null';
  if (Array.isArray(value)) return 'an array';
  return EXPECTED[typeof value] ?? 'nothing';
}

/** `messages[0].content`. */
function pathOf(path: readonly PropertyKey[]): string {
  return path.reduce<string>((text, key) => {
    if (typeof key === 'number') return `${text}[${key}]`;
    const name = shown(String(key));
    return text === '' ? name : `${text}.${name}`;
  }, '');
}

const SHOWN_CHARS_MAX = 64;

/** A key of the request for a message. One that is not fit to be sent back is cut to its fit beginning. */
export function shown(key: string): string {
  if (isEchoable(key)) return key;
  return `${key.slice(0, SHOWN_CHARS_MAX).replaceAll(/[\p{Cc}\p{Cs}]/gu, '?')}…`;
}
