import * as z from 'zod';
import type { ApprovalRule } from '../config.ts';
import type { JsonScalar, RuleCondition } from '../../hitl/rules.ts';
import { compilePattern, PatternSyntaxError } from '../../hitl/rules/pattern.ts';
import { compilePointer, PointerSyntaxError } from '../../hitl/rules/pointer.ts';
import { decimal, oneOf, type Reader, type Reading } from '../values.ts';
import { field, glob, type IssueParams, table } from './fields.ts';

const POINTER_ADVICE = 'Write a JSON pointer into the arguments, such as "/path" or "/items/0/id".';

const pointer: Reader<string> = (value) => {
  if (typeof value !== 'string') {
    return { ok: false, problem: 'is not a string', suggestion: POINTER_ADVICE };
  }
  try {
    compilePointer(value);
    return { ok: true, value };
  } catch (error) {
    if (!(error instanceof PointerSyntaxError)) throw error;
    return { ok: false, problem: error.message, suggestion: POINTER_ADVICE, quotable: true };
  }
};

const PATTERN_ADVICE =
  'Write a regular expression in RE2\'s syntax, such as "^/etc/" or "(?i)drop table"; it has no look-around and no back references.';

const pattern: Reader<string> = (value) => {
  if (typeof value !== 'string') {
    return { ok: false, problem: 'is not a string', suggestion: PATTERN_ADVICE };
  }
  try {
    compilePattern(value);
    return { ok: true, value };
  } catch (error) {
    if (!(error instanceof PatternSyntaxError)) throw error;
    return { ok: false, problem: error.message, suggestion: PATTERN_ADVICE };
  }
};

const SCALAR_ADVICE = 'Write a string, a number, true or false.';

const isScalar = (value: unknown): value is JsonScalar =>
  value === null ||
  typeof value === 'string' ||
  typeof value === 'boolean' ||
  Number.isFinite(value);

/** TOML has no null, and a program may mean it. TOML also has dates, `inf` and `nan` and longer integers, and no argument in JSON equals one. */
const scalar: Reader<JsonScalar> = (value) => {
  if (isScalar(value)) return { ok: true, value };
  const problem = 'is neither a string nor a number nor a boolean';
  return { ok: false, problem, suggestion: SCALAR_ADVICE };
};

const LIST_ADVICE = 'Write what it may be, in brackets: ["staging", "test"].';

const scalars: Reader<readonly JsonScalar[]> = (value) => {
  const wrong = (problem: string) => ({ ok: false, problem, suggestion: LIST_ADVICE }) as const;
  if (!Array.isArray(value)) return wrong('is not a list');
  if (value.length === 0) return wrong('is empty');
  return value.every(isScalar)
    ? { ok: true, value }
    : wrong('holds something else than strings, numbers and booleans');
};

const finite = decimal({ min: -Number.MAX_VALUE, max: Number.MAX_VALUE });

const BOUND_ADVICE = 'Write a number: 10 or 0.5.';

const bound: Reader<number> = (value) => {
  const reading = finite(value);
  return reading.ok ? reading : { ...reading, suggestion: BOUND_ADVICE };
};

/** What a program gives is used as it is, so text does not stand for a number. */
const strictBound: Reader<number> = (value) =>
  typeof value === 'number'
    ? bound(value)
    : { ok: false, problem: 'is not a number', suggestion: BOUND_ADVICE, quotable: true };

const conditionWith = (readBound: Reader<number>) =>
  table({
    pointer: field(pointer),
    op: field(oneOf(['eq', 'ne', 'in', 'matches', 'gt', 'lt'])),
    value: z.unknown().optional(),
  }).transform((written, ctx) => toCondition(written, ctx, readBound));

interface Written {
  readonly pointer: string;
  readonly op: RuleCondition['op'];
  readonly value?: unknown;
}

function toCondition(
  { pointer: at, op, value }: Written,
  ctx: z.core.$RefinementCtx,
  readBound: Reader<number>,
): RuleCondition {
  const use = <T>(reading: Reading<T>, make: (read: T) => RuleCondition): RuleCondition => {
    if (reading.ok) return make(reading.value);
    refuseValue(ctx, op, value === undefined ? MISSING : reading);
    return z.NEVER;
  };
  switch (op) {
    case 'eq':
    case 'ne':
      return use(scalar(value), (read) => ({ pointer: at, op, value: read }));
    case 'in':
      return use(scalars(value), (read) => ({ pointer: at, op, value: read }));
    case 'matches':
      return use(pattern(value), (read) => ({ pointer: at, op, value: read }));
    case 'gt':
    case 'lt':
      return use(readBound(value), (read) => ({ pointer: at, op, value: read }));
  }
}

type Refusal = Extract<Reading<never>, { ok: false }>;

const MISSING: Refusal = {
  ok: false,
  problem: 'is missing',
  suggestion: 'Say what is compared with.',
};

function refuseValue(
  ctx: z.core.$RefinementCtx,
  op: string,
  { problem, suggestion, quotable = false }: Refusal,
): void {
  const params: IssueParams = { suggestion, quotable };
  const message = `(of op = "${op}") ${problem}`;
  ctx.addIssue({ code: 'custom', message, path: ['value'], params: { ...params } });
}

const NO_TOOLS = 'List the tools that the rule is for, such as ["delete_*"].';

const ruleWith = (readBound: Reader<number>) =>
  table({
    tools: z.array(glob).superRefine((globs, ctx) => {
      if (globs.length > 0) return;
      ctx.addIssue({ code: 'custom', message: 'is empty', params: { suggestion: NO_TOOLS } });
    }),
    when: z.array(conditionWith(readBound)).optional(),
    effect: field(oneOf(['approve', 'deny', 'allow'])),
  }).transform(({ tools, when = [], effect }): ApprovalRule => ({ tools, when, effect }));

/** `[[hitl.rules]]`, in their order. */
export const rulesSchema = z.array(ruleWith(bound));

/** The same as a program gives them: what it accepts may be used as it was given. */
export const givenRulesSchema = z.array(ruleWith(strictBound));
