import * as z from 'zod';
import { agentSchema } from './agent.ts';
import { authSchema } from './auth.ts';
import { idleTable, isEmptyList, notYet, notYetUnless, switchedOff, table } from './fields.ts';
import { hitlSchema } from './hitl.ts';
import { mcpSchema } from './mcp.ts';
import { runtimeSchema } from './runtime.ts';

const tools = table({
  filesystem: switchedOff('Leave it out; connect an MCP server for files.'),
  custom_tools: notYetUnless(isEmptyList, 'Leave it out; connect an MCP server.'),
});

/** Known while it is off, so that a misspelt key does not wait for the day it is switched on. */
const orchestration = table({
  ...idleTable([
    'max_planning_cycles',
    'max_plan_parse_retries',
    'worker_system_prompt',
    'coordinator_vector_stores',
    'allow_direct_answers',
    'allow_clarification',
    'tools_in_planning',
    'max_tools_per_worker',
    'duplicate_call_nudge_threshold',
    'duplicate_call_block_threshold',
    'timeouts',
    'artifacts',
    'worker',
    'memory_dir',
    'memory_path',
    'result_artifact_threshold',
    'result_summary_length',
    'session_history_turns',
    'persistence_drain_timeout_ms',
    'tool_output_artifact_threshold',
    'tool_output_duration_threshold_ms',
    'show_tool_reasoning_in_continuation',
    'max_session_runs',
  ]),
  enabled: switchedOff('Set enabled = false; a single agent works without it.'),
});

/** What a top-level `[llm]` of old configurations is answered. */
const legacyLlm = z
  .unknown()
  .superRefine((value, ctx) => {
    if (value === undefined) return;
    const suggestion = 'Rename the table [llm] to [agent.llm].';
    ctx.addIssue({
      code: 'custom',
      message: 'is the old place of the model',
      params: { suggestion },
    });
  })
  .optional();

const KNOWN = {
  agent: agentSchema.optional(),
  mcp: mcpSchema.optional(),
  hitl: hitlSchema.optional(),
  runtime: runtimeSchema.optional(),
  tools: tools.optional(),
  orchestration: orchestration.optional(),
  llm: legacyLlm,
  auth: authSchema.optional(),
  vector_stores: notYetUnless(isEmptyList, 'Leave the vector stores out.'),
  memory_dir: notYet('Leave it out; --data-dir says where the journal is kept.'),
};

/**
 * One configuration file. Keys that it does not know are kept, because they are only warned of.
 * Which tables must be there depends on the other files, so that is checked elsewhere.
 */
export const rootSchema = z.looseObject(KNOWN);

export const ROOT_KEYS: readonly string[] = Object.keys(KNOWN);

export type RootToml = z.output<typeof rootSchema>;
