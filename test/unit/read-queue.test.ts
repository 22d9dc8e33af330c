import { describe, expect, it } from 'vitest';
import { ReadQueue } from '../../src/commands/read-queue.ts';

/** Hazard: who asks for a read that has begun would miss what came since. */

function world() {
  const queue = new ReadQueue<string>();
  const begun: { name: string; end: (fault?: Error) => void }[] = [];
  const read = (key: string, name: string): Promise<string> =>
    queue.read(key, () => {
      const { promise, resolve, reject } = Promise.withResolvers<string>();
      begun.push({ name, end: (fault) => (fault ? reject(fault) : resolve(name)) });
      return promise;
    });
  const settle = async () => {
    for (let turn = 0; turn < 10; turn++) await Promise.resolve();
  };
  /** Ends the read that is under way. */
  const end = async (fault?: Error) => {
    await settle();
    begun.at(-1)?.end(fault);
    await settle();
  };
  return { read, end, settle, names: () => begun.map(({ name }) => name) };
}

describe('read queue', () => {
  it('begins a read when the one before has ended', async () => {
    const { read, end, settle, names } = world();
    const both = [read('a', 'first'), read('b', 'second')];
    await settle();
    expect(names()).toEqual(['first']);
    await end();
    expect(names()).toEqual(['first', 'second']);
    await end();
    expect(await Promise.all(both)).toEqual(['first', 'second']);
  });

  it('shares a read that has not begun among all who ask for the same', async () => {
    const { read, end, names } = world();
    const all = [read('a', 'first'), read('b', 'second'), read('b', 'third')];
    await end();
    await end();
    expect(await Promise.all(all)).toEqual(['first', 'second', 'second']);
    expect(names()).toEqual(['first', 'second']);
  });

  it('gives who comes while a read runs another one', async () => {
    const { read, end, settle } = world();
    const first = read('a', 'first');
    await settle();
    const second = read('a', 'second');
    await end();
    await end();
    expect(await Promise.all([first, second])).toEqual(['first', 'second']);
  });

  it('goes on behind one that fails', async () => {
    const { read, end } = world();
    const first = read('a', 'first');
    const second = read('b', 'second');
    const failure = expect(first).rejects.toThrow('down');
    await end(new Error('down'));
    await failure;
    await end();
    expect(await second).toBe('second');
  });
});
