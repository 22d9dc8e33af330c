import { createHash, timingSafeEqual } from 'node:crypto';
import type { AuthKeyConfig } from '../../auth.ts';
import { SupervisorError } from '../../errors.ts';

const HASH = /^[\da-f]{64}$/;

/**
 * The keys that may call, known by their hashes alone.
 *
 * K1. Every hash is compared, each in constant time, whether or not one before it was right: how
 *     long the answer takes tells neither which key was meant nor how much of it.
 */
export class Keyring {
  readonly #entries: readonly { readonly key: AuthKeyConfig; readonly hash: Buffer }[];

  /** Throws a `SupervisorError` `invalid_config` that names the key whose hash is none. */
  constructor(keys: readonly AuthKeyConfig[]) {
    this.#entries = keys.map((key) => ({ key, hash: hashOf(key) }));
  }

  /** Whose key it is; undefined for one that nobody has. */
  find(secret: string): AuthKeyConfig | undefined {
    const digest = createHash('sha256').update(secret).digest();
    let found: AuthKeyConfig | undefined;
    for (const { key, hash } of this.#entries) {
      if (timingSafeEqual(digest, hash)) found = key;
    }
    return found;
  }
}

function hashOf({ name, hash }: AuthKeyConfig): Buffer {
  if (HASH.test(hash)) return Buffer.from(hash, 'hex');
  const message = `The hash of the key "${name}" is not 64 lower-case hex digits of SHA-256.`;
  throw new SupervisorError('invalid_config', message);
}
