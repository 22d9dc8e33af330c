import type {
  WebhookAnswer,
  WebhookChannel,
  WebhookContext,
  WebhookQuestion,
} from '../../src/hitl/channel.ts';

/** One question to a {@link ManualWebhook}, answered by the test or never. */
export interface ManualQuestion {
  readonly question: WebhookQuestion;
  readonly signal: AbortSignal;
  approve(): void;
  deny(): void;
}

/** A webhook that the test answers for. Notices are taken at once, unless told. */
export class ManualWebhook implements WebhookChannel {
  readonly questions: ManualQuestion[] = [];
  readonly notices: { readonly decisionId: string; readonly reason: string }[] = [];
  /** `unheard`: nothing comes back, and the notice is cut off some time. */
  manner: 'taken' | 'refused' | 'unheard' = 'taken';

  ask(question: WebhookQuestion, { signal }: WebhookContext): Promise<WebhookAnswer> {
    const answer = Promise.withResolvers<WebhookAnswer>();
    signal.addEventListener('abort', () => answer.reject(signal.reason), { once: true });
    const decide = (approved: boolean) =>
      answer.resolve({ kind: 'decided', decision: { approved, by: 'webhook' }, toolHeaders: {} });
    this.questions.push({
      question,
      signal,
      approve: () => decide(true),
      deny: () => decide(false),
    });
    return answer.promise;
  }

  withdraw(
    notice: { readonly decisionId: string; readonly reason: string },
    { signal }: WebhookContext,
  ): Promise<boolean> {
    this.notices.push(notice);
    if (this.manner !== 'unheard') return Promise.resolve(this.manner === 'taken');
    return new Promise((resolve) => {
      signal.addEventListener('abort', () => resolve(false), { once: true });
    });
  }
}
