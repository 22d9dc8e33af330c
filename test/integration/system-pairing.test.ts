import { describe, expect, it } from 'vitest';
import { delta, finish } from '../../src/testing/fake-upstream-steps.ts';
import type { UpstreamAnswer } from '../../src/testing/fake-upstream.ts';
import {
  ASKS_FIRST,
  askedOf,
  begin,
  calls,
  callSteps,
  control,
  decide,
  ECHO,
  ended,
  eventsOf,
  gated,
  heard,
  says,
  STALLED,
  WAITS,
} from '../support/api-kit.ts';
import { goOn, matching } from '../support/api-pairing.ts';
import type { Exchange } from '../support/system-client.ts';
import { type SystemOptions, type SystemWorld, systemWorlds } from '../support/system-world.ts';

/**
 * Hazard: a conversation that no provider takes any more. Whatever ended a run, the next one of its
 * session goes on with what it left: each call beside one result that tells the truth.
 */

const start = systemWorlds();
const WEB: SystemOptions = { mcp: ['web'] };
const GATED: SystemOptions = { ...WEB, toml: ASKS_FIRST };
const timeouts = (lines: string): SystemOptions => ({
  ...WEB,
  toml: `[runtime.timeouts]\n${lines}`,
});

interface Acting {
  readonly world: SystemWorld;
  readonly runId: string;
  readonly reader: Exchange;
}

interface Way {
  readonly way: string;
  readonly options?: SystemOptions;
  readonly answers: readonly UpstreamAnswer[];
  /** What is done once the run has begun. */
  readonly act?: (acting: Acting) => Promise<unknown>;
  /** The run's record at its end. */
  readonly end: object;
  /** What the next run sends, between the first prompt and its own. */
  readonly left: readonly (string | RegExp)[];
}

const onText = async ({ reader }: Acting) => heard(reader, ({ type }) => type === 'text_delta');
const onTool = async ({ reader }: Acting) => heard(reader, ({ type }) => type === 'tool_progress');
const cancel = async ({ world, runId }: Acting) => control(world, runId, 'cancel').json();
const park = async ({ world, runId }: Acting) => control(world, runId, 'park').json();
const supersede = async ({ world }: Acting) => {
  world.answer(says('Instead.'));
  const { run_id: runId } = await begin(world, { prompt: 'Stop', on_busy: 'interrupt' });
  await ended(world, runId);
};

const CANCELLED = { state: 'cancelled', end: { reason: 'external' } };
const byDeadline = (which: string) => ({ state: 'cancelled', end: { reason: 'deadline', which } });
const CALL = 'assistant: [call_1=echo]';
const CALL_WAITS = 'assistant: [call_1=waits]';
const BROKEN: UpstreamAnswer = { steps: [delta({ content: 'Half' }), { kind: 'cut' }] };
const TWO = calls(WAITS, { id: 'call_2', name: 'echo', arguments: { said: 'y' } });

