import * as crypto from 'node:crypto';
import { beforeEach, describe, expect, it, vi } from 'vitest';
import type { AuthKeyConfig } from '../../src/auth.ts';
import { Keyring } from '../../src/http/auth/keyring.ts';

/** The product's own comparison, watched. */
vi.mock('node:crypto', async (importOriginal) => {
  const original = await importOriginal<typeof crypto>();
  return { ...original, timingSafeEqual: vi.fn(original.timingSafeEqual) };
});

const compared = vi.mocked(crypto.timingSafeEqual);

const hashOf = (secret: string): string => crypto.createHash('sha256').update(secret).digest('hex');

const key = (name: string, hash = hashOf(`rw-${name}-secret`)): AuthKeyConfig => ({
  name,
  hash,
  tenant: 'acme',
  scopes: ['chat'],
});

const NAMES = ['first', 'second', 'third'];
const keyring = new Keyring(NAMES.map((name) => key(name)));

beforeEach(() => {
  compared.mockClear();
});

describe('a keyring', () => {
  it.each(NAMES)('knows the %s key by its hash', (name) => {
    expect(keyring.find(`rw-${name}-secret`)?.name).toBe(name);
  });

  it.each(['', 'rw-first-secre', 'rw-first-secret ', 'RW-FIRST-SECRET', hashOf('rw-first-secret')])(
    'does not know "%s"',
    (secret) => {
      expect(keyring.find(secret)).toBeUndefined();
    },
  );

  it('compares every hash in constant time, wherever the right one stands (K1)', () => {
    for (const secret of ['rw-first-secret', 'rw-third-secret', 'nobody']) {
      compared.mockClear();
      keyring.find(secret);
      const hashes = compared.mock.calls.map(([, hash]) => Buffer.from(hash as Buffer));
      expect(hashes.map((hash) => hash.toString('hex'))).toEqual(
        NAMES.map((name) => hashOf(`rw-${name}-secret`)),
      );
    }
  });

  it('decides by that comparison alone', () => {
    for (const _ of NAMES) compared.mockReturnValueOnce(false);
    expect(keyring.find('rw-first-secret')).toBeUndefined();
  });

  it.each(['', 'abc', hashOf('x').toUpperCase(), `sha256:${hashOf('x')}`, 'rw-raw-key'])(
    'is not made of a key whose hash is "%s", and names the key, not the hash',
    (hash) => {
      const make = () => new Keyring([key('broken', hash)]);
      expect(make).toThrow(/"broken" is not 64 lower-case hex digits/);
      if (hash !== '') expect(make).not.toThrow(hash);
    },
  );
});
