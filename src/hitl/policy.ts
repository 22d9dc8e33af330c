import type { WebhookChannel } from './channel.ts';

/** How the approvals of one agent are asked for. Durations are milliseconds. */
export interface ApprovalPolicy {
  readonly route: 'conversational' | 'webhook';
  /** Asks and takes back; present on the route `webhook`. */
  readonly channel?: WebhookChannel;
  readonly timeoutMs: number;
  /** 0: no reminders. */
  readonly reminderMs: number;
  /** An approver may approve the like of a call for the rest of its session. */
  readonly allowsGrants: boolean;
  /** An approver may put other arguments in the place of those that were asked for. */
  readonly allowsEdits: boolean;
  /** The globs of its rules and of what must be approved, as they are configured. */
  readonly patterns: readonly string[];
  /** The model may ask by itself, with `request_approval`. */
  readonly offersRequests: boolean;
  /** The agent's name, as `request_approval` tells it. */
  readonly agentName: string;
}
