import type { Clock, TimerHandle } from '../clock.ts';
import { StoreUnavailableError } from '../errors.ts';
import { publicSessionId } from '../session-key.ts';
import type { Store } from '../stores/store.ts';
import { JournalClosedError, LeaseLostError, SessionHeldError } from './errors.ts';
import type { JournalLimits } from './limits.ts';
import type { JournalLog } from './log.ts';
import { Session, type SessionRun } from './session.ts';
import type { Writer } from './writer.ts';

export interface SessionsDeps {
  readonly store: Store;
  readonly clock: Clock;
  readonly ownerId: string;
  readonly limits: JournalLimits;
  readonly log: JournalLog;
  readonly writer: Writer;
}

/**
 * The sessions this process may write, and the leases that say so.
 *
 * L1. A session is held from its first open run to its last; in between one beat renews all leases.
 * L2. A renewal under way is awaited before a lease is given back, so none can revive it (INV-50).
 * L3. A lease is given back by its token, so the next owner's is never touched (INV-51).
 * L4. A failed session is never joined: the next run opens a new one, with a new generation.
 */
export class Sessions {
  readonly #deps: SessionsDeps;
  readonly #open = new Map<string, Session>();
  readonly #opening = new Map<string, Promise<Session>>();
  /** Those whose lease is renewed, the failed ones with open runs included. */
  readonly #held = new Set<Session>();
  #beat: TimerHandle | undefined;
  #renewal: Promise<void> | undefined;
  /** Every lease is given back, or being given back. */
  #closed = false;

  constructor(deps: SessionsDeps) {
    this.#deps = deps;
  }

  /** A session whose only writer is this process. */
  get(sessionId: string): Session | undefined {
    const session = this.#open.get(sessionId);
    return session?.failure === undefined ? session : undefined;
  }

  /**
   * Adds a run to a session and takes its lease if need be. Rejects with `SessionHeldError` or
   * `StoreUnavailableError`.
   */
  async join(sessionId: string, runOf: (session: Session) => SessionRun): Promise<Session> {
    for (;;) {
      const session = this.#open.get(sessionId);
      if (session?.leaving !== undefined) await session.leaving;
      else if (session !== undefined && session.failure === undefined) {
        session.runs.add(runOf(session));
        return session;
      } else await this.#acquireOnce(sessionId);
    }
  }

  /** Takes a run out; with the last one the lease is given back. Never rejects. */
  async leave(session: Session, run: SessionRun): Promise<void> {
    if (!session.runs.delete(run) || session.runs.size > 0 || this.#closed) return;
    session.leaving = this.#giveBack([session]);
    await session.leaving;
  }

  /** Gives every lease back; runs that are still open fail. Never rejects. */
  async close(): Promise<void> {
    await Promise.all([...this.#opening.values()].map((opening) => opening.catch(() => undefined)));
    this.#closed = true;
    const sessions = [...this.#held];
    await this.#giveBack(sessions);
    for (const session of sessions) this.#deps.writer.fail(session, new JournalClosedError());
  }

  #acquireOnce(sessionId: string): Promise<Session> {
    const known = this.#opening.get(sessionId);
    if (known !== undefined) return known;
    const opening = this.#acquire(sessionId).finally(() => this.#opening.delete(sessionId));
    this.#opening.set(sessionId, opening);
    return opening;
  }

  async #acquire(sessionId: string): Promise<Session> {
    const { store, clock, ownerId: owner, limits } = this.#deps;
    const now = clock.now();
    const request = { key: sessionId, owner, now, ttlMs: limits.leaseTtlMs };
    const outcome = await attempt(() => store.acquire(request));
    if (!outcome.acquired)
      throw new SessionHeldError(publicSessionId(sessionId), outcome.expiresAt);
    const head = await attempt(() => store.head(sessionId));
    const session = new Session(outcome.lease, head, now + limits.leaseTtlMs);
    this.#open.set(sessionId, session);
    this.#held.add(session);
    this.#arm();
    return session;
  }

  async #giveBack(sessions: readonly Session[]): Promise<void> {
    const { writer, store, log } = this.#deps;
    await writer.drain();
    for (const session of sessions) this.#held.delete(session);
    if (this.#held.size === 0) this.#disarm();
    await this.#renewal;
    try {
      await store.release(sessions.map(({ lease }) => lease));
    } catch (error) {
      log.warn(
        { err: error, sessions: sessions.length },
        'Leases were not given back; they expire.',
      );
    }
    for (const session of sessions) {
      if (this.#open.get(session.id) === session) this.#open.delete(session.id);
    }
  }

  #arm(): void {
    this.#beat ??= this.#deps.clock.setTimeout(() => {
      this.#beat = undefined;
      this.#renewal ??= this.#renewAll().finally(() => {
        this.#renewal = undefined;
      });
      if (this.#held.size > 0) this.#arm();
    }, this.#deps.limits.leaseBeatMs);
  }

  #disarm(): void {
    this.#deps.clock.clearTimeout(this.#beat);
    this.#beat = undefined;
  }

  async #renewAll(): Promise<void> {
    const sessions = [...this.#held];
    const { renewalsMax } = this.#deps.limits;
    for (let i = 0; i < sessions.length; i += renewalsMax) {
      await this.#renew(sessions.slice(i, i + renewalsMax));
    }
  }

  async #renew(sessions: readonly Session[]): Promise<void> {
    const { store, clock, limits, log } = this.#deps;
    const expiresAt = clock.now() + limits.leaseTtlMs;
    try {
      const renewed = await store.renew(
        sessions.map(({ lease }) => lease),
        expiresAt,
      );
      sessions.forEach((session, i) => {
        if (renewed[i] === true) session.expiresAt = expiresAt;
        else this.#lose(session);
      });
    } catch (error) {
      log.warn({ err: error, sessions: sessions.length }, 'Leases were not renewed.');
      const now = clock.now();
      for (const session of sessions) if (session.expiresAt <= now) this.#lose(session);
    }
  }

  #lose(session: Session): void {
    this.#held.delete(session);
    this.#deps.writer.fail(session, new LeaseLostError(session.publicId));
  }
}

async function attempt<T>(call: () => T | Promise<T>): Promise<T> {
  try {
    return await call();
  } catch (cause) {
    throw new StoreUnavailableError(cause);
  }
}
