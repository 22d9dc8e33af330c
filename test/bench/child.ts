/** What the benchmark asks of the processes it starts, over Node's own channel between them. */

export interface Usage {
  /** User and system time of the whole process, its threads included. */
  readonly cpuMicros: number;
  readonly rssBytes: number;
  readonly heapBytes: number;
}

export type Ask =
  /** `collect` first collects garbage: for figures of memory, never for those of time. */
  | { readonly ask: 'usage'; readonly id: number; readonly collect: boolean }
  /** The upstream alone: how the streams to come are paced. */
  | { readonly ask: 'pace'; readonly id: number; readonly pace: Pace };

export interface Pace {
  /** Text chunks a stream. */
  readonly chunks: number;
  /** Between two chunks of a stream; 0 writes as fast as the reader takes. */
  readonly intervalMs: number;
  /** Leaves the stream open after its chunks, until the client goes. */
  readonly hold: boolean;
}

export type Answer =
  | { readonly answer: 'listening'; readonly url: string }
  | { readonly answer: 'usage'; readonly id: number; readonly usage: Usage }
  | { readonly answer: 'done'; readonly id: number };

/** Tells the parent where this process listens and answers what it asks from then on. */
export function serveParent(
  url: string,
  options: { readonly onPace?: (pace: Pace) => void },
): void {
  const tell = (answer: Answer) => process.send?.(answer);
  process.on('message', (message) => {
    // The parent is ours and sends nothing else.
    const ask = message as Ask;
    if (ask.ask === 'usage')
      return tell({ answer: 'usage', id: ask.id, usage: usage(ask.collect) });
    options.onPace?.(ask.pace);
    return tell({ answer: 'done', id: ask.id });
  });
  process.on('disconnect', () => process.exit());
  tell({ answer: 'listening', url });
}

function usage(collect: boolean): Usage {
  if (collect) globalThis.gc?.();
  const { user, system } = process.cpuUsage();
  const { rss, heapUsed } = process.memoryUsage();
  return { cpuMicros: user + system, rssBytes: rss, heapBytes: heapUsed };
}
