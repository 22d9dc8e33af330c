import { describe, expect, it } from 'vitest';
import type { ApprovalRule } from '../../src/hitl/rules.ts';
import { createSupervisor } from '../../src/create-supervisor.ts';
import { SupervisorError } from '../../src/errors.ts';
import {
  type AgentDefinition,
  checkOptions,
  type SupervisorOptions,
} from '../../src/supervisor-options.ts';
import { ManualModel } from '../support/manual-model.ts';

/**
 * Hazard: a rule, a switch or a name that is not what its author meant, so that a call runs which a
 * person should have seen. Callers without types give anything.
 */

const agent = (change: object = {}): AgentDefinition => ({
  id: 'helper',
  model: new ManualModel(),
  ...change,
});

function refusal(options: object): readonly string[] {
  try {
    checkOptions({ agents: [agent()], ...options });
    return [];
  } catch (error) {
    if (!(error instanceof SupervisorError) || error.code !== 'invalid_config') throw error;
    return error.message.split('\n');
  }
}

const refusalOf = (change: object) => refusal({ agents: [agent(change)] });

const refusalOfRule = (change: object) =>
  refusalOf({ approvalRules: [{ tools: ['pay'], effect: 'deny', ...change }] });

const refusalOfCondition = (condition: object) =>
  refusalOfRule({ when: [{ pointer: '/amount', ...condition }] });

const AT_RULE = 'Agent "helper": approvalRules[0]';
const AT_VALUE = `${AT_RULE}.when[0].value`;
const OPS = 'Use "eq", "ne", "in", "matches", "gt", "lt".';

describe('approval rules of the library', () => {
  it('may be each that the type allows, null among them, and without conditions', () => {
    const approvalRules: readonly ApprovalRule[] = [
      { tools: ['a', 'b_*'], effect: 'allow' },
      {
        tools: ['pay'],
        when: [
          { pointer: '/a', op: 'eq', value: null },
          { pointer: '/b', op: 'in', value: ['x', 1, true, null] },
          { pointer: '', op: 'ne', value: 'x' },
          { pointer: '/c/0', op: 'gt', value: -0.5 },
          { pointer: '/d', op: 'matches', value: '(?i)^x' },
        ],
        effect: 'deny',
      },
    ];
    expect(refusalOf({ approvalRules })).toEqual([]);
    expect(refusalOf({ approvalRules: [] })).toEqual([]);
  });

  it.each([
    [{ op: 'gt' }, `${AT_VALUE} (of op = "gt") is missing. Say what is compared with.`],
    [{ op: 'gt', value: '5' }, `${AT_VALUE} (of op = "gt") is not a number: "5". Write a number`],
    [{ op: 'lt', value: Number.NaN }, `${AT_VALUE} (of op = "lt") is not a number: NaN.`],
    [{ op: 'gt', value: Infinity }, `${AT_VALUE} (of op = "gt") is out of range: Infinity.`],
    [{ op: 'in', value: '5' }, `${AT_VALUE} (of op = "in") is not a list. Write what it may be`],
    [{ op: 'in', value: [] }, `${AT_VALUE} (of op = "in") is empty.`],
    [{ op: 'eq', value: {} }, `${AT_VALUE} (of op = "eq") is neither a string nor a number`],
    [{ op: 'matches', value: '(a' }, `${AT_VALUE} (of op = "matches") is no regular expression`],
    [{ op: 'matches', value: /a/ }, `${AT_VALUE} (of op = "matches") is not a string.`],
    [{ op: 'equals', value: 1 }, `${AT_RULE}.when[0].op is not a known value: "equals". ${OPS}`],
    [{ value: 1 }, `${AT_RULE}.when[0].op is missing. Add it; it has no default.`],
    [
      { op: 'eq', value: 1, pointer: 'amount' },
      `${AT_RULE}.when[0].pointer does not begin with "/": "amount". Write a JSON pointer`,
    ],
    [
      { op: 'eq', value: 1, ignoreCase: true },
      `${AT_RULE}.when[0].ignoreCase is not a known key. Known keys here: pointer, op, value.`,
    ],
  ])('are refused with the condition %j', (condition, line) => {
    expect(refusalOfCondition(condition)).toEqual([expect.stringContaining(line)]);
  });

  it.each([
    [{ effect: 'block' }, `${AT_RULE}.effect is not a known value: "block". Use "approve", "deny"`],
    [{ effect: undefined }, `${AT_RULE}.effect is missing.`],
    [{ tools: 'pay' }, `${AT_RULE}.tools is not a list. Write it in brackets`],
    [{ tools: undefined }, `${AT_RULE}.tools is missing. Add it; it is a list.`],
    [{ tools: [] }, `${AT_RULE}.tools is empty. List the tools that the rule is for`],
    [{ tools: ['[a'] }, `${AT_RULE}.tools[0] has a "[" without its "]"`],
    [{ tools: [/a/] }, `${AT_RULE}.tools[0] is not a string.`],
    [{ when: {} }, `${AT_RULE}.when is not a list.`],
    [{ when: null }, `${AT_RULE}.when is not a list.`],
    [{ when: ['/a'] }, `${AT_RULE}.when[0] is not an object. Write its keys in braces`],
    [{ wehn: [] }, `${AT_RULE}.wehn is not a known key. Did you mean "when"?`],
  ])('are refused with %j', (change, line) => {
    expect(refusalOfRule(change)).toEqual([expect.stringContaining(line)]);
  });

  it.each([{}, null, 'pay', 0])('are refused when they are no list: %j', (approvalRules) => {
    expect(refusalOf({ approvalRules })).toEqual([
      'Agent "helper": approvalRules is not a list. Write it in brackets: [...].',
    ]);
  });

  it('are refused in the one error that has everything else', () => {
    const approvalRules = [null, { tools: [], effect: 'deny' }];
    const create = () =>
      createSupervisor({ agents: [agent({ approvalRules, requireAproval: ['*'] })] });
    expect(create).toThrow(SupervisorError);
    expect(refusalOf({ approvalRules, requireAproval: ['*'] })).toEqual([
      'Agent "helper": approvalRules[0] is not an object. Write its keys in braces: { key: value }.',
      'Agent "helper": approvalRules[1].tools is empty. List the tools that the rule is for, such as ["delete_*"].',
      'Agent "helper": requireAproval is not a known field of an agent. Did you mean "requireApproval"?',
    ]);
  });
});

