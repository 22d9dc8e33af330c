import { describe, expect, it } from 'vitest';
import { createGate, type Gate } from '../../src/hitl/gate.ts';
import { gateOf } from '../../src/ports/gate-of.ts';
import type { RunScope } from '../../src/ports/run-scope.ts';

/** As much of a run as the gate looks at. */
function scopeWith(gate: Gate, plainName?: string): RunScope {
  const tool = { spec: { name: 'delete_it_s', parameters: {} }, ...(plainName && { plainName }) };
  // The rest of a run plays no part here.
  return { agent: { gate }, tool: () => tool } as unknown as RunScope;
}

const gate = createGate({
  rules: [
    { tools: ['drop_it'], effect: 'deny' },
    { tools: ['*_s'], effect: 'allow' },
  ],
  requireApproval: ['delete_it'],
});

describe('a tool that had to give its name away', () => {
  it.each([
    ['delete_it', 'approve'],
    ['drop_it', 'deny'],
    ['other', 'allow'],
    [undefined, 'allow'],
  ])('whose plain name is %s is held back as strictly as either name says', (plain, effect) => {
    expect(gateOf(scopeWith(gate, plain), 'delete_it_s')({}).effect).toBe(effect);
  });
});
