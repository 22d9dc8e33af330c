import { describe, expect, it } from 'vitest';
import { originFields } from '../../src/hitl/origin.ts';

describe('hitl: the origin on the wire', () => {
  it.each([
    [
      { kind: 'config_gate', matchedPattern: 'a*' },
      { kind: 'config_gate', matched_pattern: 'a*' },
    ],
    [
      { kind: 'agent_requested', reason: 'r', agentName: 'a' },
      { kind: 'agent_requested', reason: 'r', agent_name: 'a' },
    ],
    [
      { kind: 'elicitation', server: 's', message: 'm', schema: { type: 'object' } },
      { kind: 'elicitation', server: 's', message: 'm', schema: { type: 'object' } },
    ],
  ] as const)('writes the fields of $kind', (origin, fields) => {
    expect(originFields(origin)).toEqual(fields);
  });
});
