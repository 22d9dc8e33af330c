import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { RunLimits } from '../../machines/vocabulary.ts';
import type { Tool, ToolSource } from '../../src/tool.ts';
import { SETTINGS } from '../../src/config/settings.ts';
import { createSupervisor } from '../../src/create-supervisor.ts';
import { SupervisorError } from '../../src/errors.ts';
import {
  type AgentDefinition,
  checkOptions,
  type SupervisorOptions,
} from '../../src/supervisor-options.ts';
import { ManualModel } from '../support/manual-model.ts';

/**
 * Hazard: a limit that is NaN or negative fires at once, or never, in the middle of somebody's run.
 */

const OFF = 'Use milliseconds from 1 to 2147483000, or 0 to turn it off.';
const NONE = 'Use milliseconds from 1 to 2147483000, or 0 for none.';
const REFUSED = 'Use milliseconds from 1 to 2147483000; 0 makes no sense here.';

const agent = (change: Partial<AgentDefinition> = {}): AgentDefinition => ({
  id: 'helper',
  model: new ManualModel(),
  ...change,
});

const tool = (name: string): Tool => ({
  spec: { name, parameters: { type: 'object' } },
  execute: () => Promise.resolve({ text: '', isError: false }),
});

const source: ToolSource = { acquire: () => Promise.reject(new Error('unused')) };

/** The lines of the refusal; none when the options are accepted. */
function refusal(options: Partial<SupervisorOptions>): readonly string[] {
  try {
    checkOptions({ agents: [agent()], ...options });
    return [];
  } catch (error) {
    if (!(error instanceof SupervisorError) || error.code !== 'invalid_config') throw error;
    return error.message.split('\n');
  }
}

const refusalOf = (change: Partial<AgentDefinition>) => refusal({ agents: [agent(change)] });

/** Callers without types give anything. */
const refusalOfLimit = (name: string, value: unknown) =>
  refusalOf({ limits: { [name]: value } as Partial<RunLimits> });

const OFF_AT_ZERO = ['firstChunkMs', 'inactivityMs', 'stepMs', 'totalMs'] as const;
const NEVER_ZERO = ['setupMs', 'toolStopGraceMs', 'releaseMs'] as const;
const COUNTS = { turnsMax: 1_002, parallelToolsMax: 256, attemptsMax: 100 } as const;

describe('options of the library: limits that make no sense', () => {
  const senseless = [Number.NaN, -1, 0.5, Number.POSITIVE_INFINITY, 2_147_483_001];

  it.each(
    senseless.flatMap((value) => [
      ...OFF_AT_ZERO.map((name) => ({ name, value, range: OFF })),
      ...NEVER_ZERO.map((name) => ({ name, value, range: REFUSED })),
      { name: 'stepAllowanceMs', value, range: NONE },
    ]),
  )('are refused: $name of $value with agent, field, value and range (INV-34)', (limit) => {
    const { name, value, range } = limit;
    expect(refusalOfLimit(name, value)).toEqual([
      `Agent "helper": limits.${name} is ${value}. ${range}`,
    ]);
  });

  it.each(NEVER_ZERO)('are refused: 0 for %s (INV-34)', (name) => {
    expect(refusalOfLimit(name, 0)).toEqual([`Agent "helper": limits.${name} is 0. ${REFUSED}`]);
  });

  it.each(
    Object.entries(COUNTS).flatMap(([name, most]) =>
      [0, -1, 1.5, Number.NaN, most + 1].map((value) => ({ name, value, most })),
    ),
  )('are refused: $name of $value (INV-34)', ({ name, value, most }) => {
    expect(refusalOfLimit(name, value)).toEqual([
      `Agent "helper": limits.${name} is ${value}. Use a whole number from 1 to ${most}.`,
    ]);
  });

  it.each([
    ['5000', '"5000"'],
    [undefined, 'undefined'],
    [null, 'null'],
    [{}, 'an object'],
    ['x'.repeat(100), `"${'x'.repeat(40)}"`],
  ])('are refused: what is no number: %j', (value, shown) => {
    expect(refusalOfLimit('stepMs', value)).toEqual([
      `Agent "helper": limits.stepMs is ${shown}. ${OFF}`,
    ]);
  });

  it('are refused: a limit that nobody knows, with the one that was meant', () => {
    expect(refusalOfLimit('setpMs', 5)).toEqual([
      'Agent "helper": limits.setpMs is not a known limit. Did you mean "setupMs"?',
    ]);
    expect(refusalOfLimit('budget', 5)[0]).toContain('Known: setupMs, firstChunkMs,');
  });

  it.each([
    [{ runsMax: 0 }, 'runsMax is 0. Use a whole number from 1 to 9007199254740991.'],
    [{ graceMs: -1 }, `graceMs is -1. ${NONE}`],
  ])('are refused: %j of the whole', (options, line) => {
    expect(refusal(options)).toEqual([line]);
  });

  it.each([
    [{ toolTimeoutMs: -5 }, `toolTimeoutMs is -5. ${OFF}`],
    [
      { approvalTimeoutMs: 0 },
      'approvalTimeoutMs is 0. Use milliseconds from 1 to 315360000000; 0 makes no sense here.',
    ],
  ])('are refused: %j of an agent', (change, line) => {
    expect(refusalOf(change)).toEqual([`Agent "helper": ${line}`]);
  });
});

