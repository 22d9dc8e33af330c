import { describe, expect, it } from 'vitest';
import { and, emit, enqueueActions, not, sendTo, setup, stateIn } from 'xstate';
import { describeActions, describeGuard } from '../../src/diagrams/describe.ts';
import { canRest, describeChart, portsOf, statesOf } from '../../src/diagrams/model.ts';
import { toTable } from '../../src/diagrams/table.ts';
import { stationMachine } from './testing-charts.ts';

const station = describeChart(stationMachine);
const byName = (name: string) => statesOf(station).find((state) => state.name === name);

describe('the description of a chart', () => {
  it('has every state with its kind, tags and invoked children', () => {
    expect(statesOf(station).map(({ name, kind }) => `${name} ${kind}`)).toEqual([
      'station compound',
      'opening atomic',
      'deciding atomic',
      'pausing atomic',
      'open parallel',
      'plugs atomic',
      'lamp compound',
      'green atomic',
      'red atomic',
      'closed final',
    ]);
    expect(byName('open')).toMatchObject({
      tags: ['open'],
      invokes: [{ id: 'watchGrid', src: 'watchGrid' }],
    });
    expect(portsOf(station)).toEqual(['openGrid', 'watchGrid']);
  });

  it('has root transitions, `always`, `after` and the ends of children', () => {
    const kinds = statesOf(station).flatMap(({ transitions }) =>
      transitions.map(({ on, kind }) => `${kind}: ${on}`),
    );
    expect(kinds).toEqual(
      expect.arrayContaining([
        'event: station.close',
        'always: always',
        'after: after pause',
        'after: after 1000 ms',
        'done: done openGrid',
        'error: error openGrid',
      ]),
    );
  });

  it('knows where a chart cannot wait', () => {
    const restless = statesOf(station).filter((state) => !canRest(state));
    expect(restless.map(({ name }) => name)).toEqual(['deciding', 'closed']);
  });

  it('reads as a table with a row for each transition', () => {
    const rows = toTable(station).trimEnd().split('\n');
    expect(rows[0]).toBe('state\tevent\tguard\ttarget\tactions');
    expect(rows).toContain('station.deciding\talways\tmayRetry\tstation.pausing\t');
    expect(rows).toContain('station\tstation.close\t\tstation.closed\t');
    expect(rows).toContain('station.open.plugs\tdone *\t\t(stays)\tstop a child, emit car.charged');
    expect(rows.length - 1).toBe(statesOf(station).flatMap((state) => state.transitions).length);
  });
});

describe('actions in words', () => {
  const machine = setup({}).createMachine({});
  const words = (...actions: unknown[]) => describeActions(actions, machine);

  it('are the names they are called by, with the parameters that are plain', () => {
    const params = { status: 'failed', cause: { kind: 'deadline', at: 7 }, at: 9 };
    expect(words('count', { type: 'keep', params })).toEqual(['count', 'keep(failed, deadline)']);
    expect(words({ type: 'keep', params: () => ({ status: 'computed' }) })).toEqual(['keep']);
  });

  it('say which event is told, also when only its fields depend on the context', () => {
    const type = 'fact.told';
    expect(words(emit(({ context }) => ({ type, of: context })))).toEqual(['emit fact.told']);
    expect(words(sendTo('child', { type: 'ask' }))).toEqual(['send ask to child']);
    expect(words(emit(({ event }) => event as never))).toEqual(['emit']);
  });

  it('name all that a block of actions may do', () => {
    const block = enqueueActions(({ context, enqueue, check }) => {
      if (!check(() => true)) return;
      for (const id of context['ids'] as string[])
        enqueue.sendTo(`job.${id}`, { type: 'job.stop' });
      enqueue.stopChild(context['last'] as string);
      enqueue.emit({ type: 'jobs.stopped' });
      enqueue.assign({ ids: [] });
    });
    expect(words(block)).toEqual(['send job.stop to job.*, stop a child, emit jobs.stopped']);
  });
});

describe('guards in words', () => {
  it('are their names, with the constant that tells alternatives apart', () => {
    const params = ({ event }: { event: { output: unknown } }) => ({
      outcome: event.output,
      kind: 'denied',
    });
    expect(describeGuard({ type: 'isOutcome', params })).toBe('isOutcome(denied)');
    expect(describeGuard('isIdle')).toBe('isIdle');
    expect(describeGuard(undefined)).toBeUndefined();
  });

  it('show how they are composed', () => {
    expect(describeGuard(and(['isIdle', not('isFull')]))).toBe('and(isIdle, not(isFull))');
    expect(describeGuard(stateIn({ open: 'lamp' }))).toBe('in {"open":"lamp"}');
    expect(describeGuard(() => true)).toBe('(inline)');
  });
});
