import { describe, expect, it } from 'vitest';
import { setup } from 'xstate';
import { eventWords, pathsOf, stateText } from '../../src/transitions/words.ts';
import { GuardNotes, watchGuards } from '../../src/transitions/guard-notes.ts';

describe('the words of a step', () => {
  it.each([
    ['run.stop', 'run.stop'],
    ['xstate.init', 'it was started'],
    ['xstate.stop', 'it was stopped'],
    ['xstate.done.actor.tool.call_1', 'tool.call_1 ended'],
    ['xstate.error.actor.turn', 'turn failed'],
    ['xstate.snapshot.tool.call_1', 'tool.call_1 changed'],
    ['xstate.done.state.run.working', 'run.working ended'],
    ['xstate.after.grace.claims.grace', 'after grace'],
    ['xstate.after.1000.lamp.green', 'after 1000 ms'],
  ])('tell %s as “%s”', (type, words) => {
    expect(eventWords(type)).toBe(words);
  });

  it('are cut where a provider’s id has no end', () => {
    expect(eventWords(`xstate.done.actor.tool.${'x'.repeat(5_000)}`).length).toBeLessThan(110);
  });

  it.each([
    ['idle', 'idle', ['idle']],
    [{ a: { b: 'c' } }, 'a.b.c', ['a.b.c']],
    [{ a: { b: 'c', d: { e: 'f' } } }, 'a.{b.c, d.e.f}', ['a.b.c', 'a.d.e.f']],
    [{ a: {}, b: { c: { x: 'y', z: {} } } }, '{a, b.c.{x.y, z}}', ['a', 'b.c.x.y', 'b.c.z']],
  ])('tell the state %j on one line, from which its paths are read again', (value, text, paths) => {
    expect(stateText(value)).toBe(text);
    expect(pathsOf(text)).toEqual(paths);
  });
});

describe('a chart whose guards are watched', () => {
  const machine = setup({
    guards: { isOn: () => false, isAskedByActions: () => false },
  }).createMachine({
    id: 'lamp',
    initial: 'dark',
    states: { dark: { on: { press: { guard: 'isOn', target: 'lit' } } }, lit: {} },
  });

  it('answers as before and notes the guard that decided', () => {
    const notes = new GuardNotes();
    const event = { type: 'press' };
    const guards = watchGuards(machine, notes).implementations.guards;
    const ask = guards['isOn'] as (args: object, params: unknown) => boolean;
    expect(ask({ context: {}, event }, undefined)).toBe(false);
    expect(notes.of('lamp', event)).toEqual(['isOn']);
    expect(notes.of('lamp', { type: 'press' })).toBeUndefined();
    expect(notes.of('other', event)).toBeUndefined();
  });

  it('keeps what two events were refused by apart', () => {
    const notes = new GuardNotes();
    const [first, second] = [{ type: 'press' }, { type: 'press' }];
    notes.add('lamp', first, 'isOn');
    notes.add('lamp', second, 'isReady');
    expect(notes.of('lamp', second)).toEqual(['isReady']);
    expect(notes.of('lamp', first)).toBeUndefined();
  });

  it('leaves a guard alone that no transition asks', () => {
    const { guards } = watchGuards(machine, new GuardNotes()).implementations;
    expect(guards['isAskedByActions']).toBe(machine.implementations.guards['isAskedByActions']);
    expect(guards['isOn']).not.toBe(machine.implementations.guards['isOn']);
  });

  it('names each guard once, and no more of them than a reader can use', () => {
    const notes = new GuardNotes();
    const event = { type: 'press' };
    for (let n = 0; n < 50; n += 1) notes.add('lamp', event, `guard${n % 20}`);
    expect(notes.of('lamp', event)).toHaveLength(8);
  });
});
