import type {
  AppendOutcome,
  AppendPart,
  Lease,
  Store,
  TerminalLine,
} from '../../src/stores/store.ts';

export const NOW = 1_700_000_000_000;
export const TTL_MS = 15_000;
export const ALL = { entriesMax: 1_000, bytesMax: 1_000_000 };

/** A line as a journal would write it; a store must not look into it. */
export const lineOf = (seq: number, text = `entry ${seq}`): string => JSON.stringify({ seq, text });

/** Consecutive lines of one session. */
export function partOf(lease: Lease, firstSeq: number, count: number): AppendPart {
  const lines = Array.from({ length: count }, (_, i) => lineOf(firstSeq + i));
  return { lease, firstSeq, count, body: lines.join('\n') };
}

export const terminalAfter = (lease: Lease, firstSeq: number, runId: string, record?: string) => ({
  ...partOf(lease, firstSeq, 0),
  terminal: { runId, line: lineOf(firstSeq, 'end'), ...(record !== undefined && { record }) },
});

export async function acquire(store: Store, key: string, owner = 'me', now = NOW): Promise<Lease> {
  const outcome = await store.acquire({ key, owner, now, ttlMs: TTL_MS });
  if (!outcome.acquired) throw new Error(`${key} is held by ${outcome.owner}`);
  return outcome.lease;
}

/** Appends one line to a session, with what else a part may have, and answers the outcome. */
export async function step(
  store: Store,
  lease: Lease,
  rest: Omit<Partial<AppendPart>, 'terminal'> & { terminal?: Omit<TerminalLine, 'line'> } = {},
): Promise<AppendOutcome> {
  const { terminal, ...others } = rest;
  const firstSeq = (await store.head(lease.key)) + 1;
  const part = { ...partOf(lease, firstSeq, 1), ...others };
  const line = lineOf(firstSeq + part.count, 'end');
  const [outcome] = await store.append([
    terminal === undefined ? part : { ...part, terminal: { ...terminal, line } },
  ]);
  if (outcome === undefined) throw new Error('The store gave no outcome.');
  return outcome;
}

/** Begins a run as a supervisor does: its first entry, record and checkpoint in one part. */
export const begin = (
  store: Store,
  lease: Lease,
  runId: string,
  rest: Omit<Partial<AppendPart>, 'terminal'> = {},
): Promise<AppendOutcome> =>
  step(store, lease, {
    records: [{ runId, record: '{}' }],
    checkpoints: [{ runId, checkpoint: `first of ${runId}` }],
    ...rest,
  });

/** Parks a run with the approvals of these ids, which expire a second after {@link NOW}. */
export const park = (
  store: Store,
  lease: Lease,
  runId: string,
  { automatic = false, decisionIds = [] }: { automatic?: boolean; decisionIds?: string[] } = {},
): Promise<AppendOutcome> => {
  const approvals = decisionIds.map((decisionId) => approvalLine(decisionId));
  const parked = { checkpoint: `last of ${runId}`, automatic, approvals };
  return step(store, lease, { terminal: { runId, parked } });
};

export const approvalLine = (decisionId: string, record = '{}') => ({
  decisionId,
  record,
  expiresAt: NOW + 1_000,
});

export const WRITTEN = { status: 'written' };
