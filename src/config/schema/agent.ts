import * as z from 'zod';
import { TURN_DEPTH } from '../ranges.ts';
import { integer, text, toggle } from '../values.ts';
import {
  field,
  idleTable,
  isEmptyList,
  notYet,
  notYetUnless,
  strings,
  switchedOff,
  table,
} from './fields.ts';
import { llmSchema } from './llm.ts';

const scratchpad = table({
  ...idleTable(['context_safety_margin', 'max_extraction_tokens', 'turn_depth_bonus']),
  enabled: switchedOff('Leave the scratchpad out or set enabled = false.'),
});

const skills = table({ local: notYetUnless(isEmptyList, 'Leave skills out.') });

/** `[agent]`. */
export const agentSchema = table({
  name: field(text('"assistant"')),
  alias: field(text('"my-agent"')).optional(),
  description: z.string().optional(),
  system_prompt: z.string(),
  context: strings.optional(),
  turn_depth: field(integer(TURN_DEPTH)).optional(),
  created_at: field(
    integer({ min: 0, max: 8_640_000_000_000_000, note: 'milliseconds since 1970' }),
  ).optional(),
  model_owner: field(text('"my-company"')).optional(),
  mcp_filter: strings.optional(),
  enable_client_tools: field(toggle).optional(),
  client_tool_filter: strings.optional(),
  hidden: field(toggle).optional(),
  nudge_last_turn: switchedOff('Leave it out or set it to false.'),
  nudge_turns_remaining: notYet('Leave it out.'),
  llm: llmSchema,
  scratchpad: scratchpad.optional(),
  skills: skills.optional(),
});

export type AgentToml = z.output<typeof agentSchema>;
