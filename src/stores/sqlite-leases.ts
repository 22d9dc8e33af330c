import type { StatementSync } from 'node:sqlite';
import type { SqliteFile } from './sqlite-file.ts';
import type { AcquireOutcome, AcquireRequest, Lease } from './store.ts';

interface Token {
  readonly owner: string;
  readonly generation: number;
}

/**
 * Leases in the database, and a memory of those that were current when last looked at. Only this
 * connection can change them without {@link forget} being called.
 */
export class SqliteLeases {
  readonly #file: SqliteFile;
  readonly #acquire: StatementSync;
  readonly #get: StatementSync;
  readonly #set: StatementSync;
  readonly #current = new Map<string, Token>();

  constructor(file: SqliteFile) {
    this.#file = file;
    this.#acquire = file.prepare(
      `INSERT INTO leases VALUES (?1, ?2, 1, ?3 + ?4)
       ON CONFLICT (key) DO UPDATE SET
         owner = excluded.owner, generation = generation + 1, expires_at = excluded.expires_at
       WHERE owner IN ('', excluded.owner, ?5) OR expires_at <= ?3
       RETURNING generation`,
    );
    this.#get = file.prepare(
      'SELECT owner, generation, expires_at AS expiresAt FROM leases WHERE key = ?',
    );
    this.#set = file.prepare(
      `UPDATE leases SET owner = ?1, expires_at = ?2
       WHERE key = ?3 AND owner = ?4 AND generation = ?5`,
    );
  }

  /** Inside a transaction. A lease of `goneOwner` counts as expired. */
  acquire({ key, owner, now, ttlMs }: AcquireRequest, goneOwner = ''): AcquireOutcome {
    const row = this.#acquire.get(key, owner, now, ttlMs, goneOwner) as
      | { generation: number }
      | undefined;
    if (row !== undefined) {
      return { acquired: true, lease: { key, owner, generation: row.generation } };
    }
    const holder = this.#get.get(key) as { owner: string; expiresAt: number };
    return { acquired: false, owner: holder.owner, expiresAt: holder.expiresAt };
  }

  renew(leases: readonly Lease[], expiresAt: number): readonly boolean[] {
    return this.#file.write(() =>
      leases.map((lease) => this.#update(lease, lease.owner, expiresAt)),
    );
  }

  release(leases: readonly Lease[]): readonly boolean[] {
    for (const { key } of leases) this.#current.delete(key);
    return this.#file.write(() => leases.map((lease) => this.#update(lease, '', 0)));
  }

  /** Inside a transaction, so that the answer holds until its end. */
  isCurrent(lease: Lease): boolean {
    const known = this.#current.get(lease.key);
    if (known !== undefined && matches(known, lease)) return true;
    const row = this.#get.get(lease.key) as Token | undefined;
    if (row === undefined || !matches(row, lease)) return false;
    this.#current.set(lease.key, { owner: row.owner, generation: row.generation });
    return true;
  }

  /** Whether anybody holds the key, expired or not. */
  isHeld(key: string): boolean {
    return ((this.#get.get(key) as Token | undefined)?.owner ?? '') !== '';
  }

  /** After this connection acquired `key`, or after another one changed anything. */
  forget(key?: string): void {
    if (key === undefined) this.#current.clear();
    else this.#current.delete(key);
  }

  #update({ key, owner, generation }: Lease, next: string, expiresAt: number): boolean {
    return this.#set.run(next, expiresAt, key, owner, generation).changes === 1;
  }
}

const matches = (row: Token, lease: Lease): boolean =>
  row.owner === lease.owner && row.generation === lease.generation;
