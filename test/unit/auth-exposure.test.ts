import { describe, expect, it } from 'vitest';
import type { AuthConfig } from '../../src/auth.ts';
import { exposureWarning, exposureWarnings } from '../../src/http/auth/exposure.ts';
import { isLoopback, plainHost } from '../../src/http/auth/loopback.ts';

const auth: AuthConfig = {
  keys: [{ name: 'ops', hash: '0'.repeat(64), tenant: '', scopes: ['admin'] }],
  tenants: { liveRunsMax: 0, requestsPerMinuteMax: 0, storedBytesMax: 0 },
};

const LOOPBACK = [
  'localhost',
  'LocalHost',
  'localhost.',
  'app.localhost',
  '127.0.0.1',
  '127.8.8.8',
  '127.1',
  '::1',
  '[::1]',
  '0:0:0:0:0:0:0:1',
  '::ffff:127.0.0.1',
];

const ELSEWHERE = [
  '0.0.0.0',
  '::',
  '10.0.0.1',
  '128.0.0.1',
  '::2',
  '::ffff:10.0.0.1',
  'agents.example',
  'localhost.example',
  '127.0.0.1.example',
  'notlocalhost',
  '',
  'a b',
];

describe('a loopback host', () => {
  it.each(LOOPBACK)('is %s', (host) => expect(isLoopback(host)).toBe(true));
  it.each(ELSEWHERE)('is not "%s"', (host) => expect(isLoopback(host)).toBe(false));
});

it.each([
  ['Agents.Example:8080', 'agents.example'],
  ['agents.example.', 'agents.example'],
  ['[::1]:8080', '[::1]'],
  ['', undefined],
  ['a b', undefined],
  ['x@127.0.0.1', undefined],
])('the plain host of "%s" is %s', (authority, host) => expect(plainHost(authority)).toBe(host));

describe('the warning at start', () => {
  it.each(['0.0.0.0', '::', 'agents.example'])('says what is open on %s', (host) => {
    const warning = exposureWarning({ host }, `http://${host}:8080`);
    expect(warning).toContain(`anybody who reaches http://${host}:8080 can start runs`);
    for (const what of ['read every conversation', 'cancel runs', 'decide approvals', '[auth]']) {
      expect(warning).toContain(what);
    }
  });

  it.each(LOOPBACK)('is not given on %s', (host) => {
    expect(exposureWarning({ host }, 'http://localhost:8080')).toBeUndefined();
  });

  it('does not say that strangers decide where decisions are signed', () => {
    const webhookSigning = { secret: 'rw-secret'.repeat(4), toleranceMs: 1 };
    const warning = exposureWarning({ host: '0.0.0.0', webhookSigning }, 'http://0.0.0.0:8080');
    expect(warning).toContain('read what waits for approval');
    expect(warning).not.toContain('decide approvals');
    expect(warning).not.toContain('rw-secret');
  });

  it('is not given when keys are asked for', () => {
    expect(exposureWarning({ host: '0.0.0.0', auth }, 'http://0.0.0.0:8080')).toBeUndefined();
  });
});

describe('the warning of a header that says who decides', () => {
  const deciderHeader = 'x-user';
  const webhookSigning = { secret: 'rw-secret'.repeat(4), toleranceMs: 1 };

  it('is given on loopback too, where nothing else is asked of who decides', () => {
    const [warning, ...more] = exposureWarnings({ host: '127.0.0.1', deciderHeader }, 'http://x');
    expect(warning).toContain('header x-user');
    expect(warning).toContain('anybody can set it unless a proxy in front strips it');
    expect(more).toEqual([]);
  });

  it('stands beside what else is open', () => {
    expect(exposureWarnings({ host: '0.0.0.0', deciderHeader }, 'http://x')).toHaveLength(2);
  });

  it.each([{}, { deciderHeader, auth }, { deciderHeader, webhookSigning }])(
    'is not given for %j',
    (config) => {
      expect(exposureWarnings({ host: '127.0.0.1', ...config }, 'http://x')).toEqual([]);
    },
  );
});
