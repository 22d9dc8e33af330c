import { validate, version } from 'uuid';
import { describe, expect, it } from 'vitest';
import { createCountingIds } from '../../src/testing/ids.ts';

describe('counting ids', () => {
  it('give the same ids in the same order to everybody', () => {
    const [one, other] = [createCountingIds(), createCountingIds()];
    expect([one.run(), one.run(), one.decision()]).toEqual([
      other.run(),
      other.run(),
      other.decision(),
    ]);
  });

  it('give run and decision ids the shape of UUID v7 and sort them by their making', () => {
    const ids = createCountingIds();
    const made = Array.from({ length: 300 }, () => ids.run());
    expect([...made].sort()).toEqual(made);
    for (const id of [...made, ids.decision()])
      expect([validate(id), version(id)]).toEqual([true, 7]);
    expect(ids.decision()).not.toBe(made[1]);
  });

  it('give the other kinds the shapes that are promised', () => {
    const ids = createCountingIds();
    expect(ids.session()).toMatch(/^cs_[0-9a-f]{32}$/);
    expect(ids.request()).toMatch(/^req_[0-9a-f]{32}$/);
    expect(ids.observer()).toMatch(/^obs_[0-9a-f]{32}$/);
    const [prefix, uuid] = [ids.completion().slice(0, 9), ids.completion().slice(9)];
    expect([prefix, validate(uuid), version(uuid)]).toEqual(['chatcmpl-', true, 4]);
  });
});
