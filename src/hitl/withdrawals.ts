import type { Clock } from '../clock.ts';
import type { Log } from '../log.ts';
import type { WebhookChannel } from './channel.ts';

/** One notice may take so long, whatever the channel makes of its signal. */
export const WITHDRAW_MS = 5_000;

export interface WithdrawalsDeps {
  /** The channel of an agent that asks by a webhook; undefined for any other, and for unknown ones. */
  readonly channelOf: (agent: string) => WebhookChannel | undefined;
  readonly clock: Clock;
  readonly log: Pick<Log, 'info' | 'warn'>;
}

export interface Withdrawal {
  /** Its id. */
  readonly agent: string;
  readonly decisionId: string;
  /** Why nobody waits any more, as the webhook is told. */
  readonly reason: string;
  /** Those of the request that started the run, lower-case names. Nobody keeps them for a parked run. */
  readonly requestHeaders?: Readonly<Record<string, string>>;
}

/** Decisions that are remembered, so that one is told of once whoever finds that nobody waits. */
const REMEMBERED_MAX = 10_000;

/**
 * Tells webhooks that nobody waits for a decision any more.
 *
 * WD1. A notice is one try of at most {@link WITHDRAW_MS}.
 * WD2. This process tells once of a decision; who comes later is answered with what became of that. A
 *      process after it may tell again: it cannot know whether that was heard.
 * WD3. {@link settled} waits for those under way, and for those that come meanwhile.
 */
export class Withdrawals {
  readonly #deps: WithdrawalsDeps;
  readonly #underWay = new Set<Promise<boolean>>();
  /** By decision id, the one told of longest ago first. */
  readonly #told = new Map<string, Promise<boolean>>();

  constructor(deps: WithdrawalsDeps) {
    this.#deps = deps;
  }

  /** Resolves to whether the webhook took the notice; false, too, when there is none. Never rejects. */
  send(withdrawal: Withdrawal): Promise<boolean> {
    const { decisionId } = withdrawal;
    const before = this.#told.get(decisionId);
    if (before !== undefined) return before;
    const sent = this.#send(withdrawal).then((isTaken) => {
      this.#underWay.delete(sent);
      this.#log(withdrawal, isTaken);
      return isTaken;
    });
    this.#underWay.add(sent);
    this.#remember(decisionId, sent);
    return sent;
  }

  /** Resolves when no notice is under way; never rejects. */
  async settled(): Promise<void> {
    while (this.#underWay.size > 0) await Promise.all(this.#underWay);
  }

  #remember(decisionId: string, sent: Promise<boolean>): void {
    this.#told.set(decisionId, sent);
    const [oldest] = this.#told.keys();
    if (this.#told.size > REMEMBERED_MAX && oldest !== undefined) this.#told.delete(oldest);
  }

  async #send({ agent, decisionId, reason, requestHeaders = {} }: Withdrawal): Promise<boolean> {
    const channel = this.#deps.channelOf(agent);
    if (channel === undefined) return false;
    const { clock } = this.#deps;
    const bound = new AbortController();
    const late = Promise.withResolvers<false>();
    const cut = () => {
      bound.abort(new Error('The webhook took no notice in time.'));
      late.resolve(false);
    };
    const timer = clock.setTimeout(cut, WITHDRAW_MS);
    try {
      const notice = { decisionId, reason };
      const context = { requestHeaders, signal: bound.signal };
      return await Promise.race([channel.withdraw(notice, context), late.promise]);
    } catch {
      return false; // A channel that breaks its word has not taken it; what it threw may hold secrets.
    } finally {
      clock.clearTimeout(timer);
    }
  }

  #log({ agent, decisionId, reason }: Withdrawal, isTaken: boolean): void {
    const fields = { agent, decision_id: decisionId, reason };
    if (isTaken) this.#deps.log.info(fields, 'A webhook took the notice that nobody waits for it');
    // A channel that has sent it says itself why it was not taken.
    else if (this.#deps.channelOf(agent) === undefined) this.#deps.log.warn(fields, NO_CHANNEL);
  }
}

const NO_CHANNEL = 'A webhook cannot be told that nobody waits for it: its agent has none any more';
