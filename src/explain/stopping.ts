import type { ExplainedStep } from '../handle.ts';
import { count, duration, list } from './say.ts';
import { entryStep, obligationStep } from './steps.ts';
import type { EntryOf, Story } from './story.ts';
import { occupation } from './work.ts';

/** That the run was told to stop and how what it had open took it; empty when nothing was open. */
export function stoppingSteps(story: Story): ExplainedStep[] {
  const stopping = story.last('stopping');
  if (stopping === undefined) return [];
  const { obligations, cause, which } = stopping.event;
  const open = count(obligations, 'thing');
  const while_ = ASKED.has(cause) ? meanwhile(story) : '';
  const text = `The run was told to stop${while_}, with ${open} under way${answersText(story)}`;
  const detail = { cause, ...(which !== undefined && { which }), obligations };
  const steps = [entryStep(stopping, text, detail)];
  for (const gone of answersOf(story, 'abandoned')) steps.push(abandonedStep(gone));
  return steps;
}

/** Causes that come from outside, whatever the run is at. */
const ASKED: ReadonlySet<string> = new Set(['external', 'shutdown', 'superseded', 'lease_lost']);

/** What the run was at when it gave up its work: for the end of a clause, and empty if not known. */
export function meanwhile(story: Story): string {
  const busy = occupation(story.decision?.from);
  return busy === undefined ? '' : ` while ${busy}`;
}

function answersText(story: Story): string {
  const confirmed = answersOf(story, 'confirmed');
  if (confirmed.length === 0) return '';
  const names = confirmed.map(({ event }) => nameOf(event.what, event.id));
  const longest = Math.max(...confirmed.map(({ event }) => event.waited_ms));
  return `; ${list(names)} confirmed it within ${duration(longest)}`;
}

const answersOf = (
  story: Story,
  state: 'confirmed' | 'abandoned',
): readonly EntryOf<'obligation'>[] =>
  story.all('obligation').filter(({ event }) => event.state === state);

function abandonedStep({ seq, at, event }: EntryOf<'obligation'>): ExplainedStep {
  const { what, id, waited_ms } = event;
  const effect = what === 'tool' ? ': what it did is not known' : '';
  const text =
    `${capital(nameOf(what, id))} did not answer within ${duration(waited_ms)} ` +
    `and was abandoned${effect} (seq ${seq})`;
  return obligationStep(at, text, { seq, what, id, state: 'abandoned', waited_ms });
}

/** An obligation as a person would call it. */
export function nameOf(what: string, id: string): string {
  switch (what) {
    case 'model':
      return `the model request of ${id.replace('-', ' ')}`;
    case 'tool':
      return `the tool call ${id}`;
    case 'mcp':
      return id === 'setup'
        ? 'the connecting of its MCP servers'
        : `the stop notice to the MCP server of ${id}`;
    case 'approval':
      return `the approval ${id}`;
    default:
      return `the ${what} ${id}`;
  }
}

export const capital = (text: string): string => text.charAt(0).toUpperCase() + text.slice(1);
