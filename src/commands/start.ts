import type { Agent } from '../agent.ts';
import {
  AgentNotFoundError,
  IdempotencyKeyReusedError,
  PolicyUnsupportedError,
  ShuttingDownError,
  SupervisorError,
  TenantLimitError,
} from '../errors.ts';
import type { RunRecord, StartedRun, StartRun } from '../handle.ts';
import { publicSessionId, tenantRealm } from '../session-key.ts';
import type { CommandContext } from './context.ts';
import { launch } from './launch.ts';

/** Longest timer that the clock of a process knows without chunking. */
const MS_MAX = 2_147_483_647;

/** Old entries go at the next sweep at the earliest. */
const RETRY_BYTES_MS = 60_000;

/** Starts a run, or finds the one that the same key started before. */
export async function startRun(context: CommandContext, given: StartRun): Promise<StartedRun> {
  const command = { ...given, tenant: context.tenant.tenant };
  const agent = admissible(context, command);
  await checkBytes(context);
  if (command.idempotency === undefined) return await launch(context, { agent, command });
  return await startOnce(context, { agent, command, idempotency: command.idempotency });
}

function admissible({ system, agents }: CommandContext, command: StartRun): Agent {
  if (!system.accepting) throw new ShuttingDownError();
  const agent = agents.get(command.agent);
  if (agent === undefined) throw new AgentNotFoundError(command.agent);
  if (hasControls(command.sessionId)) {
    const message = '"sessionId" holds control characters; give one without them.';
    throw new SupervisorError('invalid_request_error', message);
  }
  const { policy, graceMs } = command.liveness;
  checkMs('liveness.graceMs', graceMs);
  if (command.timeoutMs !== undefined) checkMs('timeoutMs', command.timeoutMs);
  if (policy === 'park' && !agent.canPark) throw new PolicyUnsupportedError(policy);
  return agent;
}

/** They would name another tenant's session. */
const hasControls = (text: string): boolean => /\p{Cc}/u.test(text);

function checkMs(name: string, ms: number): void {
  if (Number.isFinite(ms) && ms >= 0 && ms <= MS_MAX) return;
  throw new SupervisorError(
    'invalid_request_error',
    `"${name}" is ${ms}; give milliseconds from 0 to ${MS_MAX}.`,
  );
}

async function checkBytes({ journal, tenant }: CommandContext): Promise<void> {
  const { storedBytesMax } = tenant;
  if (storedBytesMax === 0) return;
  const bytes = await journal.index.totalBytes(tenantRealm(tenant.tenant));
  if (bytes < storedBytesMax) return;
  const message = `This tenant stores ${bytes} of ${storedBytesMax} bytes; wait until old runs are let go.`;
  throw new TenantLimitError(message, RETRY_BYTES_MS);
}

interface KeyedStart {
  readonly agent: Agent;
  readonly command: StartRun;
  readonly idempotency: NonNullable<StartRun['idempotency']>;
}

/** Those that come while the first one starts wait for it, and share its end if it fails. */
async function startOnce(context: CommandContext, what: KeyedStart): Promise<StartedRun> {
  const { starts, tenant } = context;
  const { key: given, digest } = what.idempotency;
  const key = `${tenantRealm(tenant.tenant)}${given}`;
  const pending = starts.get(key);
  if (pending !== undefined) {
    checkDigest(pending.digest, digest);
    return { ...(await pending.started), repeated: true };
  }
  const started = findOrLaunch(context, what, key);
  starts.set(key, { digest, started });
  try {
    return await started;
  } finally {
    starts.delete(key);
  }
}

async function findOrLaunch(
  context: CommandContext,
  { agent, command, idempotency }: KeyedStart,
  key: string,
): Promise<StartedRun> {
  const { digest } = idempotency;
  const known = await context.journal.index.getStart(key);
  if (known === undefined)
    return await launch(context, { agent, command, startKey: { key, digest } });
  checkDigest(known.digest, digest);
  return await startedBefore(context, known.runId, command);
}

function checkDigest(first: string, again: string): void {
  if (first !== again) throw new IdempotencyKeyReusedError();
}

async function startedBefore(
  { journal }: CommandContext,
  runId: string,
  command: StartRun,
): Promise<StartedRun> {
  const stored = await journal.getRecord(runId);
  if (stored === undefined) throw new Error(`invariant: run ${runId} is stored with its key`);
  const record = JSON.parse(stored.record) as RunRecord;
  return {
    runId,
    sessionId: publicSessionId(stored.sessionId),
    seq: record.first_seq,
    liveness: { policy: record.liveness.policy, graceMs: record.liveness.grace_ms },
    state: record.started_at === null && command.onBusy !== 'parallel' ? 'queued' : 'running',
    repeated: true,
  };
}
