import { OrderedKeys } from './ordered-keys.ts';

const END = '\u001f';

/**
 * The realm of a session: the text up to the first U+001F of its id, that included; `''` without
 * one. It is compared as a whole, so that no realm has the sessions of one whose name begins alike.
 */
export const realmOf = (sessionId: string): string =>
  sessionId.slice(0, sessionId.indexOf(END) + 1);

/** Sizes that are added up by realm, and over all. */
export class RealmSizes {
  readonly #sizes = new Map<string, number>();
  #total = 0;

  /** A negative size is taken away. */
  add(sessionId: string, size: number): void {
    this.#total += size;
    const realm = realmOf(sessionId);
    const sum = (this.#sizes.get(realm) ?? 0) + size;
    if (sum === 0) this.#sizes.delete(realm);
    else this.#sizes.set(realm, sum);
  }

  /** Of a realm, or of all. */
  total(realm?: string): number {
    return realm === undefined ? this.#total : (this.#sizes.get(realm) ?? 0);
  }

  clear(): void {
    this.#sizes.clear();
    this.#total = 0;
  }
}

const NO_KEYS = new OrderedKeys();

/** Keys that belong to sessions, in ascending order by realm, and over all. */
export class RealmKeys {
  readonly #all = new OrderedKeys();
  readonly #realms = new Map<string, OrderedKeys>();

  add(sessionId: string, key: string): void {
    const realm = realmOf(sessionId);
    const keys = this.#realms.get(realm) ?? new OrderedKeys();
    this.#all.add(key);
    keys.add(key);
    this.#realms.set(realm, keys);
  }

  /** The session is that of the {@link add}. */
  delete(sessionId: string, key: string): void {
    const realm = realmOf(sessionId);
    const keys = this.#realms.get(realm);
    this.#all.delete(key);
    keys?.delete(key);
    if (keys?.size === 0) this.#realms.delete(realm);
  }

  /** Those of a realm, or all. */
  of(realm?: string): OrderedKeys {
    return realm === undefined ? this.#all : (this.#realms.get(realm) ?? NO_KEYS);
  }
}
