import { describe, expect, it } from 'vitest';
import type { ToolCall } from '../../src/model.ts';
import { TOOL_ARGUMENTS_CHARS_MAX, TOOL_CALLS_MAX } from '../../src/providers/limits.ts';
import { ToolCallGatherer } from '../../src/providers/tool-call-gatherer.ts';

function gather(parts: readonly unknown[], takenIds: readonly string[] = []): readonly ToolCall[] {
  let minted = 0;
  const gatherer = new ToolCallGatherer(takenIds, () => `minted_${minted++}`);
  for (const part of parts) gatherer.add(part);
  return gatherer.take();
}

const part = (fields: object, name?: string, args?: unknown): unknown => ({
  ...fields,
  function: { ...(name !== undefined && { name }), ...(args !== undefined && { arguments: args }) },
});

describe('tool call gatherer', () => {
  it('puts interleaved parts together by their index', () => {
    const calls = gather([
      part({ index: 0, id: 'a' }, 'add', ''),
      part({ index: 1, id: 'b' }, 'count', '{"to"'),
      part({ index: 0 }, undefined, '{"a":1}'),
      part({ index: 1 }, undefined, ':5}'),
    ]);
    expect(calls).toEqual([
      { id: 'a', name: 'add', argumentsText: '{"a":1}' },
      { id: 'b', name: 'count', argumentsText: '{"to":5}' },
    ]);
  });

  it('keeps calls apart that come with one index and ids of their own', () => {
    const calls = gather([
      part({ index: 0, id: 'a' }, 'add', '{"a":1}'),
      part({ index: 0, id: 'b' }, 'add', '{"a":2}'),
    ]);
    expect(calls.map(({ id, argumentsText }) => [id, argumentsText])).toEqual([
      ['a', '{"a":1}'],
      ['b', '{"a":2}'],
    ]);
  });

  it('goes by the id, or else by the last call, where there is no index', () => {
    const calls = gather([
      part({ id: 'a' }, 'add', '{'),
      part({ id: 'b' }, 'count', '['),
      part({ id: 'a' }, undefined, '}'),
      part({}, undefined, ']'),
    ]);
    expect(calls.map(({ argumentsText }) => argumentsText)).toEqual(['{}', '[]']);
  });

  it('mints an id for a call without one, and for one whose id is taken', () => {
    const calls = gather(
      [
        part({ index: 0 }, 'add', '{}'),
        part({ index: 1, id: 'same' }, 'add', '{}'),
        part({ index: 2, id: 'same' }, 'add', '{}'),
        part({ index: 3, id: 'earlier' }, 'add', '{}'),
      ],
      ['earlier'],
    );
    expect(calls.map(({ id }) => id)).toEqual(['minted_0', 'same', 'minted_1', 'minted_2']);
  });

  it('takes a name once, though it is repeated with each part', () => {
    const calls = gather([
      part({ index: 0, id: 'a' }, 'add', '{"a"'),
      part({ index: 0, id: 'a' }, 'add', ':1}'),
    ]);
    expect(calls).toEqual([{ id: 'a', name: 'add', argumentsText: '{"a":1}' }]);
  });

  it('writes arguments that come as an object as JSON', () => {
    expect(gather([part({ index: 0 }, 'add', { a: 1 })])[0]?.argumentsText).toBe('{"a":1}');
  });

  it('passes over an empty part and refuses arguments without a name', () => {
    expect(gather([{ index: 0 }, null, 'x'])).toEqual([]);
    expect(() => gather([part({ index: 0 }, undefined, '{}')])).toThrow('has no name');
  });

  it('gives each call once', () => {
    const gatherer = new ToolCallGatherer([], () => 'minted');
    gatherer.add(part({ index: 0, id: 'a' }, 'add', '{}'));
    expect(gatherer.take()).toHaveLength(1);
    expect(gatherer.take()).toEqual([]);
  });

  it('bounds the number of calls and the length of their arguments', () => {
    const many = Array.from({ length: TOOL_CALLS_MAX + 1 }, (_, index) => part({ index }, 'add'));
    expect(() => gather(many)).toThrow(`more than ${TOOL_CALLS_MAX}`);
    const long = 'x'.repeat(TOOL_ARGUMENTS_CHARS_MAX / 2 + 1);
    const twice = [part({ index: 0 }, 'add', long), part({ index: 0 }, undefined, long)];
    expect(() => gather(twice)).toThrow('exceed');
  });
});
