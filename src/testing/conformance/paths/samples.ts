import type {
  ApprovalRequest,
  Failure,
  RunLimits,
  StopCause,
  ToolCallRequest,
} from '../../../../machines/vocabulary.ts';

/** `turn_depth` of the kit's agents, and the turns that it comes to. */
export const TURN_DEPTH = 1;
const TURNS_MAX = TURN_DEPTH + 2;

/** Only that a limit is there counts for the walk, not its length. */
export const LIMITS: RunLimits = {
  setupMs: 1_000,
  firstChunkMs: 1_000,
  inactivityMs: 1_000,
  stepMs: 1_000,
  stepAllowanceMs: 0,
  totalMs: 1_000,
  toolStopGraceMs: 1_000,
  totalPauses: false,
  releaseMs: 1_000,
  parkMs: 1_000,
  turnsMax: TURNS_MAX,
  parallelToolsMax: 4,
  attemptsMax: 3,
};

export const EXTERNAL: StopCause = { kind: 'external' };

export function failure(fields: Partial<Failure> = {}): Failure {
  return { code: 'provider_error', message: 'It refuses.', retryable: false, ...fields };
}

export function toolCall(id: string, fields: Partial<ToolCallRequest> = {}): ToolCallRequest {
  return { id, name: 'work', kind: 'server', executor: 'mcp', timeoutMs: 1_000, ...fields };
}

export function approvalRequest(fields: Partial<ApprovalRequest> = {}): ApprovalRequest {
  return {
    decisionId: 'asked',
    toolCallId: 'call-1',
    toolName: 'guarded_work',
    origin: { kind: 'config_gate', matchedPattern: 'guarded_*' },
    route: 'conversational',
    timeoutMs: 3_000,
    reminderMs: 0,
    argumentsDigest: 'sha256:00',
    ...fields,
  };
}
