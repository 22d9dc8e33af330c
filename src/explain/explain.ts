import type { ExplainedStep, Explanation, RunEnd } from '../handle.ts';
import { awayChain, awayTexts } from './away.ts';
import { endedChain, missingText } from './ends.ts';
import type { ExplainFacts } from './facts.ts';
import { blockedNow, refusedIn } from './guards.ts';
import { livingChain } from './living.ts';
import { resumptionText } from './parked.ts';
import { unrecoveredGuards, unrecoveredText } from './recovery.ts';
import { list } from './say.ts';
import { isDecision, Story } from './story.ts';

/**
 * Why a run is in the state it is in: the shortest chain of entries, transitions, deadlines and
 * obligations that leads there, first cause first, and the same in sentences.
 *
 * It is pure: the same facts give the same answer, and what is missing of them, such as entries
 * that were trimmed, makes the chain shorter and is said.
 */
export function explainRun(facts: ExplainFacts): Explanation {
  const { record, away } = facts;
  const story = new Story(facts);
  if (record.end !== null) return explainEnded(story, record.end);
  return away === undefined ? explainLiving(story) : explainAway(story, away);
}

function explainEnded(story: Story, end: RunEnd): Explanation {
  const { run_id, state } = story.facts.record;
  const chain = endedChain(story, end);
  const after = state === 'parked' ? resumptionText(story) : unrecoveredText(story);
  const last = after === undefined ? [] : [after];
  return {
    run_id,
    state,
    prose: [...proseOf(chain), ...last, ...missingText(story, end)],
    chain,
    blocked_by: [...refusedIn(story, chain), ...unrecoveredGuards(story)],
  };
}

function explainAway(story: Story, away: NonNullable<ExplainFacts['away']>): Explanation {
  const { run_id, state } = story.facts.record;
  const chain = awayChain(story);
  return { run_id, state, prose: [...proseOf(chain), ...awayTexts(away)], chain, blocked_by: [] };
}

function explainLiving(story: Story): Explanation {
  const { record, live, now } = story.facts;
  const chain = livingChain(story);
  const blocked = live === undefined ? [] : blockedNow(live, now);
  // What each waits for is in the sentences before.
  const guards = blocked.map(({ chart, guard }) => `${chart}.${guard}`);
  const noun = guards.length === 1 ? 'guard' : 'guards';
  const held = guards.length === 0 ? [] : [`Held back by the ${noun} ${list(guards)}.`];
  return {
    run_id: record.run_id,
    state: record.state,
    prose: [...proseOf(chain), ...held],
    chain,
    blocked_by: [...refusedIn(story, chain), ...blocked],
  };
}

/** That the chart gave up its work is what all the other sentences are about. */
const proseOf = (chain: readonly ExplainedStep[]): readonly string[] =>
  chain.filter((step) => !isTurnToEnd(step)).map(({ text }) => text);

const isTurnToEnd = ({ kind, detail }: ExplainedStep): boolean =>
  // A link that stands for a step of a chart has the step in its detail.
  kind === 'transition' && isDecision(detail as unknown as Parameters<typeof isDecision>[0]);
