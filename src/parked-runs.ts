import type { Clock } from './clock.ts';
import type { RunRecord } from './handle.ts';
import type { Journal } from './journal/journal.ts';
import type { StoredApproval, StoredRun } from './stores/store.ts';

const PAGE_RUNS = 200;

/** Approvals of one run that are looked at; a turn asks for far fewer. */
const APPROVALS_MAX = 1_000;

export interface ParkedRunsDeps {
  readonly journal: Journal;
  readonly clock: Clock;
  readonly recover: 'fail' | 'resume';
  readonly park: { readonly resumeOnStart: boolean };
}

/**
 * The parked runs that are to come back without being asked for, newest first. Those parked by hand
 * and those that wait for a person are passed over. Rejects as the journal does.
 */
export async function* parkedRuns(deps: ParkedRunsDeps): AsyncGenerator<StoredRun> {
  let before: string | undefined;
  for (;;) {
    const page = await deps.journal.listRecords({
      resumable: true,
      limit: PAGE_RUNS,
      ...(before !== undefined && { before }),
    });
    for (const run of page) if (run.automatic && (await comesBack(run, deps))) yield run;
    before = page.at(-1)?.runId;
    if (page.length < PAGE_RUNS) return;
  }
}

/** Whether a start brings a parked run back that was not parked by hand. Rejects as the journal does. */
export async function comesBack(
  { runId, record }: Pick<StoredRun, 'runId' | 'record'>,
  { journal, clock, park, recover }: ParkedRunsDeps,
): Promise<boolean> {
  const approvals = await journal.index.listApprovals({ runId, limit: APPROVALS_MAX });
  const now = clock.now();
  const open = approvals.filter((approval) => isOpen(approval, now));
  if (open.length > 0) return false;
  // The last one was decided, or has expired, and the process ended before the run could go on.
  const isOver = approvals.length > 0;
  return isOver || park.resumeOnStart || (recover === 'resume' && wasLost(record));
}

const isOpen = ({ outcome, expiresAt }: StoredApproval, now: number): boolean =>
  outcome === undefined && expiresAt > now;

/** It was to be brought back as soon as it was found, and the process that found it ended too. */
const wasLost = (record: string): boolean =>
  (JSON.parse(record) as RunRecord).end?.reason === 'owner_lost';