const WAYS: readonly Way[] = [
  {
    way: 'a finish',
    answers: [says('Done.')],
    end: { state: 'finished' },
    left: ['assistant: Done.'],
  },
  {
    way: 'a finish behind a tool',
    options: WEB,
    answers: [calls(ECHO), says('Done.')],
    end: { state: 'finished' },
    left: [CALL, 'tool call_1: x', 'assistant: Done.'],
  },
  {
    way: 'a finish with nothing said',
    answers: [{ steps: [finish('stop'), { kind: 'done' }] }],
    end: {},
    left: [],
  },
  {
    way: 'a finish behind a tool that does not exist',
    options: WEB,
    answers: [calls({ id: 'call_1', name: 'nowhere' }), says('Done.')],
    end: { state: 'finished' },
    left: ['assistant: [call_1=nowhere]', /^tool call_1: .*nowhere/, 'assistant: Done.'],
  },
  {
    way: 'a finish behind arguments that are no JSON',
    options: WEB,
    answers: [calls({ ...ECHO, arguments: '{"said": ' }), says('Done.')],
    end: { state: 'finished' },
    left: [CALL, /^tool call_1: .*JSON/, 'assistant: Done.'],
  },
  {
    way: 'a finish behind a tool that failed',
    options: WEB,
    answers: [calls({ id: 'call_1', name: 'throws' }), says('Done.')],
    end: { state: 'finished' },
    left: ['assistant: [call_1=throws]', /^tool call_1: .*no luck/, 'assistant: Done.'],
  },
  {
    way: 'a cancel in mid-text',
    answers: [STALLED],
    act: async (acting) => {
      await onText(acting);
      await cancel(acting);
    },
    end: CANCELLED,
    left: [/^assistant: Half/],
  },
  {
    way: 'a cancel before the first word',
    answers: [{ steps: [{ kind: 'stall' }] }],
    act: async (acting) => {
      await acting.world.upstream.request(0);
      await cancel(acting);
    },
    end: CANCELLED,
    left: [],
  },
  {
    way: 'a cancel in mid-tool',
    options: WEB,
    answers: [calls(WAITS)],
    act: async (acting) => {
      await onTool(acting);
      await cancel(acting);
    },
    end: CANCELLED,
    left: [CALL_WAITS, /^tool call_1: .*cancelled/i],
  },
  {
    way: 'a cancel with one tool done and one at work',
    options: WEB,
    answers: [TWO],
    act: async (acting) => {
      await heard(acting.reader, ({ type }) => type === 'tool_complete');
      await onTool(acting);
      await cancel(acting);
    },
    end: CANCELLED,
    left: [
      'assistant: [call_1=waits][call_2=echo]',
      /^tool call_1: .*cancelled/i,
      'tool call_2: y',
    ],
  },
  {
    way: 'a cancel with a tool that had to wait for its turn',
    options: { ...WEB, toml: '[runtime]\nmax_parallel_tools = 1' },
    answers: [TWO],
    act: async (acting) => {
      await onTool(acting);
      await cancel(acting);
    },
    end: CANCELLED,
    left: [
      'assistant: [call_1=waits][call_2=echo]',
      /^tool call_1: .*cancelled/i,
      /^tool call_2: .*(cancelled|not|never)/i,
    ],
  },
  {
    way: 'a cancel in the turn behind a tool',
    options: WEB,
    answers: [calls(ECHO), STALLED],
    act: async (acting) => {
      await onText(acting);
      await cancel(acting);
    },
    end: CANCELLED,
    left: [CALL, 'tool call_1: x', /^assistant: Half/],
  },
  {
    way: 'a tool’s own deadline, behind which the run goes on',
    options: { ...WEB, toml: '[runtime.tools."waits"]\ntimeout_secs = 0.3' },
    answers: [calls(WAITS), says('Too slow.')],
    end: { state: 'finished' },
    left: [CALL_WAITS, /^tool call_1: .*(timed out|timeout)/i, 'assistant: Too slow.'],
  },
  {
    way: 'the step’s deadline, in mid-tool',
    options: timeouts('step_secs = 0.3\nstep_allowance_secs = 0'),
    answers: [calls(WAITS)],
    end: byDeadline('step'),
    left: [CALL_WAITS, /^tool call_1: \S/],
  },
  {
    way: 'the total deadline, in mid-text',
    options: timeouts('total_secs = 0.4'),
    answers: [STALLED],
    end: byDeadline('total'),
    left: [/^assistant: Half/],
  },
  {
    way: 'the first chunk’s deadline',
    options: { flags: { 'first-chunk-timeout-secs': '0.3' } },
    answers: [{ steps: [{ kind: 'stall' }] }],
    end: byDeadline('first_chunk'),
    left: [],
  },
  {
    way: 'the deadline of inactivity',
    options: { flags: { 'stream-inactivity-timeout-secs': '0.3' } },
    answers: [STALLED],
    end: byDeadline('inactivity'),
    left: [/^assistant: Half/],
  },
  {
    way: 'an error of the provider',
    answers: [{ status: 400, body: { error: { message: 'No.', type: 'x', code: null } } }],
    end: { state: 'failed', end: { error: { code: 'provider_error' } } },
    left: [],
  },
  {
    way: 'an error of the provider behind a tool',
    options: WEB,
    answers: [
      calls(ECHO),
      { status: 400, body: { error: { message: 'No.', type: 'x', code: null } } },
    ],
    end: { state: 'failed', end: { error: { code: 'provider_error' } } },
    left: [CALL, 'tool call_1: x'],
  },
  {
    way: 'a stream of the provider that broke',
    answers: [BROKEN],
    end: { state: 'failed' },
    left: [/^assistant: Half/],
  },
  {
    way: 'a stream of the provider that broke in a call',
    options: WEB,
    answers: [
      {
        steps: [
          delta({
            tool_calls: [
              {
                index: 0,
                id: 'call_1',
                type: 'function',
                function: { name: 'echo', arguments: '{' },
              },
            ],
          }),
          { kind: 'cut' },
        ],
      },
    ],
    end: { state: 'failed' },
    left: [],
  },
  {
    way: 'the turn limit',
    options: { ...WEB, agent: 'turn_depth = 1' },
    answers: [calls(ECHO), calls({ ...ECHO, id: 'call_2' }), calls({ ...ECHO, id: 'call_3' })],
    end: { state: 'failed', end: { error: { code: 'turn_limit' } } },
    left: [
      CALL,
      'tool call_1: x',
      'assistant: [call_2=echo]',
      'tool call_2: x',
      'assistant: [call_3=echo]',
      /^tool call_3: .*turn_limit/,
    ],
  },
  {
    way: 'a newer run, in mid-tool',
    options: WEB,
    answers: [calls(WAITS)],
    act: async (acting) => {
      await onTool(acting);
      await supersede(acting);
    },
    end: { state: 'cancelled', end: { reason: 'superseded' } },
    left: [
      CALL_WAITS,
      /^tool call_1: .*(superseded|cancelled)/i,
      'user: Stop',
      'assistant: Instead.',
    ],
  },
  {
    way: 'a denial',
    options: GATED,
    answers: [calls(ECHO), says('Then not.')],
    act: async ({ world, reader }) => {
      const body = { approved: false, reason: 'too risky' };
      await decide(world, await askedOf(reader), body).answered;
    },
    end: { state: 'finished' },
    left: [CALL, /^tool call_1: .*too risky/, 'assistant: Then not.'],
  },
  {
    way: 'a cancel while a person is asked',
    options: GATED,
    answers: [calls(ECHO)],
    act: async (acting) => {
      await askedOf(acting.reader);
      await cancel(acting);
    },
    end: CANCELLED,
    left: [CALL, /^tool call_1: .*(cancelled|not)/i],
  },
  {
    way: 'a park while a person is asked',
    options: GATED,
    answers: [calls(ECHO)],
    act: async (acting) => {
      await askedOf(acting.reader);
      await park(acting);
    },
    end: { state: 'parked' },
    left: [CALL, /^tool call_1: .*not been executed/],
  },
  {
    way: 'a park before its tools',
    options: WEB,
    answers: [],
    act: async (acting) => {
      const { answer, go } = gated('Let me see.', callSteps(ECHO));
      acting.world.answer(answer);
      await onText(acting);
      await park(acting);
      go();
    },
    end: { state: 'parked' },
    left: ['assistant: Let me see.[call_1=echo]', /^tool call_1: .*not been executed/],
  },
];

describe('the next run of a session is accepted, and told the truth,', () => {
  it.each(WAYS)('behind $way', async ({ options, answers, act, end, left }) => {
    const world = await start(options);
    world.answer(...answers);
    const { run_id: runId } = await begin(world);
    const reader = eventsOf(world, runId);
    await act?.({ world, runId, reader });
    expect(await ended(world, runId)).toMatchObject(end);
    expect(await goOn(world)).toEqual(['user: Go', ...left.map(matching), 'user: Next']);
  });
});
