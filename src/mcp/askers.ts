import type { RequestId } from '@modelcontextprotocol/sdk/types.js';
import type { ToolContext } from '../tool.ts';
import { type Clock, steadyNow } from '../clock.ts';
import type { Redact } from './redact.ts';

/** A call that may ask. */
export interface Asker {
  /** Absent where nobody can be asked. */
  readonly elicit?: ToolContext['elicit'];
  /** Keeps the secrets of this call out of what it asks. */
  readonly redact: Redact;
  /** The server shows that it still works on the call. */
  heard(): void;
}

/** A call under way, and what it has asked. */
export interface LiveAsker {
  readonly id: RequestId;
  readonly asker: Asker;
  /** One for each question that a person has before them; its abort takes the question back. */
  readonly open: Set<AbortController>;
  asked: number;
  isStopped: boolean;
}

/** What a question tells of the call it belongs to. */
export interface Traces {
  /** The request that it names itself. */
  readonly named: RequestId | undefined;
  /** The request whose stream it came by: a call, or another one, which nobody is asked for. */
  readonly carrier: RequestId | undefined;
}

/**
 * The calls of one connection, and which of them asks. The connection is shared by runs and tenants, so
 * a question is shown to nobody rather than to the wrong person.
 *
 * AS1. A question belongs to the call whose stream it came by, or to the one that it names; where they
 *      differ it belongs to nobody.
 * AS2. One that tells neither belongs to the only call under way. It belongs to nobody when there are
 *      several, whether or not they can ask, or when a call that was given up less than `strayAskMs` ago
 *      may be the one that asks.
 */
export class Askers {
  readonly #clock: Clock;
  readonly #strayAskMs: number;
  readonly #calls = new Map<RequestId, LiveAsker>();
  /** Calls that were given up without an answer, and until when they may ask. */
  readonly #strays = new Map<RequestId, number>();

  constructor(clock: Clock, { strayAskMs }: { readonly strayAskMs: number }) {
    this.#clock = clock;
    this.#strayAskMs = strayAskMs;
  }

  /** How many calls may be the ones that ask. */
  get counts(): { readonly calls: number; readonly givenUp: number } {
    return { calls: this.#calls.size, givenUp: this.#strays.size };
  }

  /** A call goes out. */
  begin(id: RequestId, asker: Asker): void {
    this.#calls.set(id, { id, asker, open: new Set(), asked: 0, isStopped: false });
  }

  /** A call was told to stop: what it has asked is taken back, and it asks nothing more. */
  stop(id: RequestId): void {
    const call = this.#calls.get(id);
    if (call === undefined) return;
    call.isStopped = true;
    for (const question of call.open) question.abort('the call that asked is over');
  }

  /** A call is over. `mayGoOn`: its server never said so. */
  end(id: RequestId, { mayGoOn }: { readonly mayGoOn: boolean }): void {
    this.stop(id);
    if (!this.#calls.delete(id) || !mayGoOn) return;
    this.#strays.set(id, steadyNow(this.#clock) + this.#strayAskMs);
  }

  /** The answer of a call that was given up has come after all. */
  answeredLate(id: RequestId): void {
    this.#strays.delete(id);
  }

  /** See AS1 and AS2. `nobody`: no call is there to ask; `ambiguous`: several may be the one. */
  find({ named, carrier }: Traces): LiveAsker | 'nobody' | 'ambiguous' {
    const namedCall = named === undefined ? undefined : this.#named(named);
    if (carrier !== undefined) {
      const isOther = namedCall !== undefined && namedCall.id !== carrier;
      return isOther ? 'ambiguous' : (this.#calls.get(carrier) ?? 'nobody');
    }
    return named === undefined ? this.#only() : (namedCall ?? 'nobody');
  }

  /** Servers that keep ids as text name a number by its digits. */
  #named(id: RequestId): LiveAsker | undefined {
    return this.#calls.get(id) ?? this.#calls.get(Number(id));
  }

  #only(): LiveAsker | 'nobody' | 'ambiguous' {
    const [only, another] = this.#calls.values();
    if (only === undefined) return 'nobody';
    this.#dropStrays();
    return another !== undefined || this.#strays.size > 0 ? 'ambiguous' : only;
  }

  #dropStrays(): void {
    const now = steadyNow(this.#clock);
    for (const [id, until] of this.#strays) if (until <= now) this.#strays.delete(id);
  }
}
