import type { ApprovalOutcome, ApprovalRequest } from './vocabulary.ts';

/**
 * Why whoever was asked by a webhook has to be told that nobody waits any more; undefined when nobody
 * was asked that way, or the webhook itself has answered. A decision that came by another way, signed,
 * leaves the question in front of him as well.
 */
export function withdrawnFor(
  { route, grantedBy }: Pick<ApprovalRequest, 'route' | 'grantedBy'>,
  outcome: ApprovalOutcome,
): string | undefined {
  if (route !== 'webhook' || grantedBy !== undefined) return undefined;
  switch (outcome.kind) {
    case 'approved':
    case 'denied':
      return outcome.signed === true ? 'decided' : undefined;
    case 'cancelled':
      return outcome.cause.kind;
    default:
      return outcome.kind;
  }
}
