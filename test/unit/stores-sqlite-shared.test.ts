import { afterAll, describe, expect, it } from 'vitest';
import type { Store } from '../../src/stores/store.ts';
import {
  acquire,
  MOVING,
  newPath,
  open,
  removeDirectory,
  seqs,
  upTo,
  write,
} from './stores-sqlite-kit.ts';

afterAll(removeDirectory);

describe('sqlite store: several processes on one file', () => {
  it('reads what the other wrote, in the tail and in the archive', async () => {
    const path = newPath();
    const writer = open(path, { limits: { tailBytesMax: 60, sessionsPerStep: 1 } });
    const reader = open(path);
    const lease = await acquire(writer, 's');
    for (const seq of upTo(40)) {
      await write(writer, lease, seq);
      expect(await seqs(reader, 's')).toEqual(upTo(seq));
      expect(await reader.head('s')).toBe(seq);
    }
    await writer.close();
    await reader.close();
  });

  it('lets a session change hands and back, whoever moves the tail', async () => {
    const path = newPath();
    const stores = [open(path, MOVING), open(path)];
    let seq = 0;
    for (let turn = 0; turn < 12; turn += 1) {
      const store = stores[turn % 2] as Store;
      const lease = await acquire(store, 's', turn * 100, `owner ${turn}`);
      expect(await store.head('s')).toBe(seq);
      for (let i = 0; i < 3; i += 1) {
        seq += 1;
        expect(await write(store, lease, seq)).toBe('written');
      }
      for (const reader of stores) {
        for (const from of upTo(seq)) {
          expect(await seqs(reader, 's', from)).toEqual(upTo(seq).slice(from - 1));
        }
      }
    }
    for (const store of stores) {
      expect(await seqs(store, 's')).toEqual(upTo(seq));
      await store.close();
    }
  });

  it('lets one of two processes have a parked run: to go on with it, or to give it up', async () => {
    for (const first of ['goes on', 'gives up'] as const) {
      const path = newPath();
      const [mine, other] = [open(path), open(path)];
      const lease = await acquire(mine, 's');
      const approvals = [{ decisionId: 'd', record: '{}', expiresAt: 9 }];
      const parked = { checkpoint: '{}', automatic: true, approvals };
      const part = { lease, firstSeq: 1, count: 0, body: '' };
      await mine.append([{ ...part, terminal: { runId: 'r', line: '1', parked } }]);
      const goOn = async () => {
        const next = { ...part, firstSeq: 2, count: 1, body: '2' };
        const [outcome] = await mine.append([{ ...next, continues: { runId: 'r', by: 'n' } }]);
        return outcome?.status;
      };

      if (first === 'goes on') {
        expect(await goOn()).toBe('written');
        expect(await other.discard('r')).toBe(false);
      } else {
        expect(await other.discard('r')).toBe(true);
        expect(await mine.decideApproval('d', '{}', 1)).toBeUndefined();
        expect(await goOn()).toBe('taken');
      }
      await mine.close();
      await other.close();
    }
  });

  it('fences a writer that had just been current (INV-58)', async () => {
    const path = newPath();
    const mine = open(path);
    const other = open(path);
    const stale = await acquire(mine, 's');
    expect(await write(mine, stale, 1)).toBe('written');
    const current = await acquire(other, 's', 100, 'other');

    expect(await write(mine, stale, 2)).toBe('fenced');
    expect(await mine.renew([stale], 1_000)).toEqual([false]);
    expect(await write(other, current, 2)).toBe('written');
    await mine.close();
    await other.close();
  });

  it('sees a run settled by the other (INV-45)', async () => {
    const path = newPath();
    const mine = open(path);
    const other = open(path);
    const lease = await acquire(other, 's');
    const terminal = { runId: 'r', line: '"end"', record: '{"v":1}' };
    await other.append([{ lease, firstSeq: 1, count: 0, body: '', terminal }]);
    const taken = await acquire(mine, 's', 100, 'other');

    const outcomes = await mine.append([
      { lease: taken, firstSeq: 2, count: 0, body: '', terminal },
    ]);

    expect(outcomes).toEqual([{ status: 'lost', settledSeq: 1 }]);
    await mine.close();
    await other.close();
  });

  it('survives that both move the same session', async () => {
    const path = newPath();
    const one = open(path, { limits: { tailBytesMax: 5, sessionsPerStep: 1 } });
    const two = open(path);
    const x = await acquire(one, 'x');
    const y = await acquire(one, 'y');
    await write(one, x, 1);
    await write(one, y, 1);
    expect(await two.head('x')).toBe(1);
    await write(one, x, 2); // Moves x and leaves y for the next append.
    await two.trim('nobody', 1); // Moves all that it knows of, x again.
    await write(one, y, 2);

    for (const store of [one, two]) {
      expect(await seqs(store, 'x')).toEqual([1, 2]);
      expect(await seqs(store, 'y')).toEqual([1, 2]);
      await store.close();
    }
  });

  it('finds what a third one writes after everything was moved', async () => {
    const path = newPath();
    const witness = open(path);
    const first = open(path);
    const lease = await acquire(first, 's');
    for (const seq of upTo(3)) await write(first, lease, seq);
    expect(await seqs(witness, 's')).toEqual([1, 2, 3]);
    await first.trim('nobody', 1);
    await first.close();
    const third = open(path);
    await write(third, await acquire(third, 's'), 4);

    expect(await seqs(witness, 's')).toEqual([1, 2, 3, 4]);
    await witness.close();
    await third.close();
  });
});
