import type { Log } from '../log.ts';

/** What an approver has approved for the rest of a session, as a store keeps it. */
export interface SessionGrant {
  /** Where the session is stored. */
  readonly sessionId: string;
  /** The agent's id. */
  readonly agent: string;
  readonly toolName: string;
  /** The pattern that held the approved call back: another one asks anew. */
  readonly matchedPattern: string;
  /** The decision that gave it. */
  readonly decisionId: string;
  /** Epoch milliseconds. */
  readonly at: number;
}

export interface GrantsDeps {
  /** The index of a journal. */
  readonly index: {
    listGrants(sessionKey: string): Promise<readonly SessionGrant[]>;
    putGrant(grant: SessionGrant): Promise<void>;
  };
  readonly log: Pick<Log, 'warn'>;
}

/** A call that a grant may cover. */
export interface GrantQuery {
  /** Where the session is stored. */
  readonly sessionKey: string;
  /** The agent's id. */
  readonly agent: string;
  readonly toolName: string;
  /** The pattern that holds the call back. */
  readonly matchedPattern: string;
}

/** What is known of a session with live runs: decision ids by what they cover. */
interface SessionGrants {
  readonly covers: Map<string, string>;
  /** Under way, or done. */
  loading: Promise<void> | undefined;
}

/**
 * Approvals for the rest of a session, at hand while a run of it lives: a call is looked up without
 * waiting for the store.
 *
 * GR1. A grant covers the same session, agent, tool and pattern, and nothing else.
 * GR2. Once the session is loaded a grant holds from {@link add} on, whether the store takes it or not.
 * GR3. Of two for the same the first one stays, here as in the store.
 * GR4. Memory holds sessions with live runs alone.
 */
export class Grants {
  readonly #deps: GrantsDeps;
  readonly #sessions = new Map<string, SessionGrants>();

  constructor(deps: GrantsDeps) {
    this.#deps = deps;
  }

  /**
   * Reads what the store has of a session, once while runs of it live. Rejects with
   * `StoreUnavailableError`; the next call tries again.
   */
  load(sessionKey: string): Promise<void> {
    const session = this.#session(sessionKey);
    session.loading ??= this.#read(sessionKey, session);
    return session.loading;
  }

  /** The decision that covers a call. Undefined, too, for a session that was not loaded. */
  find(query: GrantQuery): string | undefined {
    return this.#sessions.get(query.sessionKey)?.covers.get(nameOf(query));
  }

  /** Resolves when the store has the grant or has refused it; never rejects. */
  async add(grant: SessionGrant): Promise<void> {
    this.#keep(grant);
    try {
      await this.#deps.index.putGrant(grant);
    } catch (error) {
      const fields = { decision_id: grant.decisionId, tool_name: grant.toolName, err: error };
      this.#deps.log.warn(fields, NOT_STORED);
    }
    // A session that was loaded meanwhile may have been read before the grant was there.
    this.#keep(grant);
  }

  /** No run of the session lives any more. */
  released(sessionKey: string): void {
    this.#sessions.delete(sessionKey);
  }

  /** For a session without live runs the store alone has it. */
  #keep(grant: SessionGrant): void {
    const session = this.#sessions.get(grant.sessionId);
    if (session !== undefined) keep(session, grant);
  }

  #session(sessionKey: string): SessionGrants {
    const known = this.#sessions.get(sessionKey);
    if (known !== undefined) return known;
    const session: SessionGrants = { covers: new Map(), loading: undefined };
    this.#sessions.set(sessionKey, session);
    return session;
  }

  async #read(sessionKey: string, session: SessionGrants): Promise<void> {
    try {
      for (const grant of await this.#deps.index.listGrants(sessionKey)) keep(session, grant);
    } catch (error) {
      session.loading = undefined;
      throw error;
    }
  }
}

const NOT_STORED =
  'An approval for the rest of a session was not stored; it holds while a run of the session lives';

const keep = ({ covers }: SessionGrants, grant: SessionGrant): void => {
  const name = nameOf(grant);
  if (!covers.has(name)) covers.set(name, grant.decisionId);
};

/** Names and patterns may hold any character, so they are not joined by one. */
const nameOf = ({ agent, toolName, matchedPattern }: Omit<GrantQuery, 'sessionKey'>): string =>
  JSON.stringify([agent, toolName, matchedPattern]);