describe('options of the library: names and tools', () => {
  it.each([
    [{ id: ' ' }, 'Agent " ": id is empty. Give it a name that starts can use.'],
    [{ id: '' }, 'Agent 1: id is empty. Give it a name that starts can use.'],
    [
      { tools: [tool('add'), tool('sub'), tool('add')] },
      'Agent "helper": tools has two named "add". Rename one.',
    ],
    [{ tools: [tool('')] }, 'Agent "helper": tools has one without a name. Give it one.'],
    [
      { tools: [tool('add')], toolSource: source },
      'Agent "helper": tools and toolSource are both given. Keep one of them.',
    ],
  ])('are refused: %j', (change, line) => {
    expect(refusalOf(change)).toEqual([line]);
  });

  it('are refused: a pattern that is no glob, with what is wrong in it', () => {
    const [line] = refusalOf({ requireApproval: ['ok_*', 'delete_[a'] });
    expect(line).toMatch(/^Agent "helper": requireApproval has "delete_\[a", which .+delete_\*/);
  });

  it('are refused: two agents with one id, but not one tool name in two agents', () => {
    const tools = [tool('add')];
    expect(refusal({ agents: [agent({ tools }), agent({ id: 'other', tools })] })).toEqual([]);
    expect(refusal({ agents: [agent(), agent(), agent()] })).toEqual([
      'Two agents have the id "helper".',
    ]);
  });
});

describe('options of the library', () => {
  it('are refused in one error that has everything, before anything starts', () => {
    const bad = agent({ id: 'other', limits: { stepMs: Number.NaN, turnsMax: 0 } });
    const create = () => createSupervisor({ agents: [agent({ toolTimeoutMs: -1 }), bad] });
    expect(create).toThrow(SupervisorError);
    expect(refusal({ agents: [agent({ toolTimeoutMs: -1 }), bad] }).map(head)).toEqual([
      'Agent "helper": toolTimeoutMs',
      'Agent "other": limits.stepMs',
      'Agent "other": limits.turnsMax',
    ]);
  });

  it('may switch off what can be off, and be as long as a timer can wait', () => {
    const off = Object.fromEntries([...OFF_AT_ZERO, 'stepAllowanceMs'].map((name) => [name, 0]));
    expect(refusalOf({ limits: off, toolTimeoutMs: 0 })).toEqual([]);
    const long = [...OFF_AT_ZERO, ...NEVER_ZERO].map((name) => [name, 2_147_483_000]);
    expect(refusalOf({ limits: { ...Object.fromEntries(long), ...COUNTS } })).toEqual([]);
    expect(refusal({ graceMs: 0, runsMax: 1 })).toEqual([]);
    expect(refusalOf({ approvalTimeoutMs: 315_360_000_000 })).toEqual([]);
  });

  it('have the ranges that the configuration has', () => {
    const names = [...OFF_AT_ZERO, 'setupMs', 'stepAllowanceMs', 'toolStopGraceMs'] as const;
    const anyMs = fc.oneof(
      fc.integer({ min: -10, max: 10 }),
      fc.integer({ min: 2_147_482_990, max: 2_147_483_010 }),
      fc.integer(),
    );
    fc.assert(
      fc.property(fc.constantFrom(...names), anyMs, (name, ms) => {
        const accepted = refusalOfLimit(name, ms).length === 0;
        expect(accepted).toBe(SETTINGS[name].read(ms / 1_000).ok);
      }),
    );
  });
});

const head = (line: string): string => line.split(' is ')[0] ?? '';
