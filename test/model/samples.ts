import type { AnyEventObject } from 'xstate';
import type {
  ApprovalRequest,
  Failure,
  RunLimits,
  StopCause,
  ToolCallRequest,
} from '../../machines/vocabulary.ts';

/** Limits whose values differ, so that a table shows which of them a timer took. */
export const LIMITS: RunLimits = {
  setupMs: 30_000,
  firstChunkMs: 90_000,
  inactivityMs: 60_000,
  stepMs: 300_000,
  stepAllowanceMs: 45_000,
  totalMs: 900_000,
  toolStopGraceMs: 5_000,
  totalPauses: false,
  releaseMs: 7_000,
  parkMs: 110_000,
  turnsMax: 2,
  parallelToolsMax: 2,
  attemptsMax: 3,
};

export const APPROVAL: ApprovalRequest = {
  decisionId: 'decision-1',
  toolCallId: 'call-1',
  toolName: 'delete_file',
  origin: { kind: 'config_gate', matchedPattern: 'delete_*' },
  route: 'conversational',
  timeoutMs: 120_000,
  reminderMs: 0,
  argumentsDigest: 'sha256:00',
};

export function toolCall(id: string, fields: Partial<ToolCallRequest> = {}): ToolCallRequest {
  return { id, name: 'search', kind: 'server', executor: 'local', timeoutMs: 20_000, ...fields };
}

export function failure(fields: Partial<Failure> = {}): Failure {
  return { code: 'provider_error', message: 'Upstream said 503.', retryable: true, ...fields };
}

export const SHUTDOWN: StopCause = { kind: 'shutdown' };
export const EXTERNAL: StopCause = { kind: 'external' };

/** A fact as the tables show it: its type and the fields a reader would ask for. */
export function inShort(fact: AnyEventObject): string {
  const { obligation, outcome, status, cause, reason, policy, withinGrace, because } = fact;
  const words = [
    obligation && `${obligation.what} ${obligation.id}`,
    outcome?.kind,
    fact['type'] === 'toolCall.ended' ? fact['id'] : undefined,
    status,
    fact['withdrawal']?.reason,
    typeof fact['notified'] === 'boolean' ? `notified=${fact['notified']}` : undefined,
    fact['abandoned'] === true ? 'abandoned' : undefined,
    cause?.kind,
    reason,
    policy,
    because,
    withinGrace === true ? 'within grace' : undefined,
    typeof fact['obligations'] === 'number' ? `obligations=${fact['obligations']}` : undefined,
    typeof fact['attempt'] === 'number' ? `attempt=${fact['attempt']}` : undefined,
    typeof fact['delayMs'] === 'number' ? `delayMs=${fact['delayMs']}` : undefined,
    typeof fact['inFlight'] === 'number' ? `inFlight=${fact['inFlight']}` : undefined,
    typeof fact['cleanShutdown'] === 'boolean' ? `clean=${fact['cleanShutdown']}` : undefined,
    typeof fact['unabortedTasks'] === 'boolean' ? `unaborted=${fact['unabortedTasks']}` : undefined,
  ].filter((word) => word !== undefined);
  return words.length > 0 ? `${fact.type}(${words.join(', ')})` : fact.type;
}
