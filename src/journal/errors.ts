import { SupervisorError } from '../errors.ts';

/** Another process may write the session now; nothing of this one's is taken any more. */
export class LeaseLostError extends SupervisorError {
  override readonly name = 'LeaseLostError';

  constructor(sessionId: string) {
    super('lease_lost', `Another process has taken over the session "${sessionId}".`);
  }
}

/** Another process holds the session, so no run can be opened in it here. */
export class SessionHeldError extends SupervisorError {
  override readonly name = 'SessionHeldError';
  readonly expiresAt: number;

  constructor(sessionId: string, expiresAt: number) {
    super(
      'session_held',
      `The session "${sessionId}" is held by another process. Try again when it has let go.`,
    );
    this.expiresAt = expiresAt;
  }
}

/** Another run goes on with the parked one already, or it is no longer parked. */
export class RunTakenError extends SupervisorError {
  override readonly name = 'RunTakenError';

  constructor() {
    super('already_resumed', 'Another run goes on with the parked run already.');
  }
}

/** The journal takes no more runs, because it is closing. */
export class JournalClosedError extends SupervisorError {
  override readonly name = 'JournalClosedError';

  constructor() {
    super('store_unavailable', 'The journal is closed.');
  }
}
