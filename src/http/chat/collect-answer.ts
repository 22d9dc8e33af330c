import type { StoredEntry } from '../../journal/reader.ts';
import type { HttpDeps } from '../deps.ts';
import { unavailable } from '../errors.ts';
import { RunFeed } from '../run-feed.ts';
import type { ClaimedRun } from './claimed-run.ts';
import type { Ending } from './ending.ts';

/** Takes a run's entries in order and says how it ended when it has seen the last. */
export interface EntrySink {
  add(entry: StoredEntry): Ending | undefined;
}

/**
 * Reads a run to its end. Resolves with how it ended, or with undefined when the caller left first.
 * A journal that cannot give the answer whole is a failure, and no departure of the caller.
 */
export async function collectAnswer(
  { handle, clock, log }: Pick<HttpDeps, 'handle' | 'clock' | 'log'>,
  run: ClaimedRun,
  sink: EntrySink,
): Promise<Ending | undefined> {
  const { promise, settle } = settling(run);
  const { sessionId, runId, seq } = run.started;
  const lose = (): void => settle(UNREADABLE);
  const entries = (batch: readonly StoredEntry[]): boolean => {
    const ending = lastEnding(batch, sink);
    if (ending !== undefined) settle(ending);
    return true;
  };
  const feed = new RunFeed(
    { handle, clock, log, sessionId, runId, from: seq },
    { entries, gap: lose, lost: lose },
  );
  try {
    return await promise;
  } finally {
    feed.close();
  }
}

function lastEnding(batch: readonly StoredEntry[], sink: EntrySink): Ending | undefined {
  let ending: Ending | undefined;
  for (const entry of batch) ending = sink.add(entry);
  return ending;
}

/** The first of the run's end and the caller's departure; later ones change nothing. */
function settling(run: ClaimedRun) {
  let resolve: (ending: Ending | undefined) => void = () => {};
  const promise = new Promise<Ending | undefined>((done) => {
    resolve = done;
  });
  run.onLeave(() => resolve(undefined));
  const settle = (ending: Ending): void => {
    run.settle();
    resolve(ending);
  };
  return { promise, settle };
}

const UNREADABLE: Ending = {
  kind: 'failure',
  error: unavailable('store_unavailable', 'The answer could not be read.'),
};
