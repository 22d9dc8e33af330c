import type { ApprovalOutcome, Decision } from '../../machines/vocabulary.ts';
import { canonicalJson } from '../canonical-json.ts';

/**
 * Whether a decision says what the one said that won: who sends it again is told that it is taken. The
 * reason and the name may differ, what the call runs with may not.
 */
export function isSameDecision(winner: ApprovalOutcome, decision: Decision): boolean {
  if (winner.kind === 'denied') return !decision.approved;
  if (winner.kind !== 'approved' || !decision.approved) return false;
  return termsOf(winner) === termsOf(decision);
}

const termsOf = ({ grant, arguments: edited, content }: Omit<Decision, 'approved'>): string =>
  canonicalJson({ grant: grant ?? null, edited: edited ?? null, content: content ?? null });
