import type { ApprovalOutcome, Decision } from '../../machines/vocabulary.ts';
import { canonicalJson } from '../canonical-json.ts';
import { withoutEmptyEdit } from './edits.ts';

/**
 * Whether a decision says what the one said that won: who sends it again is told that it is taken. The
 * reason and the name may differ, what the call runs with may not. `asked` is the digest of the arguments
 * that were asked for: saying them again changes nothing.
 */
export function isSameDecision(
  winner: ApprovalOutcome,
  decision: Decision,
  asked: string,
): boolean {
  if (winner.kind === 'denied') return !decision.approved;
  if (winner.kind !== 'approved' || !decision.approved) return false;
  return termsOf(withoutEmptyEdit(winner, asked)) === termsOf(withoutEmptyEdit(decision, asked));
}

const termsOf = ({ grant, arguments: edited, content }: Omit<Decision, 'approved'>): string =>
  canonicalJson({ grant: grant ?? null, edited: edited ?? null, content: content ?? null });
