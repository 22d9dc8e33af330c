import fc from 'fast-check';
import { stringify } from 'smol-toml';
import { describe, expect, it } from 'vitest';
import { formatPath } from '../../src/config/issue.ts';
import { editDistance } from '../../src/nearest.ts';
import { RETENTION_SECONDS_MAX } from '../../src/config/ranges.ts';
import { SETTINGS } from '../../src/config/settings.ts';
import { SECONDS_MAX } from '../../src/config/values.ts';
import { configOf, HASH, issuesOf, MINIMAL } from '../support/config-kit.ts';

/** Has every table that the schema knows, so that a stray key can be put into each. */
const everything = (): Record<string, unknown> => ({
  agent: {
    name: 'a',
    system_prompt: 'Be kind.',
    llm: { provider: 'openai', api_key: 'k', model: 'm' },
    scratchpad: { enabled: false },
    skills: { local: [] },
  },
  mcp: {
    servers: {
      one: { transport: 'stdio', cmd: ['x'] },
      'two words': { transport: 'sse', url: 'http://h/' },
    },
  },
  hitl: {
    rules: [{ tools: ['a'], effect: 'deny', when: [{ pointer: '/a', op: 'eq', value: 1 }] }],
    route: { mode: 'webhook', url: 'https://h/', headers: {}, headers_from_request: {} },
  },
  tools: { filesystem: false },
  orchestration: { enabled: false },
  runtime: {
    timeouts: {},
    tools: { 'slow_*': {} },
    crash: {},
    on_busy: {},
    journal: {},
    liveness: { chat: {}, headless: {} },
    park: {},
  },
  auth: { keys: [{ name: 'ci', hash: HASH, scopes: ['chat'] }], limits: {} },
});

/** Maps of names that the operator chooses: any key is known there. */
const OPEN_TABLES: ReadonlySet<string> = new Set([
  'mcp.servers',
  'runtime.tools',
  'hitl.route.headers',
  'hitl.route.headers_from_request',
]);

function tablesOf(tree: object, path: (string | number)[] = []): (string | number)[][] {
  const isList = Array.isArray(tree);
  const inner = Object.entries(tree).flatMap(([key, value]: [string, unknown]) =>
    typeof value === 'object' && value !== null
      ? tablesOf(value, [...path, isList ? Number(key) : key])
      : [],
  );
  const isOpen = isList || path.length === 0 || OPEN_TABLES.has(path.join('.'));
  return isOpen ? inner : [path, ...inner];
}

type Table = Record<string | number, unknown>;

const tableAt = (tree: Table, path: readonly (string | number)[]): Table =>
  path.reduce((table, key) => table[key] as Table, tree);

const table = fc.constantFrom(...tablesOf(everything()));
const strayKey = fc
  .string({ minLength: 1, maxLength: 12, unit: fc.constantFrom(...'abcdefxyz_-. "é'.split('')) })
  .map((text) => `zz${text}`);
const value = fc.oneof(fc.integer(), fc.boolean(), fc.string(), fc.constant([]), fc.constant({}));

describe('configuration: any stray key', () => {
  it('accepts the document without one', () => {
    expect(issuesOf(stringify(everything()))).toEqual([]);
  });

  it('is refused and named in every known table', () => {
    fc.assert(
      fc.property(table, strayKey, value, (path, key, stray) => {
        const tree = everything();
        tableAt(tree, path)[key] = stray;
        const text = stringify(tree);
        const [issue = '', ...others] = issuesOf(text);
        expect(others, text).toEqual([]);
        expect(issue).toContain(`: ${formatPath([...path, key])} is not a known key. `);
        const line = Number(/^a\.toml:(\d+):/.exec(issue)?.[1]);
        expect(text.split('\n')[line - 1]).toContain('zz');
      }),
      { numRuns: 500 },
    );
  });

  it('that misses one letter is answered with a known one as near', () => {
    const known = Object.values(SETTINGS).flatMap(({ toml }) =>
      toml?.[0] === 'timeouts' ? toml.slice(1) : [],
    );
    fc.assert(
      fc.property(fc.constantFrom(...known), fc.nat(), (key, at) => {
        const cut = at % key.length;
        const misspelt = key.slice(0, cut) + key.slice(cut + 1);
        fc.pre(!known.includes(misspelt));
        const [issue = ''] = issuesOf(`${MINIMAL}[runtime.timeouts]\n${misspelt} = 1`);
        const [, meant = ''] = /Did you mean "(\w+)"\?$/.exec(issue) ?? [];
        // "toal_secs" is one letter from two of them.
        expect(known).toContain(meant);
        expect(editDistance(misspelt, meant)).toBe(1);
      }),
    );
  });
});

