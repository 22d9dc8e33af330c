import * as z from 'zod';
import type { AuthConfig, AuthKeyConfig, AuthScope } from '../../auth.ts';
import { nearest } from '../../nearest.ts';
import { TENANT_BYTES_MAX } from '../ranges.ts';
import { integer, type Reader, text } from '../values.ts';
import { field, table } from './fields.ts';

const HOW_TO_HASH =
  'Write "sha256:" and the 64 digits that this prints: printf %s "$KEY" | sha256sum (your key in KEY).';

const HASH = /^sha256:([0-9a-fA-F]{64})$/;

/** Gives the digits alone, in lower case. What is refused may be a key, so it is never shown. */
const hash: Reader<string> = (value) => {
  const digits = typeof value === 'string' ? HASH.exec(value)?.[1] : undefined;
  if (digits !== undefined) return { ok: true, value: digits.toLowerCase() };
  return { ok: false, problem: 'is not "sha256:" and 64 hex digits', suggestion: HOW_TO_HASH };
};

const TENANT_EXAMPLE = '"my-team"';
const oneLine = text(TENANT_EXAMPLE);

/** Empty is what an absent one is. */
const tenant: Reader<string> = (value) => {
  if (value === '') return { ok: true, value };
  const reading = oneLine(value);
  if (!reading.ok || Buffer.byteLength(reading.value) <= TENANT_BYTES_MAX) return reading;
  const suggestion = `Choose a shorter one: ${TENANT_EXAMPLE}.`;
  return { ok: false, problem: `is longer than ${TENANT_BYTES_MAX} bytes`, suggestion };
};

const SCOPES: readonly AuthScope[] = [
  'chat',
  'runs:read',
  'runs:control',
  'approvals:decide',
  'admin',
];
const KNOWN_SCOPES = `Use ${SCOPES.map((scope) => `"${scope}"`).join(', ')}.`;

/** Shows nothing of what it refuses either. */
const scope: Reader<AuthScope> = (value) => {
  const found = SCOPES.find((known) => known === value);
  if (found !== undefined) return { ok: true, value: found };
  const close = typeof value === 'string' ? nearest(value, SCOPES) : undefined;
  const suggestion =
    close === undefined ? KNOWN_SCOPES : `Did you mean "${close}"? ${KNOWN_SCOPES}`;
  return { ok: false, problem: 'is not a known scope', suggestion };
};

/** What lists say that are missing, are no lists, or have nothing in them. */
const listOf = <Item extends z.ZodType>(item: Item, advice: string) =>
  z
    .unknown()
    .superRefine((value, ctx) => {
      const problem = listProblem(value);
      if (problem === undefined) return;
      ctx.addIssue({ code: 'custom', message: problem, params: { suggestion: advice } });
    })
    .pipe(z.array(item));

function listProblem(value: unknown): string | undefined {
  if (value === undefined) return 'is missing';
  if (!Array.isArray(value)) return 'is not a list';
  return value.length === 0 ? 'is empty' : undefined;
}

const HASH_ONLY = `Only the hash of a key is kept, in hash. ${HOW_TO_HASH}`;

const key = table(
  {
    name: field(text('"ci"')),
    hash: field(hash, { problem: 'is missing', suggestion: HOW_TO_HASH }),
    tenant: field(tenant).optional(),
    scopes: listOf(field(scope), `Say what the key may do. ${KNOWN_SCOPES}`),
  },
  { key: HASH_ONLY, api_key: HASH_ONLY, token: HASH_ONLY, secret: HASH_ONLY },
).transform(({ tenant: owner = '', ...rest }): AuthKeyConfig => ({ ...rest, tenant: owner }));

/** Two keys of one hash are one key with two answers to what it may do. */
function refuseTwins(keys: readonly AuthKeyConfig[], ctx: z.core.$RefinementCtx): void {
  const advice = { name: 'Give each key its own name.', hash: 'Make a key for each entry.' };
  for (const part of ['name', 'hash'] as const) {
    const first = new Map<string, number>();
    keys.forEach(({ [part]: value }, index) => {
      const other = first.get(value);
      if (other === undefined) first.set(value, index);
      else refuseTwin(ctx, { path: [index, part], other, suggestion: advice[part] });
    });
  }
}

interface Twin {
  readonly path: readonly [number, keyof AuthKeyConfig];
  readonly other: number;
  readonly suggestion: string;
}

function refuseTwin(ctx: z.core.$RefinementCtx, { path, other, suggestion }: Twin): void {
  const message = `is the same as that of auth.keys[${other}]`;
  ctx.addIssue({ code: 'custom', message, path: [...path], params: { suggestion } });
}

const count = field(integer({ min: 0, max: Number.MAX_SAFE_INTEGER, note: '0 is no limit' }));

const limits = table({
  live_runs: count.optional(),
  requests_per_minute: count.optional(),
  stored_bytes: count.optional(),
});

const NO_KEYS =
  'Write [[auth.keys]] with name, hash and scopes for each key, or leave [auth] out to stay open.';

/** `[auth]`; that it is there closes the server to everyone without a key. */
export const authSchema = table({
  keys: listOf(key, NO_KEYS).superRefine(refuseTwins),
  limits: limits.optional(),
}).transform(
  ({ keys, limits: most = {} }): AuthConfig => ({
    keys,
    tenants: {
      liveRunsMax: most.live_runs ?? 0,
      requestsPerMinuteMax: most.requests_per_minute ?? 0,
      storedBytesMax: most.stored_bytes ?? 0,
    },
  }),
);
