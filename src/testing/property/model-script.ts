import fc from 'fast-check';
import type { ModelEnd, ModelPlay, ModelScript, ToolAsked } from '../simulation/steps.ts';

/**
 * One call of a tool that a model asks for, with how its execution goes. What waits for a person comes
 * often, because that is where histories become long.
 */
export const toolAsked = (): fc.Arbitrary<ToolAsked> =>
  fc.record(
    {
      tool: fc.constantFrom<ToolAsked['tool']>(
        ...(['safe', 'again', 'danger', 'danger', 'danger', 'danger', 'deaf', 'asking'] as const),
        'theirs',
      ),
      ms: fc.constantFrom(0, 0, 400, 3_000, 25_000),
      ends: fc.constantFrom<ToolAsked['ends']>('ok', 'ok', 'ok', 'ok', 'fails', 'rejects', 'hangs'),
      hook: fc.constantFrom<NonNullable<ToolAsked['hook']>>(
        ...(['approve', 'approve', 'deny', 'busy', 'broken', 'silent'] as const),
      ),
    },
    { requiredKeys: ['tool', 'ms', 'ends'] },
  );

/** How an exchange ends: with calls mostly, for the sake of what follows. */
export const modelEnd = (): fc.Arbitrary<ModelEnd> =>
  fc.oneof(
    {
      weight: 12,
      arbitrary: fc.record({
        end: fc.constant('tools' as const),
        tools: fc.array(toolAsked(), { minLength: 1, maxLength: 3 }),
      }),
    },
    {
      weight: 2,
      arbitrary: fc.record({
        end: fc.constantFrom(
          'stop' as const,
          'stop' as const,
          'length' as const,
          'content_filter' as const,
        ),
      }),
    },
    { weight: 1, arbitrary: fc.record({ end: fc.constant('stall' as const) }) },
    { weight: 1, arbitrary: fc.record({ end: fc.constant('cut' as const) }) },
    {
      weight: 1,
      arbitrary: fc.record({
        end: fc.constant('error' as const),
        retryable: fc.boolean(),
        code: fc.constantFrom(
          'provider_error' as const,
          'provider_rate_limited' as const,
          'context_length_exceeded' as const,
        ),
      }),
    },
  );

/** One exchange with a model: silence, pieces of text, an end. Shrinks to a short one that just stops. */
export const modelPlay = (): fc.Arbitrary<ModelPlay> =>
  fc.record({
    silenceMs: fc.constantFrom(0, 0, 0, 0, 0, 300, 300, 6_000, 25_000),
    deltas: fc.nat(4),
    pauseMs: fc.constantFrom(0, 0, 0, 0, 200, 4_000, 20_000),
    chars: fc.oneof(
      { weight: 16, arbitrary: fc.constantFrom(5, 40) },
      { weight: 1, arbitrary: fc.constantFrom(40_000, 120_000) },
    ),
    ending: modelEnd(),
  });

/** What a model does for one run: deltas, calls, stalls, errors and streams that break off. */
export const modelScript = (): fc.Arbitrary<ModelScript> =>
  fc.array(modelPlay(), { minLength: 0, maxLength: 5 });
