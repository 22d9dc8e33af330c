import { z } from 'zod';

/**
 * What the commands print of the server's answers, and no more: a newer server may send other keys,
 * states and types. The whole shapes are in `src/handle.ts`.
 */
const liveness = z.object({ policy: z.string(), grace_ms: z.number() });

const runEnd = z.object({
  by: z.string(),
  at: z.number(),
  after_ms: z.number(),
  evidence: z.array(z.number()),
  reason: z.string().nullish(),
  which: z.string().nullish(),
  error: z.object({ code: z.string(), message: z.string() }).nullish(),
});

const deadline = z.object({
  which: z.string(),
  remaining_ms: z.number(),
  suspended: z.boolean(),
});

export const runShape = z.object({
  run_id: z.string(),
  session_id: z.string(),
  agent: z.string(),
  state: z.string(),
  liveness,
  created_at: z.number(),
  started_at: z.number().nullable(),
  ended_at: z.number().nullable(),
  claims: z.array(z.object({ id: z.string(), presence: z.boolean() })),
  observers: z.number(),
  deadlines: z.array(deadline),
  obligations: z.array(z.object({ what: z.string(), id: z.string(), state: z.string() })),
  approvals: z.array(z.string()),
  usage: z.object({
    prompt_tokens: z.number(),
    completion_tokens: z.number(),
    total_tokens: z.number(),
  }),
  first_seq: z.number(),
  last_seq: z.number(),
  continues: z.string().nullish(),
  continued_by: z.string().nullish(),
  end: runEnd.nullable(),
  verbs: z.array(z.string()),
});

export type Run = z.output<typeof runShape>;

export const sessionShape = z.object({
  session_id: z.string(),
  created_at: z.number(),
  runs: z.number(),
  live: z.array(z.string()),
  last_run: z.string(),
  state: z.string(),
  last_seq: z.number(),
});

export type Session = z.output<typeof sessionShape>;

export const approvalShape = z.object({
  decision_id: z.string(),
  run_id: z.string(),
  session_id: z.string(),
  agent: z.string(),
  tool_name: z.string(),
  arguments: z.unknown(),
  arguments_digest: z.string(),
  origin: z.looseObject({ kind: z.string() }),
  route: z.string(),
  requested_at: z.number(),
  expires_at: z.number(),
  state: z.string(),
  reason: z.string().nullish(),
  decided_by: z.string().nullish(),
  edited: z.object({ arguments: z.unknown(), arguments_digest: z.string() }).nullish(),
  grant: z.string().nullish(),
  parked: z.boolean(),
  may: z.object({ decide: z.string(), edit: z.boolean(), grant: z.boolean() }),
});

export type Approval = z.output<typeof approvalShape>;

export const explanationShape = z.object({
  run_id: z.string(),
  state: z.string(),
  prose: z.array(z.string()),
  chain: z.array(
    z.object({ at: z.number(), kind: z.string(), seq: z.number().nullable(), text: z.string() }),
  ),
  blocked_by: z.array(
    z.object({
      chart: z.string(),
      guard: z.string(),
      event: z.string().nullable(),
      because: z.string(),
    }),
  ),
});

export type Explained = z.output<typeof explanationShape>;

export const resumedShape = z.object({ run_id: z.string(), continues: z.string() });

/** One line of a stream. A `gap` has no `seq`. */
export const entryShape = z.object({
  run_id: z.string().optional(),
  seq: z.number().optional(),
  at: z.number(),
  payload: z.object({ event: z.looseObject({ type: z.string() }) }),
});

export type Entry = z.output<typeof entryShape>;

/** One page of a list. */
export const pageShape = z.object({ data: z.array(z.unknown()), next: z.string().nullable() });

/** The body of a refusal. */
export const refusalShape = z.object({
  error: z.object({
    message: z.string(),
    type: z.string().optional(),
    code: z.string().nullish(),
    run_id: z.string().optional(),
  }),
});