const SWITCHES = [
  'allowSessionGrants',
  'allowArgumentEdits',
  'offerRequestApproval',
  'canPark',
] as const;

describe('options of the library: what is not of its type', () => {
  it.each(SWITCHES)('is refused: %s that is neither true nor false', (name) => {
    for (const value of ['no', 0, null, {}]) {
      expect(refusalOf({ [name]: value })).toEqual([
        expect.stringMatching(
          new RegExp(`^Agent "helper": ${name} is .+\\. Use true or false\\.$`),
        ),
      ]);
    }
    for (const value of [true, false, undefined]) expect(refusalOf({ [name]: value })).toEqual([]);
  });

  it.each([
    [{ requireApproval: 'pay' }, 'requireApproval is "pay". Use a list of globs: ["delete_*"].'],
    [{ requireApproval: null }, 'requireApproval is null. Use a list of globs: ["delete_*"].'],
    [{ requireApproval: ['a', 5] }, 'requireApproval[1] is 5. Write a glob: "delete_*".'],
    [{ requireApproval: [''] }, 'requireApproval[0] is "". Write a glob: "delete_*".'],
    [{ idempotentTools: 'a' }, 'idempotentTools is "a". Use a list of globs: ["delete_*"].'],
    [
      { approvalChannel: { ask: () => undefined } },
      'approvalChannel is an object. Give a channel: an object with the methods ask and withdraw.',
    ],
    [
      { approvalChannel: () => undefined },
      'approvalChannel is a function. Give a channel: an object with the methods ask and withdraw.',
    ],
    [
      { model: 'gpt' },
      'model is "gpt". Give a model, such as that of modelFromGenerator: an object with the method stream.',
    ],
    [{ tools: 'add' }, 'tools is "add". Give a list of tools.'],
    [
      { tools: [{ spec: { name: 'add' } }] },
      'tools[0] is an object. Give a tool: an object with the method execute.',
    ],
    [{ limits: 5 }, 'limits is 5. Give an object.'],
    [{ systemPrompt: 5 }, 'systemPrompt is 5. Use a text.'],
  ])('is refused: %j', (change, line) => {
    expect(refusalOf(change)).toEqual([`Agent "helper": ${line}`]);
  });

  it.each([
    [{ resumeOnStart: 'no' }, 'resumeOnStart is "no". Use true or false.'],
    [{ recovr: 'fail' }, 'recovr is not a known option. Did you mean "recover"?'],
    [
      { retention: { retentionMS: 5 } },
      'retention.retentionMS is not a known limit. Did you mean "retentionMs"?',
    ],
    [{ retention: [] }, 'retention is a list. Give an object.'],
    [{ agents: {} }, 'agents is an object. Give a list of agents.'],
    [{ agents: [null] }, 'Agent 1: it is null. Give an object with id and model.'],
  ])('is refused: %j of the whole', (options, line) => {
    expect(refusal(options)).toEqual([line]);
  });

  it('is none of what a class gives by its methods and getters', () => {
    class Custom implements AgentDefinition {
      readonly id = 'custom';
      get model() {
        return new ManualModel();
      }
      get approvalChannel() {
        return new Channel();
      }
    }
    const options: SupervisorOptions = { agents: [new Custom()] };
    expect(refusal(options)).toEqual([]);
  });
});

class Channel {
  ask() {
    return Promise.reject(new Error('unused'));
  }

  withdraw() {
    return Promise.resolve(false);
  }
}
