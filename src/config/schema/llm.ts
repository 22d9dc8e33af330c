import * as z from 'zod';
import { canonicalJson } from '../../hitl/digest.ts';
import { DEFAULTS } from '../defaults.ts';
import type { LlmConfig, ReasoningEffort } from '../config.ts';
import { decimal, httpUrl, integer, oneOf, text } from '../values.ts';
import { field, present, refuseNotYet, table } from './fields.ts';

const TOKENS = integer({ min: 1, max: Number.MAX_SAFE_INTEGER });
const EFFORTS: readonly ReasoningEffort[] = ['none', 'minimal', 'low', 'medium', 'high', 'xhigh'];

/** Providers of AURA's that are not built. */
const PLANNED = ['anthropic', 'gemini', 'openrouter', 'bedrock', 'ollama'] as const;

const openai = table({
  provider: z.literal('openai'),
  api_key: field(text('"{{ env.OPENAI_API_KEY }}"')),
  model: field(text('"gpt-5-mini"')),
  base_url: field(httpUrl).optional(),
  max_tokens: field(TOKENS).optional(),
  context_window: field(TOKENS).optional(),
  reasoning_effort: field(oneOf(EFFORTS)).optional(),
  temperature: field(decimal({ min: 0, max: 2 })).optional(),
  additional_params: z.record(z.string(), z.unknown()).superRefine(refuseNoJson).optional(),
}).transform(
  (llm): LlmConfig => ({
    provider: llm.provider,
    apiKey: llm.api_key,
    model: llm.model,
    ...present({
      baseUrl: llm.base_url,
      maxTokens: llm.max_tokens,
      contextWindow: llm.context_window,
      reasoningEffort: llm.reasoning_effort,
      temperature: llm.temperature,
      additionalParams: llm.additional_params,
    }),
  }),
);

/** It is one model with one name, so there is nothing to choose. */
const scripted = table({ provider: z.literal('scripted') }).transform(
  ({ provider }): LlmConfig => ({ provider, model: DEFAULTS.scriptedModel }),
);

const planned = z.looseObject({ provider: z.literal(PLANNED) }).transform((_, ctx): LlmConfig => {
  refuseNotYet(ctx, 'Use "openai"; with base_url it reaches any OpenAI-compatible endpoint.', [
    'provider',
  ]);
  return z.NEVER;
});

/** They go into the request's body, which is JSON: it has no nan, no inf and no huge integers. */
function refuseNoJson(params: Record<string, unknown>, ctx: z.core.$RefinementCtx): void {
  for (const [key, value] of Object.entries(params)) {
    if (isJson(value)) continue;
    const suggestion = 'Use strings, switches, lists, tables and numbers that JSON knows.';
    ctx.addIssue({ code: 'custom', path: [key], message: 'is not JSON', params: { suggestion } });
  }
}

function isJson(value: unknown): boolean {
  try {
    canonicalJson(value);
    return true;
  } catch {
    return false;
  }
}

/** `[agent.llm]`; `provider` selects which keys are known. */
export const llmSchema = z.discriminatedUnion('provider', [openai, scripted, planned]);
