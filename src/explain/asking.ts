import type { ApprovalRoute } from '../../machines/vocabulary.ts';
import { quoted } from './say.ts';

/** What a person, or who answers for one, is asked. */
export interface Asking {
  readonly toolName: string;
  readonly route: ApprovalRoute;
  /** Set for a question that a server asks while it executes the tool. */
  readonly question?: Question | null;
}

export interface Question {
  readonly server: string;
  readonly message: string;
}

/** That somebody was asked, so that one of several can be told: `(approval d1)`. */
export function askedText({ toolName, route, question }: Asking, decisionId: string): string {
  if (question) {
    const { server, message } = question;
    return `The server ${server} asked for its tool ${toolName}: ${quoted(message)} (approval ${decisionId})`;
  }
  const who = route === 'webhook' ? 'A webhook' : 'A person';
  return `${who} was asked to approve the tool ${toolName} (approval ${decisionId})`;
}

/** For the middle of a sentence: what is asked, or that it was not answered. */
export function questionText({ toolName, question }: Asking, how: 'asked' | 'answered'): string {
  if (question) {
    const whose = `of the server ${question.server} for the tool ${toolName}`;
    return how === 'asked' ? whose : `answered the question ${whose}`;
  }
  return how === 'asked'
    ? `whether the tool ${toolName} may run`
    : `decided on the tool ${toolName}`;
}

/** That nobody waits any more, as far as whoever was asked by the webhook knows. */
export const webhookTold = (notified: boolean): string =>
  notified
    ? '; the webhook was told that nobody waits for it any more'
    : '; the webhook could not be told, so it may still show its question to somebody';

/** Who decided, for after `by`. */
export function decider(by: string | undefined): string {
  if (by === undefined) return 'a person';
  if (by === 'webhook') return 'the webhook';
  const [, kind, name] = /^(key|signature):(.+)$/s.exec(by) ?? [];
  if (name === undefined) return quoted(by);
  if (kind === 'key') return `whoever has the key ${quoted(name)}`;
  return `a decision that was signed with the ${name} secret`;
}
