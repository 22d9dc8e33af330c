import type {
  WebhookAnswer,
  WebhookChannel,
  WebhookContext,
  WebhookQuestion,
} from '../../src/hitl/channel.ts';
import type { Setting } from './approval-stimuli.ts';

export const HOOK_DENIAL = 'the hook says no';

/** One question, answered by the test. It is deaf to its signal, so it can be answered too late. */
export class ScriptedQuestion {
  readonly question: WebhookQuestion;
  readonly signal: AbortSignal;
  readonly #answer = Promise.withResolvers<WebhookAnswer>();
  isAnswered = false;

  constructor(question: WebhookQuestion, signal: AbortSignal) {
    this.question = question;
    this.signal = signal;
  }

  get answered(): Promise<WebhookAnswer> {
    return this.#answer.promise;
  }

  /** Somebody waits for its answer. */
  get isOpen(): boolean {
    return !this.isAnswered && !this.signal.aborted;
  }

  decide(approved: boolean): void {
    const reason = approved ? {} : { reason: HOOK_DENIAL };
    const decision = { approved, by: 'webhook', ...reason };
    this.#settle({ kind: 'decided', decision, toolHeaders: {} });
  }

  fail(retryable: boolean): void {
    this.#settle({ kind: 'failed', message: 'the hook broke', retryable });
  }

  #settle(answer: WebhookAnswer): void {
    this.isAnswered = true;
    this.#answer.resolve(answer);
  }
}

export interface TakenNotice {
  readonly decisionId: string;
  readonly reason: string;
  /** Each process has a channel of its own. */
  readonly through: ScriptedChannel;
}

/** A webhook whose answers the test releases; its notices outlive the process that sends them. */
export class ScriptedChannel implements WebhookChannel {
  readonly questions: ScriptedQuestion[] = [];
  readonly #notices: TakenNotice[];
  readonly #manner: Setting['notices'];
  /** Its process has been killed: what it still does in this one reaches nobody. */
  isDead = false;

  constructor(notices: TakenNotice[], manner: Setting['notices']) {
    this.#notices = notices;
    this.#manner = manner;
  }

  async ask(question: WebhookQuestion, { signal }: WebhookContext): Promise<WebhookAnswer> {
    const asked = new ScriptedQuestion(question, signal);
    this.questions.push(asked);
    return await asked.answered;
  }

  async withdraw(notice: Omit<TakenNotice, 'through'>): Promise<boolean> {
    if (this.isDead) return false;
    this.#notices.push({ ...notice, through: this });
    if (this.#manner === 'breaks') throw new Error('the channel breaks its word');
    return this.#manner === 'taken';
  }
}
