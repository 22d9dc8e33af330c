import type { ApprovalOrigin, Decision } from '../../machines/vocabulary.ts';

/** One question to a webhook. */
export interface WebhookQuestion {
  readonly decisionId: string;
  readonly runId: string;
  readonly sessionId: string;
  readonly origin: ApprovalOrigin;
  readonly toolName: string;
  readonly arguments: unknown;
  readonly toolCallIntent?: string;
  /** Epoch milliseconds. */
  readonly expiresAt: number;
  /** What the answer may carry beside the decision. */
  readonly may: { readonly edit: boolean; readonly grant: boolean };
}

export type WebhookAnswer =
  | {
      readonly kind: 'decided';
      readonly decision: Decision;
      /** Headers for the request of the approved call, lower-case names. May be secrets. */
      readonly toolHeaders: Readonly<Record<string, string>>;
    }
  | {
      readonly kind: 'failed';
      /** A sentence without secrets, with the status where there was one. */
      readonly message: string;
      /** Whether the same question may be sent again. */
      readonly retryable: boolean;
    };

export interface WebhookContext {
  /** Headers of the caller's request, lower-case names, for `headers_from_request`. */
  readonly requestHeaders: Readonly<Record<string, string>>;
  readonly signal: AbortSignal;
}

/** An address that answers for a person. */
export interface WebhookChannel {
  /** Asks once. Rejects only when the signal aborts; the request is then cut off. */
  ask(question: WebhookQuestion, context: WebhookContext): Promise<WebhookAnswer>;
  /**
   * Tells that nobody waits for the decision any more: one try, bounded by the caller's signal. Resolves
   * to whether the webhook took it; never rejects.
   */
  withdraw(
    notice: { readonly decisionId: string; readonly reason: string },
    context: WebhookContext,
  ): Promise<boolean>;
}
