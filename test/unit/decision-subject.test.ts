import { describe, expect, it } from 'vitest';
import { DecisionRefusedError } from '../../src/errors.ts';
import { checkDecision } from '../../src/hitl/check-decision.ts';
import { createGate } from '../../src/hitl/gate.ts';
import { subjectOf } from '../../src/ports/decision-subject.ts';
import type { RunScope } from '../../src/ports/run-scope.ts';
import { APPROVAL } from '../model/samples.ts';

/** As much of a run as a decision is held against. */
function scopeWith(tool: object | undefined): RunScope {
  const gate = createGate({
    rules: [
      {
        tools: ['delete_file'],
        when: [{ pointer: '/path', op: 'eq', value: '/etc' }],
        effect: 'deny',
      },
    ],
    requireApproval: ['*'],
  });
  const approvals = { allowsEdits: true, allowsGrants: true };
  // The rest of a run plays no part here.
  return { agent: { gate, approvals }, tool: () => tool } as unknown as RunScope;
}

/** What becomes of an approval with these arguments: the code of a refusal, or `taken`. */
function takes(scope: RunScope, edited: Record<string, unknown>): string {
  const request = { ...APPROVAL, toolName: 'delete_file_web' };
  const taken = checkDecision(subjectOf(scope, request), { approved: true, arguments: edited });
  return taken instanceof DecisionRefusedError ? `${taken.code} ${taken.field}` : 'taken';
}

const parameters = {
  type: 'object',
  properties: { path: { type: 'string' }, mode: { type: ['string', 'null'] } },
  required: ['path', 'mode'],
  additionalProperties: false,
};
const spec = { name: 'delete_file_web', parameters };

describe('an edit of a live run', () => {
  it('is held against the rules by both names of its tool, as the call will be', () => {
    const tool = { spec, inputSchema: {}, plainName: 'delete_file' };
    expect(takes(scopeWith(tool), { path: '/etc' })).toBe('arguments_forbidden arguments');
    expect(takes(scopeWith(tool), { path: '/tmp' })).toBe('taken');
    expect(takes(scopeWith({ spec, inputSchema: {} }), { path: '/etc' })).toBe('taken');
  });

  it('is held to what its own tool says, word for word', () => {
    const scope = scopeWith({ spec });
    expect(takes(scope, { path: '/tmp', mode: null })).toBe('taken');
    expect(takes(scope, { path: '/tmp' })).toBe('invalid_arguments arguments.mode');
    expect(takes(scope, { path: '/tmp', mode: null, x: 1 })).toBe('invalid_arguments arguments.x');
  });

  it('is held to what its executor takes, where the model is told of something stricter', () => {
    const { additionalProperties: _closed, ...open } = parameters;
    const properties = { path: { type: 'string' }, mode: { type: 'string' } };
    const scope = scopeWith({ spec, inputSchema: { ...open, properties, required: ['path'] } });
    expect(takes(scope, { path: '/tmp', mode: null, x: 1 })).toBe('taken');
    expect(takes(scope, { path: '/tmp' })).toBe('taken');
    expect(takes(scope, { mode: 'fast' })).toBe('invalid_arguments arguments.path');
    expect(takes(scope, { path: '/tmp', mode: 1 })).toBe('invalid_arguments arguments.mode');
  });

  it('is left to the call where the run has no such tool yet', () => {
    expect(takes(scopeWith(undefined), { path: 7 })).toBe('taken');
  });
});
