import type { StopCause } from '../../machines/vocabulary.ts';
import { encodeCheckpoint, type Checkpoint, type CheckpointCall } from '../journal/checkpoint.ts';
import type { ParkReason } from '../journal/events.ts';
import type { LastWords } from '../journal/run-journal.ts';
import { checkpointOf } from './checkpoint-run.ts';
import type { RunScope } from './run-scope.ts';
import { parseArguments } from './parse-arguments.ts';

/** What an approval of a parked run is shown with; stored as JSON. */
export interface ParkedApproval {
  readonly agent: string;
  /** As its tenant knows it. */
  readonly sessionId: string;
  readonly toolName: string;
  readonly toolCallId: string;
  readonly arguments: unknown;
  readonly argumentsDigest: string;
  readonly origin: NonNullable<CheckpointCall['approval']>['origin'];
  readonly requestedAt: number;
}

/** What is stored with the `parked` entry. */
export const parkedFields = (scope: RunScope, reason: ParkReason): Parked =>
  parkedAt(checkpointOf(scope), reason);

/** A run that was parked by hand comes back only when somebody asks. */
export function parkedAt(checkpoint: Checkpoint, reason: ParkReason): Parked {
  return {
    checkpoint: encodeCheckpoint(checkpoint),
    automatic: reason !== 'external',
    approvals: checkpoint.calls.flatMap((call) => approvalLines(checkpoint, call)),
  };
}

type Parked = NonNullable<LastWords['parked']>;

function approvalLines(
  { agent, sessionId }: Checkpoint,
  { call, approval }: CheckpointCall,
): Parked['approvals'] {
  if (approval === undefined) return [];
  const record: ParkedApproval = {
    agent,
    sessionId,
    toolName: call.name,
    toolCallId: call.id,
    arguments: parseArguments(call.argumentsText) ?? {},
    argumentsDigest: approval.argumentsDigest,
    origin: approval.origin,
    requestedAt: approval.requestedAt,
  };
  const { decisionId, expiresAt } = approval;
  return [{ decisionId, record: JSON.stringify(record), expiresAt }];
}

/** Only these causes park a run. */
export function parkReason({ kind }: StopCause): ParkReason {
  if (kind === 'unclaimed' || kind === 'external' || kind === 'shutdown') return kind;
  throw new Error(`invariant: a run is not parked for ${kind}`);
}
