import { z } from 'zod';
import type { ApprovalOrigin, Liveness } from '../../machines/vocabulary.ts';
import type { ChatMessage, ToolCall } from '../model.ts';
import type { ToolSpec } from '../tool.ts';
import { StoreError } from '../stores/store.ts';

/**
 * From where a run can go on: at its start, after each model turn that asked for tools, and when the
 * results of those are in. It is our own record and never a snapshot of a chart, so that it outlives
 * changes of the charts and of their library. It holds no header and no key.
 *
 * A field may be added to a version if older readers may pass over it; anything else is a new
 * version, with a reader for each older one.
 */
export interface Checkpoint {
  readonly version: 1;
  readonly runId: string;
  /** As its tenant knows it. */
  readonly sessionId: string;
  readonly agent: string;
  readonly prompt: string;
  /** It has yet to be put behind what the session's last run left. */
  readonly continuesSession?: true;
  readonly streaming: boolean;
  readonly liveness: Liveness;
  readonly timeoutMs?: number;
  readonly clientTools?: readonly ToolSpec[];
  /** The newest entry of the run that it knows of. */
  readonly seq: number;
  /** Model turns taken. */
  readonly turn: number;
  /** The conversation without the agent's own system prompt, up to the last model turn. */
  readonly messages: readonly ChatMessage[];
  /** The calls of the last model turn, in its order, while their results are not in `messages`. */
  readonly calls: readonly CheckpointCall[];
  /** How often a run of this chain was lost with its process and brought back. */
  readonly recoveries: number;
}

export interface CheckpointCall {
  readonly call: ToolCall;
  readonly client: boolean;
  /** Present when it has ended. */
  readonly result?: { readonly text: string; readonly isError: boolean };
  /**
   * Present when a person was asked in the inbox to approve it and has not answered. A webhook is asked
   * anew by the run that goes on.
   */
  readonly approval?: CheckpointApproval;
}

export interface CheckpointApproval {
  readonly decisionId: string;
  /** A question of an executor is never kept: it goes with the execution. */
  readonly origin: Exclude<ApprovalOrigin, { kind: 'elicitation' }>;
  readonly argumentsDigest: string;
  /** Epoch milliseconds. */
  readonly requestedAt: number;
  readonly expiresAt: number;
}

const toolCall = z.object({ id: z.string(), name: z.string(), argumentsText: z.string() });

const message = z.discriminatedUnion('role', [
  z.object({ role: z.literal('system'), content: z.string() }),
  z.object({ role: z.literal('user'), content: z.string() }),
  z.object({
    role: z.literal('assistant'),
    content: z.string(),
    toolCalls: z.array(toolCall).optional(),
    interrupted: z.literal(true).optional(),
  }),
  z.object({ role: z.literal('tool'), toolCallId: z.string(), content: z.string() }),
]);

const origin = z.discriminatedUnion('kind', [
  z.object({ kind: z.literal('config_gate'), matchedPattern: z.string() }),
  z.object({ kind: z.literal('agent_requested'), reason: z.string(), agentName: z.string() }),
]);

const approval = z.object({
  decisionId: z.string(),
  origin,
  argumentsDigest: z.string(),
  requestedAt: z.number(),
  expiresAt: z.number(),
});

const checkpointV1 = z.object({
  version: z.literal(1),
  runId: z.string(),
  sessionId: z.string(),
  agent: z.string(),
  prompt: z.string(),
  continuesSession: z.literal(true).optional(),
  streaming: z.boolean(),
  liveness: z.object({ policy: z.enum(['cancel', 'continue', 'park']), graceMs: z.number() }),
  timeoutMs: z.number().optional(),
  clientTools: z
    .array(
      z.object({
        name: z.string(),
        description: z.string().optional(),
        parameters: z.record(z.string(), z.unknown()),
      }),
    )
    .optional(),
  seq: z.int(),
  turn: z.int().min(0),
  messages: z.array(message),
  calls: z.array(
    z.object({
      call: toolCall,
      client: z.boolean(),
      result: z.object({ text: z.string(), isError: z.boolean() }).optional(),
      approval: approval.optional(),
    }),
  ),
  recoveries: z.int().min(0),
});

/** Readers by version: each gives the present shape. */
const READERS: Readonly<Record<number, (json: unknown) => Checkpoint>> = {
  // The schema is the interface; optional keys are absent, not undefined, in what JSON gives.
  1: (json) => checkpointV1.parse(json) as Checkpoint,
};

export const encodeCheckpoint = (checkpoint: Checkpoint): string => JSON.stringify(checkpoint);

/** Throws {@link StoreError} that says whether the version or a field is not understood. */
export function parseCheckpoint(text: string): Checkpoint {
  const json = jsonOf(text);
  const version = (json as { version?: unknown } | null)?.version;
  const read = typeof version === 'number' ? READERS[version] : undefined;
  if (read === undefined) {
    throw new StoreError(
      `A checkpoint has the version ${String(version)}, which this version of Runwarden does not read.`,
    );
  }
  try {
    return read(json);
  } catch (cause) {
    throw new StoreError(`A checkpoint is damaged: ${fieldOf(cause)}.`, { cause });
  }
}

function jsonOf(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch (cause) {
    throw new StoreError('A checkpoint is damaged: it is not JSON.', { cause });
  }
}

function fieldOf(cause: unknown): string {
  if (!(cause instanceof z.ZodError)) return 'it cannot be read';
  const [issue] = cause.issues;
  return `${issue?.path.join('.') || 'the record'}: ${issue?.message ?? 'invalid'}`;
}

/** What the `parked` entry names a checkpoint by. */
export const checkpointName = ({ version, runId, seq }: Checkpoint): string =>
  `v${version}:${runId}:${seq}`;
