import { describe, expect, it } from 'vitest';
import { argumentsDigest } from '../../src/hitl/digest.ts';
import { begin, calls, decide, ECHO, ended, refusal, says, story } from '../support/api-kit.ts';
import { asking } from '../support/api-runs.ts';
import { called, completions, eventsIn, inboxToml, toldModel } from '../support/hitl-kit.ts';
import { systemWorlds } from '../support/system-world.ts';

/** Which calls a person is asked for, by the rules; and what an approver may change in one. */

const start = systemWorlds();

const rule = (tools: string, effect: string, when = ''): string =>
  `[[hitl.rules]]\ntools = ["${tools}"]\neffect = "${effect}"\nwhen = [${when}]\n`;

const where = (pointer: string, op: string, value: unknown): string =>
  `{ pointer = "${pointer}", op = "${op}", value = ${JSON.stringify(value)} }`;

const RULES = [
  rule('echo', 'allow', where('/said', 'eq', 'harmless')),
  rule('ec?o', 'deny', where('/said', 'matches', '^secret')),
  rule('add', 'approve', `${where('/a', 'gt', 100)}, ${where('/b', 'lt', 50)}`),
  rule('{add,sum}', 'deny', where('/b', 'in', [13, 17])),
].join('');

const echo = (id: string, said: string) => ({ id, name: 'echo', arguments: { said } });
const add = (id: string, a: number, b: number) => ({ id, name: 'add', arguments: { a, b } });
const forbidden = (pattern: string) => ({
  success: false,
  forbidden_by: pattern,
  error: `Tool call blocked: the rule for "${pattern}" forbids it. Do not execute this action.`,
});

describe('the rules of an agent', () => {
  it('decide in their order, then the globs: who is asked, what is forbidden, what just runs', async () => {
    const toml = inboxToml({ requires: ['ech*', 'never'] }) + RULES;
    const world = await start({ mcp: ['web', 'demo'], toml });
    const asked = [
      echo('harmless', 'harmless'),
      echo('secret', 'secretly'),
      echo('other', 'hello'),
      add('big', 101, 49),
      add('small', 1, 2),
      add('unlucky', 1, 13),
      add('big_unlucky', 101, 13),
      add('big_both', 101, 51),
    ];
    world.answer(calls(...asked), says('Done.'));
    const { run_id: runId } = await begin(world);
    const patterns = new Map<string, unknown>();
    for (const _ of ['other', 'big', 'big_unlucky']) {
      const { payload } = await world.entry(
        's',
        (event) => event.type === 'approval_pending' && !patterns.has(event.tool_call_id),
      );
      const event = payload.event as { decision_id: string; tool_call_id: string; origin: object };
      patterns.set(event.tool_call_id, event.origin);
      expect(await decide(world, event.decision_id, { approved: true }).status()).toBe(204);
    }
    const gate = (matched_pattern: string) => ({ kind: 'config_gate', matched_pattern });
    expect(Object.fromEntries(patterns)).toEqual({
      other: gate('ech*'),
      big: gate('add'),
      big_unlucky: gate('add'),
    });
    const events = await story(world, runId);
    expect(eventsIn(events, 'approval_requested')).toHaveLength(3);
    const ends = completions(events);
    expect(ends.get('secret')).toMatchObject(forbidden('ec?o'));
    expect(ends.get('unlucky')).toMatchObject(forbidden('{add,sum}'));
    const ran = [...ends].filter(([, { success }]) => success).map(([id]) => id);
    expect(ran.sort()).toEqual(['big', 'big_both', 'big_unlucky', 'harmless', 'other', 'small']);
    expect(called(world)).toEqual([
      ['echo', { said: 'harmless' }],
      ['echo', { said: 'hello' }],
    ]);
    const told = await toldModel(world);
    expect(told).toMatchObject({ secret: forbidden('ec?o').error, small: '3', big: '150' });
  });

  it('forbid a call though nobody is ever asked for another', async () => {
    const toml = inboxToml({ requires: [] }) + rule('echo', 'deny');
    const world = await start({ mcp: ['web'], toml });
    world.answer(calls(ECHO), says('Done.'));
    const { run_id: runId } = await begin(world);
    const events = await story(world, runId);
    expect(completions(events).get('call_1')).toMatchObject(forbidden('echo'));
    expect(eventsIn(events, 'approval_requested')).toEqual([]);
    expect(called(world)).toEqual([]);
  });
});

