import type { StatementSync } from 'node:sqlite';
import { type Group, sizeOf } from './groups.ts';
import { RealmSizes } from './realms.ts';
import type { SqliteArchive } from './sqlite-archive.ts';
import type { SqliteFile } from './sqlite-file.ts';
import type { Realm } from './store.ts';

/** A session and the number of its entries in one row of the tail. Persisted. */
type PartHead = readonly [sessionId: string, firstSeq: number, count: number];

interface TailRow {
  readonly id: number;
  readonly parts: string;
  readonly body: string;
}

/** The entries of one session that are in the tail, and its newest `seq`. */
interface Unmoved {
  readonly groups: Group[];
  lastSeq: number;
}

export interface TailPart {
  readonly sessionId: string;
  readonly group: Group;
}

/**
 * The newest entries of all sessions: on disk in the order of their transactions, in memory by
 * session, because a row cannot be found by its session.
 *
 * TL1. After {@link refresh} memory has every entry that is in the tail and not in the archive.
 * TL2. A row leaves the disk only after each of its entries is in the archive or below a floor.
 * TL3. Memory changes only after the transaction that it mirrors is committed.
 */
export class SqliteTail {
  readonly #archive: SqliteArchive;
  readonly #sessions = new Map<string, Unmoved>();
  readonly #insert: StatementSync;
  readonly #after: StatementSync;
  readonly #lowest: StatementSync;
  readonly #delete: StatementSync;
  /** Ids of the rows that memory mirrors: above the first, up to the last. */
  #droppedId = 0;
  #lastId = 0;
  readonly #sizes = new RealmSizes();
  /** Of entries that were trimmed and whose rows are still on disk. */
  #trimmedBytes = 0;

  constructor(file: SqliteFile, archive: SqliteArchive) {
    this.#archive = archive;
    this.#insert = file.prepare('INSERT INTO tail VALUES (?, ?, ?)');
    this.#after = file.prepare('SELECT id, parts, body FROM tail WHERE id > ? ORDER BY id');
    this.#lowest = file.prepare('SELECT min(id) AS id FROM tail');
    this.#delete = file.prepare(
      'DELETE FROM tail WHERE id <= ? AND id < (SELECT max(id) FROM tail)',
    );
    this.refresh();
  }

  /** Characters on disk, or nearly so. */
  get bytes(): number {
    return this.#sizes.total() + this.#trimmedBytes;
  }

  /** Characters of entries of one session that are newer than `seq`. */
  bytesOf(sessionId: string, seq: number): number {
    let bytes = 0;
    for (const group of this.groups(sessionId)) if (group.lastSeq > seq) bytes += sizeOf(group);
    return bytes;
  }

  /**
   * The same of all sessions, or of those of a realm. What another process is moving or has trimmed
   * may count until it has moved the whole tail.
   */
  totalBytes(realm: Realm | undefined): number {
    return this.#sizes.total(realm);
  }

  get lastId(): number {
    return this.#lastId;
  }

  sessionIds(): string[] {
    return [...this.#sessions.keys()];
  }

  groups(sessionId: string): readonly Group[] {
    return this.#sessions.get(sessionId)?.groups ?? [];
  }

  lastSeq(sessionId: string): number | undefined {
    return this.#sessions.get(sessionId)?.lastSeq;
  }

  /**
   * Follows what other connections did: reads their rows, and reads everything anew when one of
   * them moved rows to the archive.
   */
  refresh(): void {
    const { id } = this.#lowest.get() as { id: number | null };
    if ((id ?? this.#lastId + 1) > this.#droppedId + 1) this.#clear((id ?? this.#lastId + 1) - 1);
    for (const row of this.#after.all(this.#lastId) as unknown as TailRow[]) {
      this.#lastId = row.id;
      for (const part of parse(row)) this.#restore(part);
    }
  }

  /** Inside a transaction, after a {@link refresh}. */
  write(parts: readonly TailPart[]): void {
    const heads = parts.map(({ sessionId, group }): PartHead => {
      return [sessionId, group.firstSeq, group.lastSeq - group.firstSeq + 1];
    });
    const body = parts.map(({ group }) => group.body).join('\n');
    this.#insert.run(this.#lastId + 1, JSON.stringify(heads), body);
  }

  /** Once the transaction of {@link write} is committed. */
  keep(parts: readonly TailPart[]): void {
    this.#lastId += 1;
    for (const part of parts) this.#add(part);
  }

  /** Inside a transaction, when everything up to `id` is in the archive. */
  drop(id: number): void {
    this.#delete.run(id);
  }

  /** Once the transaction of {@link drop} is committed. */
  dropped(id: number): void {
    this.#droppedId = id;
    this.#trimmedBytes = 0;
  }

  /** Once the transaction that set the session's floor is committed. */
  trimmed(sessionId: string, floor: number): void {
    const known = this.#sessions.get(sessionId);
    if (known === undefined) return;
    const kept = known.groups.findIndex(({ lastSeq }) => lastSeq > floor);
    const gone = known.groups.splice(0, kept === -1 ? known.groups.length : kept);
    for (const group of gone) {
      this.#sizes.add(sessionId, -sizeOf(group));
      this.#trimmedBytes += sizeOf(group);
    }
  }

  /**
   * Once a session's entries are in the archive. Its head stays known until it is forgotten again
   * without having been written, which spares an active session a look into the archive.
   */
  forget(sessionId: string): void {
    const known = this.#sessions.get(sessionId);
    if (known === undefined) return;
    for (const group of known.groups) this.#sizes.add(sessionId, -sizeOf(group));
    if (known.groups.length === 0) this.#sessions.delete(sessionId);
    else this.#sessions.set(sessionId, { groups: [], lastSeq: known.lastSeq });
  }

  #clear(droppedId: number): void {
    this.#sessions.clear();
    this.#sizes.clear();
    this.#trimmedBytes = 0;
    this.#droppedId = this.#lastId = droppedId;
  }

  #restore(part: TailPart): void {
    const known = this.lastSeq(part.sessionId) ?? this.#archive.head(part.sessionId);
    if (part.group.lastSeq > known) this.#add(part);
  }

  #add({ sessionId, group }: TailPart): void {
    const known = this.#sessions.get(sessionId);
    this.#sizes.add(sessionId, sizeOf(group));
    if (known === undefined) {
      this.#sessions.set(sessionId, { groups: [group], lastSeq: group.lastSeq });
      return;
    }
    known.groups.push(group);
    known.lastSeq = group.lastSeq;
  }
}

function parse({ parts, body }: TailRow): TailPart[] {
  const lines = body.split('\n');
  let next = 0;
  return (JSON.parse(parts) as PartHead[]).map(([sessionId, firstSeq, count]) => {
    const own = lines.slice(next, next + count);
    next += count;
    return { sessionId, group: { firstSeq, lastSeq: firstSeq + count - 1, body: own.join('\n') } };
  });
}
