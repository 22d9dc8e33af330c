import type { Explanation } from '../handle.ts';
import { count } from './say.ts';
import type { Story } from './story.ts';

/** Why a run that failed with its process was not brought back; undefined for every other one. */
export function unrecoveredText(story: Story): string | undefined {
  const { record } = story.facts;
  if (record.end?.error?.code !== 'owner_lost') return undefined;
  if (record.liveness.policy === 'cancel') {
    return 'It was not brought back, because its policy is cancel.';
  }
  if (isStopped(story)) return 'It was not brought back, because it was being stopped already.';
  return `It was not brought back: ${refusal(story) ?? RULE}.`;
}

/** The guard of the lost run's chart that said no, where it is known that it did. */
export function unrecoveredGuards(story: Story): Explanation['blocked_by'] {
  const { record } = story.facts;
  if (record.end?.error?.code !== 'owner_lost') return [];
  if (record.liveness.policy === 'cancel' || isStopped(story)) return [];
  const because = refusal(story);
  if (because === undefined) return [];
  return [{ chart: 'orphan', guard: 'mayResume', event: null, because }];
}

const isStopped = (story: Story): boolean => story.last('stopping') !== undefined;

function refusal({ facts: { recovery } }: Story): string | undefined {
  if (recovery === undefined) return undefined;
  const { recover, recoveries, recoveriesMax } = recovery;
  if (recoveries >= recoveriesMax) {
    return (
      `that was done ${count(recoveries, 'time')} already, ` +
      'and a run that loses its process each time is not brought back for ever'
    );
  }
  return recover === 'fail' ? 'this server does not do that (crash.recover = "fail")' : undefined;
}

/** What decides it, for a run of which nothing more is known. */
const RULE =
  'that takes a checkpoint that can be read, and crash.recover = "resume" when the run is found';