describe('the arguments of a call that is approved', () => {
  const EDITS = inboxToml({ lines: 'allow_argument_edits = true' });
  const edited = { approved: true, arguments: { said: 'edited' } };

  it('may be changed by the approver: what is executed is what is on record', async () => {
    const world = await start({ mcp: ['web'], toml: EDITS });
    const { runId, id } = await asking(world);
    const shown = await world.ask(`/v1/approvals/${id}`).json();
    expect(shown).toMatchObject({ may: { edit: true, grant: false } });
    world.answer(says('Done.'));
    expect(await decide(world, id, edited).status()).toBe(204);
    const events = await story(world, runId);
    expect(called(world)).toEqual([['echo', { said: 'edited' }]]);
    const before = argumentsDigest({ said: 'x' });
    const after = argumentsDigest({ said: 'edited' });
    expect(eventsIn(events, 'approval_completed')).toMatchObject([
      {
        outcome: { kind: 'approved' },
        arguments_digest: before,
        edited: { arguments: { said: 'edited' }, arguments_digest: after },
      },
    ]);
    expect(eventsIn(events, 'tool_start')).toMatchObject([{ arguments_digest: after }]);
    expect(eventsIn(events, 'tool_requested')).toMatchObject([{ arguments: { said: 'x' } }]);
    expect((await toldModel(world))['call_1']).toContain('edited');
    expect(await decide(world, id, edited).status()).toBe(204);
    for (const other of [{ approved: true }, { ...edited, arguments: { said: 'z' } }]) {
      expect(await refusal(decide(world, id, other))).toEqual([404, 'not_found']);
    }
  });

  it('cannot be changed where that is off, nor to what a rule forbids; the approval stays', async () => {
    const strict = await start({ mcp: ['web'], toml: inboxToml() });
    const lax = await start({
      mcp: ['web'],
      toml: EDITS + rule('echo', 'deny', where('/said', 'eq', 'edited')),
    });
    for (const [world, code] of [
      [strict, 'edits_not_allowed'],
      [lax, 'arguments_forbidden'],
    ] as const) {
      const { runId, id } = await asking(world);
      expect(await refusal(decide(world, id, edited))).toEqual([422, code, 'arguments']);
      const item = await world.ask(`/v1/approvals/${id}`).json();
      expect(item).toMatchObject({ state: 'pending' });
      world.answer(says('Done.'));
      expect(await decide(world, id, { approved: true }).status()).toBe(204);
      await ended(world, runId);
      expect(called(world)).toEqual([['echo', { said: 'x' }]]);
    }
  });

  it('that the model changes need a new approval', async () => {
    const world = await start({ mcp: ['web'], toml: inboxToml() });
    const { runId, reader, id } = await asking(world);
    world.answer(calls(echo('call_2', 'y')), says('Done.'));
    await decide(world, id, { approved: true }).answered;
    await reader.until(({ body }) => body.split('"approval_pending"').length === 3);
    expect(called(world)).toEqual([['echo', { said: 'x' }]]);
    const events = await world.journal('s');
    const [first, second] = eventsIn(events, 'approval_requested');
    expect(first?.arguments_digest).not.toBe(second?.arguments_digest);
    world.answer(says('Done.'));
    await decide(world, String(second?.decision_id), { approved: false }).answered;
    await ended(world, runId);
    expect(called(world)).toHaveLength(1);
  });
});
