import { originOf } from '../hitl/origin.ts';
import type { Checkpoint } from '../journal/checkpoint.ts';
import type { AgentEvent } from '../journal/events.ts';
import type { OpenApproval } from '../journal/open-ends.ts';
import type { RunJournal } from '../journal/run-journal.ts';
import type { RunStory } from '../journal/run-story.ts';
import { keepEnded, type ShownApproval } from './ended-approval.ts';
import { parseArguments } from './parse-arguments.ts';

type Completed = Extract<AgentEvent, { type: 'approval_completed' }>;

/** What is known of the run that asked. */
export interface LostAsker {
  readonly agent: string;
  readonly story: RunStory;
  /** Its own, or that of the run it goes on with. */
  readonly checkpoint: Checkpoint | undefined;
}

/** Keeps an approval that ends with its lost run. The end is appended, and not noted in the story yet. */
export function keepLostApproval(
  run: RunJournal,
  asker: LostAsker,
  { decision_id: decisionId, outcome }: Completed,
): void {
  const asked = asker.story.ends.open.find(({ event }) => event.decision_id === decisionId);
  if (asked === undefined) return;
  const { expiresAt = asked.at } = asked;
  keepEnded(run, { decisionId, shown: shownOf(asker, asked), outcome, expiresAt });
}

function shownOf(asker: LostAsker, { event, at, route }: OpenApproval): ShownApproval {
  return {
    agent: asker.agent,
    sessionId: event.scope.session_id ?? '',
    toolName: event.tool_name,
    toolCallId: event.tool_call_id,
    arguments: argumentsOf(asker, event.tool_call_id),
    argumentsDigest: event.arguments_digest,
    origin: originOf(event.origin),
    route,
    requestedAt: at,
  };
}

function argumentsOf({ story, checkpoint }: LostAsker, callId: string): Record<string, unknown> {
  const kept = checkpoint?.calls.find(({ call }) => call.id === callId)?.call;
  const { argumentsText = '' } = kept ?? story.turns.call(callId) ?? {};
  return parseArguments(argumentsText) ?? {};
}