describe('configuration: any number of seconds', () => {
  const toml = (text: string): string =>
    `${MINIMAL}[runtime.timeouts]\nstep_secs = ${text}\nsetup_secs = ${text}`;
  const inside = fc.oneof(
    fc.integer({ min: 1, max: SECONDS_MAX }),
    fc.integer({ min: 1, max: SECONDS_MAX * 1_000 }).map((ms) => ms / 1_000),
  );
  const outside = fc.oneof(
    fc.integer({ min: SECONDS_MAX + 1, max: Number.MAX_SAFE_INTEGER }),
    fc.integer({ max: -1 }),
    fc.double({ max: -Number.MIN_VALUE, noNaN: true }),
    fc.double({ min: SECONDS_MAX + 0.001, noNaN: true }),
    fc.integer({ min: 53, max: 62 }).map((power) => 2 ** power),
    fc.constantFrom(Number.NaN, Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY, 0.000_4),
  );
  /** TOML's own spelling; a float needs a point or an exponent, which JavaScript gives it. */
  const written = (number: number): string =>
    Number.isFinite(number)
      ? String(number)
      : String(number).toLowerCase().replace('infinity', 'inf');

  it('in range is taken to the millisecond, in TOML, as text and from the environment', () => {
    fc.assert(
      fc.property(inside, (secs) => {
        const stepMs = Math.round(secs * 1_000);
        const env = { RUNWARDEN_STEP_SECS: String(secs) };
        expect(configOf(toml(written(secs))).timeouts).toMatchObject({ stepMs, setupMs: stepMs });
        expect(configOf(toml(`"${secs}"`)).timeouts.stepMs).toBe(stepMs);
        expect(configOf(MINIMAL, { env }).timeouts.stepMs).toBe(stepMs);
      }),
    );
  });

  it('out of range is refused in each place (INV-34)', () => {
    fc.assert(
      fc.property(outside, (secs) => {
        expect(issuesOf(toml(written(secs)))).toHaveLength(2);
        expect(issuesOf(toml(`"${secs}"`))).toHaveLength(2);
        expect(issuesOf(MINIMAL, { env: { RUNWARDEN_STEP_SECS: String(secs) } })).toHaveLength(1);
      }),
    );
  });

  it('is never 0 milliseconds unless 0 was written', () => {
    const read = fc.constantFrom('stepMs', 'chatGraceMs', 'headlessGraceMs', 'retentionMs');
    fc.assert(
      fc.property(read, fc.double({ min: 0, max: 1, noNaN: true }), (name, secs) => {
        const reading = SETTINGS[name].read(secs);
        expect(reading.ok && reading.value === 0).toBe(secs === 0);
      }),
    );
  });

  it('is kept to the millisecond up to ten years where no timer waits for it', () => {
    const longer = fc.integer({ min: SECONDS_MAX + 1, max: RETENTION_SECONDS_MAX });
    fc.assert(
      fc.property(longer, fc.nat({ max: 999 }), (whole, ms) => {
        const secs = Math.min(whole + ms / 1_000, RETENTION_SECONDS_MAX);
        const env = { RUNWARDEN_RETENTION_SECS: String(secs) };
        expect(configOf(MINIMAL, { env }).journal.retentionMs).toBe(Math.round(secs * 1_000));
        const { length } = issuesOf(MINIMAL, { env: { RUNWARDEN_CHAT_GRACE_SECS: String(secs) } });
        expect(length).toBe(1);
      }),
    );
  });
});
