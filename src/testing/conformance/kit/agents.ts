/** The agents that a server under test serves, each for what the others cannot have at once. */
export const AGENTS = {
  /** Tools and nobody to ask. */
  plain: 'conformance',
  /** A tool that a person must approve, in the conversation, with reminders. */
  approvals: 'conformance-approvals',
  /** The same with little patience. */
  impatient: 'conformance-impatient',
  /** A webhook decides. */
  webhook: 'conformance-webhook',
} as const;

export type AgentName = (typeof AGENTS)[keyof typeof AGENTS];

/** The tools of the kit's MCP server. What they do is decided call by call. */
export const TOOLS = {
  work: 'work',
  /** Its own deadline is short. */
  brief: 'brief_work',
  /** A person must approve it. */
  guarded: 'guarded_work',
  /** A rule forbids it. */
  forbidden: 'forbidden_work',
} as const;

/** Short enough to wait for, long enough for a slow machine to do what must come before. */
export const DEADLINES = {
  firstChunkSecs: 5,
  inactivitySecs: 6,
  stepSecs: 8,
  toolSecs: 2,
  approvalSecs: 30,
  impatientApprovalSecs: 3,
  reminderSecs: 3,
} as const;
