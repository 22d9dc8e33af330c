import type { AcquireOutcome, AcquireRequest, Lease } from './store.ts';

interface LeaseRow {
  readonly owner: string;
  readonly generation: number;
  readonly expiresAt: number;
}

/** Leases of a store that one process has to itself. */
export class MemoryLeases {
  readonly #rows = new Map<string, LeaseRow>();

  acquire({ key, owner, now, ttlMs }: AcquireRequest): AcquireOutcome {
    const row = this.#rows.get(key);
    const free = row === undefined || row.owner === '' || row.expiresAt <= now;
    if (!free && row.owner !== owner) {
      return { acquired: false, owner: row.owner, expiresAt: row.expiresAt };
    }
    const generation = (row?.generation ?? 0) + 1;
    this.#rows.set(key, { owner, generation, expiresAt: now + ttlMs });
    return { acquired: true, lease: { key, owner, generation } };
  }

  renew(leases: readonly Lease[], expiresAt: number): readonly boolean[] {
    return leases.map((lease) => this.#change(lease, { owner: lease.owner, expiresAt }));
  }

  release(leases: readonly Lease[]): readonly boolean[] {
    return leases.map((lease) => this.#change(lease, { owner: '', expiresAt: 0 }));
  }

  isCurrent({ key, owner, generation }: Lease): boolean {
    const row = this.#rows.get(key);
    return row !== undefined && row.owner === owner && row.generation === generation;
  }

  /** Whether anybody holds the key, expired or not. */
  isHeld(key: string): boolean {
    return (this.#rows.get(key)?.owner ?? '') !== '';
  }

  #change(lease: Lease, change: Omit<LeaseRow, 'generation'>): boolean {
    if (!this.isCurrent(lease)) return false;
    this.#rows.set(lease.key, { ...change, generation: lease.generation });
    return true;
  }
}
