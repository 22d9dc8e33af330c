import { describe, expect, it } from 'vitest';
import type { Checkpoint } from '../../src/journal/checkpoint.ts';
import type { AgentEvent } from '../../src/journal/events.ts';
import { OpenEnds } from '../../src/journal/open-ends.ts';
import type { RunStory } from '../../src/journal/run-story.ts';
import { keptCalls } from '../../src/ports/lost-run-standing.ts';

const OF_CALL = { tool_call_id: 'a', arguments_digest: 'sha256:00' } as const;
const SCOPE = { kind: 'single' } as const;
const REQUESTED: AgentEvent = {
  type: 'tool_requested',
  tool_id: 'a',
  tool_name: 'pay',
  arguments: {},
  arguments_text: '{}',
};
const ASKED: AgentEvent = {
  type: 'approval_requested',
  decision_id: 'd',
  tool_name: 'pay',
  origin: { kind: 'config_gate', matched_pattern: 'pay' },
  scope: SCOPE,
  ...OF_CALL,
};
const answered = (kind: 'approved' | 'denied'): AgentEvent => ({
  type: 'approval_completed',
  decision_id: 'd',
  outcome: { kind },
  duration_ms: 1,
  scope: SCOPE,
  ...OF_CALL,
});

/** The calls that go on in another run, of one call of a tool that may be executed again. */
function kept(events: readonly AgentEvent[]): readonly string[] {
  const ends = new OpenEnds();
  for (const event of events) ends.note(event, 0);
  const call = { id: 'a', name: 'pay', argumentsText: '{}' };
  const checkpoint = { agent: 'agent', calls: [{ call, client: false }] };
  const story = { ends, turns: { result: () => undefined } };
  // As much of a checkpoint and of a story as it looks at.
  const known = [checkpoint as unknown as Checkpoint, story as unknown as RunStory] as const;
  return [...keptCalls(...known, { isIdempotent: () => true })];
}

describe('a call of a lost run that may be executed again', () => {
  it.each([
    ['nobody held it back', [REQUESTED], ['a']],
    ['somebody is still asked', [REQUESTED, ASKED], ['a']],
    ['it was approved', [REQUESTED, ASKED, answered('approved')], ['a']],
    ['it was denied, though its end was not stored', [REQUESTED, ASKED, answered('denied')], []],
  ])('goes on, or is over, when %s', (_, events, ids) => {
    expect(kept(events)).toEqual(ids);
  });
});
