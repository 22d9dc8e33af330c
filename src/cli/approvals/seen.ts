import type { Approval } from '../client/shapes.ts';

/** Approvals that are remembered at once; of more, the oldest may be printed again. */
const SEEN_MAX = 10_000;

/**
 * What a watcher has printed. A feed that comes again tells everything anew: only what has changed
 * since is news, and what waited and is not told of any more has ended meanwhile.
 */
export class Seen {
  #now = new Map<string, Printed>();
  #before = new Map<string, Printed>();

  /** Notes the approval, and gives whether it was not printed like that before. */
  isNews(approval: Approval): boolean {
    const { decision_id: id, state } = approval;
    const looks = looksOf(approval);
    const printed = this.#now.get(id) ?? this.#before.get(id);
    this.#now.set(id, { looks, pending: state === 'pending' });
    for (const oldest of this.#now.keys()) {
      if (this.#now.size <= SEEN_MAX) break;
      this.#now.delete(oldest);
    }
    return printed?.looks !== looks;
  }

  /** The connection was lost. One that breaks before it was complete does not count. */
  comesAgain(): void {
    this.#before = new Map([...this.#before, ...this.#now]);
    this.#now = new Map();
  }

  /** Everything has been told again: ids of those that waited and were not among it. */
  gone(): readonly string[] {
    const gone = [...this.#before].filter(([id, { pending }]) => pending && !this.#now.has(id));
    this.#before = new Map();
    return gone.map(([id]) => id);
  }
}

interface Printed {
  readonly looks: string;
  readonly pending: boolean;
}

const looksOf = ({ state, decided_by, reason, expires_at, parked, run_id }: Approval): string =>
  JSON.stringify([state, decided_by, reason, expires_at, parked, run_id]);
