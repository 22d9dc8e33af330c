import type { Decision } from '../../../machines/vocabulary.ts';
import { hasInfinity, isTooDeep, JSON_DEPTH_MAX } from '../../json-depth.ts';
import type { WebhookQuestion } from '../channel.ts';
import { QUOTED_CHARS_MAX, REASON_BYTES_MAX } from './limits.ts';

/** What of the question says which keys its answer may have. */
export type AnswerRules = Pick<WebhookQuestion, 'may' | 'origin'>;

export type ReadDecision =
  | { readonly kind: 'decision'; readonly decision: Decision }
  /** A sentence that names the key that is wrong. */
  | { readonly kind: 'unreadable'; readonly message: string };

/**
 * Reads the body of a webhook's answer. Everything in it must be understood: a key that is not known
 * here may have been meant as a condition. `null` stands for an absent key. A denial keeps its reason and
 * nothing else.
 */
export function readDecision(body: Uint8Array, rules: AnswerRules): ReadDecision {
  const value = parse(body);
  if (value === undefined) return unreadable('is not JSON');
  if (!isRecord(value)) return unreadable('is not a JSON object');
  const problem = problemOf(value, rules);
  if (problem !== undefined) return unreadable(problem);
  return { kind: 'decision', decision: decisionOf(value) };
}

const unreadable = (problem: string): ReadDecision => ({
  kind: 'unreadable',
  message: `the webhook's answer ${problem}`,
});

function parse(body: Uint8Array): unknown {
  try {
    return JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(body));
  } catch {
    return undefined;
  }
}

type JsonObject = Readonly<Record<string, unknown>>;

const isRecord = (value: unknown): value is JsonObject =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

function problemOf(value: JsonObject, rules: AnswerRules): string | undefined {
  const unknown = Object.keys(value).find((key) => !KEYS.has(key));
  if (unknown !== undefined) return `has the unknown key ${quoted(unknown)}`;
  if (typeof value['approved'] !== 'boolean') return 'needs "approved", which is true or false';
  if (isTooDeep(value)) return `nests deeper than ${JSON_DEPTH_MAX} levels`;
  if (hasInfinity(value)) return 'holds a number that is too large';
  return [...KEYS]
    .filter(([key]) => isPresent(value[key]))
    .map(([key, check]) => check(value[key], rules))
    .find((problem) => problem !== undefined);
}

type Check = (value: unknown, rules: AnswerRules) => string | undefined;

/** The keys of an answer, each with what may be wrong with it. */
const KEYS: ReadonlyMap<string, Check> = new Map<string, Check>([
  ['approved', () => undefined],
  ['reason', (reason) => reasonProblem(reason)],
  [
    'grant',
    (grant, { may }) => {
      if (!may.grant) return 'may not have "grant"; allow_session_grants is off for this approval';
      return grant === 'session' ? undefined : 'has a "grant" that is not "session"';
    },
  ],
  [
    'arguments',
    (value, { may }) => {
      if (!may.edit)
        return 'may not have "arguments"; allow_argument_edits is off for this approval';
      return isRecord(value) ? undefined : 'has "arguments" that are not a JSON object';
    },
  ],
  [
    'content',
    (value, { origin }) => {
      if (origin.kind !== 'elicitation') return 'may not have "content"; it answers no elicitation';
      return isRecord(value) ? undefined : 'has a "content" that is not a JSON object';
    },
  ],
]);

function reasonProblem(reason: unknown): string | undefined {
  if (typeof reason !== 'string') return 'has a "reason" that is not a text';
  const isLong = Buffer.byteLength(reason) > REASON_BYTES_MAX;
  return isLong ? `has a "reason" longer than ${REASON_BYTES_MAX} bytes` : undefined;
}

/** {@link problemOf} has checked all of it. */
function decisionOf(value: JsonObject): Decision {
  const { approved, ...said } = value as unknown as Decision;
  const given = Object.fromEntries(Object.entries(said).filter(([, item]) => isPresent(item)));
  if (approved) return { approved, ...given, by: 'webhook' };
  return { approved, ...(isPresent(said.reason) && { reason: said.reason }), by: 'webhook' };
}

/** A type guard for what JSON gave: `null` is as absent as no key at all. */
const isPresent = <Value>(value: Value): value is NonNullable<Value> =>
  value !== undefined && value !== null;

const quoted = (text: string): string => JSON.stringify(text.slice(0, QUOTED_CHARS_MAX));
