import type { ApprovalItem } from '../../src/approval-item.ts';

/** The n-th approval of a run, which waits for a person; override what the test is about. */
export const approvalItem = (n: number, change: Partial<ApprovalItem> = {}): ApprovalItem => ({
  decision_id: `01890000-0000-7000-8000-${n.toString(16).padStart(12, '0')}`,
  run_id: 'run',
  session_id: 'cs_1',
  agent: 'demo',
  tool_name: 'delete_file',
  tool_call_id: 'call_1',
  arguments: { path: '/tmp/x' },
  arguments_digest: 'sha256:00',
  origin: { kind: 'config_gate', matched_pattern: 'delete_*' },
  route: 'conversational',
  requested_at: 1_700_000_000_000,
  expires_at: 1_700_000_060_000,
  state: 'pending',
  reason: null,
  decided_by: null,
  parked: false,
  edited: null,
  grant: null,
  may: { decide: 'anyone', edit: false, grant: false },
  ...change,
});
