import type { ApprovalFilter, ApprovalItem } from '../../src/approval-item.ts';
import type { Page, PageQuery, SessionRecord } from '../../src/handle.ts';
import type { FakeJournal } from './fake-journal.ts';
import type { FakeRun } from './fake-run.ts';

/** Whether an approval is as the filter wants it. */
export function matches(item: ApprovalItem, filter: ApprovalFilter): boolean {
  const { state, agent, sessionId, runId, toolName, origin } = filter;
  return (
    (state === undefined || item.state === state) &&
    (agent === undefined || item.agent === agent) &&
    (sessionId === undefined || item.session_id === sessionId) &&
    (runId === undefined || item.run_id === runId) &&
    (toolName === undefined || item.tool_name === toolName) &&
    (origin === undefined || item.origin.kind === origin)
  );
}

/** Rows behind `after`, which is the cursor of one of them. */
export function pageOf<T>(
  rows: readonly T[],
  { limit, after }: PageQuery,
  cursorOf: (row: T) => string,
): Page<T> {
  const rest = after === undefined ? rows : rows.filter((row) => cursorOf(row) < after);
  const data = rest.slice(0, limit);
  const last = data.at(-1);
  const next = last === undefined || rest.length <= limit ? null : cursorOf(last);
  return { data, next };
}

/** The record of the session that these runs are of. */
export function sessionOf(runs: readonly FakeRun[], journal: FakeJournal): SessionRecord {
  const [first] = runs;
  const last = runs.at(-1);
  if (first === undefined || last === undefined) throw new Error('invariant: a session has a run');
  const live = runs.filter((run) => run.live).map(({ runId }) => runId);
  return {
    session_id: first.sessionId,
    created_at: 1_700_000_000_000,
    runs: runs.length,
    live,
    last_run: last.runId,
    state: live.length > 0 ? 'running' : last.state === 'parked' ? 'parked' : 'idle',
    last_seq: journal.entries(first.sessionKey).length,
  };
}
