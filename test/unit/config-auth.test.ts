import { createHash } from 'node:crypto';
import { inspect } from 'node:util';
import { describe, expect, it } from 'vitest';
import { secretsOf } from '../../src/config/redact.ts';
import { configOf, HASH, issuesOf, keyText, MINIMAL } from '../support/config-kit.ts';

const DIGITS = HASH.slice('sha256:'.length);

/** Five lines of an agent, so that what follows begins on line 6. */
const authOf = (text: string) => configOf(`${MINIMAL}${text}`).auth;
const issuesIn = (text: string): readonly string[] => issuesOf(`${MINIMAL}${text}`);

const HOW_TO_HASH =
  'Write "sha256:" and the 64 digits that this prints: printf %s "$KEY" | sha256sum (your key in KEY).';
const SCOPES = 'Use "chat", "runs:read", "runs:control", "approvals:decide", "admin".';
const NO_KEYS =
  'Write [[auth.keys]] with name, hash and scopes for each key, or leave [auth] out to stay open.';

describe('configuration: keys', () => {
  it('leaves the server open without the table', () => {
    expect(configOf(MINIMAL)).not.toHaveProperty('auth');
  });

  it('takes every key of an entry and every limit', () => {
    const text = `[[auth.keys]]
name = "ops"
hash = "sha256:${DIGITS.toUpperCase()}"
tenant = "red"
scopes = ["chat", "runs:read", "runs:control", "approvals:decide", "admin"]
[auth.limits]
live_runs = 5
requests_per_minute = "60"
stored_bytes = 1000000
`;
    expect(authOf(text)).toEqual({
      keys: [
        {
          name: 'ops',
          hash: DIGITS,
          tenant: 'red',
          scopes: ['chat', 'runs:read', 'runs:control', 'approvals:decide', 'admin'],
        },
      ],
      tenants: { liveRunsMax: 5, requestsPerMinuteMax: 60, storedBytesMax: 1_000_000 },
    });
  });

  it('limits nothing, and takes the tenant of the open server, where nobody says otherwise', () => {
    expect(authOf(keyText())).toEqual({
      keys: [{ name: 'ci', hash: DIGITS, tenant: '', scopes: ['chat'] }],
      tenants: { liveRunsMax: 0, requestsPerMinuteMax: 0, storedBytesMax: 0 },
    });
    expect(authOf(keyText({ more: 'tenant = ""' }))?.keys[0]?.tenant).toBe('');
  });

  it('takes a hash from the environment', () => {
    const text = `${MINIMAL}${keyText({ hash: '{{ env.CI_KEY_HASH }}' })}`;
    expect(configOf(text, { env: { CI_KEY_HASH: HASH } }).auth?.keys[0]?.hash).toBe(DIGITS);
  });

  it('keeps the digest of the key that its hash was made of', () => {
    const digest = createHash('sha256').update('rw-a-long-random-key').digest('hex');
    expect(authOf(keyText({ hash: `sha256:${digest}` }))?.keys[0]?.hash).toBe(digest);
  });

  it('takes a tenant of 64 bytes, counted in UTF-8', () => {
    const tenant = 'é'.repeat(32);
    expect(authOf(keyText({ more: `tenant = "${tenant}"` }))?.keys[0]?.tenant).toBe(tenant);
    expect(issuesIn(keyText({ more: `tenant = "${tenant}x"` }))).toEqual([
      'a.toml:10: auth.keys[0].tenant is longer than 64 bytes. Choose a shorter one: "my-team".',
    ]);
  });

  it('is frozen, and prints its hashes neither as JSON nor in a log', () => {
    const config = configOf(`${MINIMAL}${keyText()}`);
    const { auth } = config;
    for (const part of [auth, auth?.keys, auth?.keys[0], auth?.keys[0]?.scopes, auth?.tenants]) {
      expect(Object.isFrozen(part)).toBe(true);
    }
    for (const printed of [JSON.stringify(config), inspect(config, { depth: 20 })]) {
      expect(printed).not.toContain(DIGITS);
      expect(printed).toMatch(/hash['"]?: ?['"]\[redacted\]/);
    }
    expect(secretsOf(config)).toEqual([DIGITS]);
  });
});

describe('configuration: keys that are refused', () => {
  it.each([
    ['[auth]', `a.toml:6: auth.keys is missing. ${NO_KEYS}`],
    ['[auth]\nkeys = []', `a.toml:7: auth.keys is empty. ${NO_KEYS}`],
    ['[auth.limits]\nlive_runs = 1', `a.toml:6: auth.keys is missing. ${NO_KEYS}`],
    ['[auth.keys]\nname = "ci"', `a.toml:6: auth.keys is not a list. ${NO_KEYS}`],
    [
      '[auth]\nkeys = ["x"]',
      'a.toml:7: auth.keys[0] is not a table. Write its keys under a [heading] of that name.',
    ],
    [keyText({ name: ' ' }), 'a.toml:7: auth.keys[0].name is empty. Give it a value: "ci".'],
    [
      keyText({ more: 'tenant = 3' }),
      'a.toml:10: auth.keys[0].tenant is not a string. Write it in quotes: "my-team".',
    ],
    [
      keyText({ more: String.raw`tenant = "a\u001fb"` }),
      'a.toml:10: auth.keys[0].tenant holds a control character, such as a line break or a tab. Write it on one line: "my-team".',
    ],
    [
      keyText({ more: 'tenat = "a"' }),
      'a.toml:10: auth.keys[0].tenat is not a known key. Did you mean "tenant"?',
    ],
    [
      keyText().replace('["chat"]', '[]'),
      `a.toml:9: auth.keys[0].scopes is empty. Say what the key may do. ${SCOPES}`,
    ],
    [
      keyText().replace('["chat"]', '"chat"'),
      `a.toml:9: auth.keys[0].scopes is not a list. Say what the key may do. ${SCOPES}`,
    ],
    [
      keyText().replace('scopes = ["chat"]', ''),
      `a.toml:6: auth.keys[0].scopes is missing. Say what the key may do. ${SCOPES}`,
    ],
    [
      keyText().replace('"chat"', '"chat", "run:read"'),
      `a.toml:9: auth.keys[0].scopes[1] is not a known scope. Did you mean "runs:read"? ${SCOPES}`,
    ],
    [
      keyText().replace('"chat"', '"everything"'),
      `a.toml:9: auth.keys[0].scopes[0] is not a known scope. ${SCOPES}`,
    ],
    [
      `${keyText()}[auth.limits]\nlive_runs = -1`,
      'a.toml:12: auth.limits.live_runs is out of range: -1. Use a whole number from 0 to 9007199254740991; 0 is no limit.',
    ],
    [
      `${keyText()}[auth.limits]\nrequests_per_minute = 0.5`,
      'a.toml:12: auth.limits.requests_per_minute is not a whole number: 0.5. Use a whole number from 0 to 9007199254740991; 0 is no limit.',
    ],
    [
      `${keyText()}[auth.limits]\nstored_byte = 1`,
      'a.toml:12: auth.limits.stored_byte is not a known key. Did you mean "stored_bytes"?',
    ],
  ])('refuses %j', (text, expected) => {
    expect(issuesIn(text)).toEqual([expected]);
  });

  it('refuses two keys of one name and two of one hash, whatever its letters', () => {
    const other = HASH.replace('sha256:0', 'sha256:f');
    const upper = HASH.toUpperCase().replace('SHA', 'sha');
    expect(issuesIn(keyText() + keyText({ hash: other }))).toEqual([
      'a.toml:12: auth.keys[1].name is the same as that of auth.keys[0]. Give each key its own name.',
    ]);
    expect(issuesIn(keyText() + keyText({ name: 'b', hash: upper }))).toEqual([
      'a.toml:13: auth.keys[1].hash is the same as that of auth.keys[0]. Make a key for each entry.',
    ]);
    expect(issuesIn(keyText() + keyText({ name: 'b', hash: other }))).toEqual([]);
  });

  it.each([
    ['sk-live-secret'],
    ['sha256:sk-live-secret'],
    [DIGITS],
    [HASH.slice(0, -1)],
    [`${HASH}0`],
    [` ${HASH}`],
    [HASH.replace('a', 'g')],
    [HASH.replace('sha256', 'sha512')],
    [HASH.toUpperCase()],
    [''],
  ])('refuses %j for a hash, says how to make one and does not repeat it', (hash) => {
    expect(issuesIn(keyText({ hash }))).toEqual([
      `a.toml:8: auth.keys[0].hash is not "sha256:" and 64 hex digits. ${HOW_TO_HASH}`,
    ]);
  });

  it('says how to make a hash that is missing', () => {
    expect(issuesIn(keyText().replace(/hash = .*/, ''))).toEqual([
      `a.toml:6: auth.keys[0].hash is missing. ${HOW_TO_HASH}`,
    ]);
  });

  it.each(['key', 'api_key', 'token', 'secret'])('answers the key itself, given as %s', (name) => {
    const issues = issuesIn(keyText({ more: `${name} = "sk-live-secret"` }));
    expect(issues).toEqual([
      `a.toml:10: auth.keys[0].${name} is not a known key. Only the hash of a key is kept, in hash. ${HOW_TO_HASH}`,
    ]);
  });

  it('repeats no key, wherever in an entry it was written', () => {
    const secret = '"sk-live-secret"';
    const entry = `[[auth.keys]]\nname = [${secret}]\nhash = ${secret}\ntenant = [${secret}]\nscopes = [${secret}]\n`;
    const templated = entry.replaceAll(secret, '"{{ env.KEY }}"');
    const told = { env: { KEY: 'sk-live-secret' } };
    expect(issuesIn(entry)).toHaveLength(4);
    expect(issuesIn(entry).join()).not.toContain('sk-live');
    expect(issuesOf(`${MINIMAL}${templated}`, told).join()).not.toContain('sk-live');
    expect(issuesIn(`[auth]\nkeys = [${secret}]`).join()).not.toContain('sk-live');
    expect(issuesIn(`[auth]\nkeys = ${secret}`).join()).not.toContain('sk-live');
  });
});
