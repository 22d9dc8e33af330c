import { follow, type FollowOptions } from '../client/follow.ts';
import { type OperatorCall, option, printJson } from '../operator.ts';
import { EntryPrinter } from './entries.ts';
import { plain } from './plain.ts';
import { durationText } from './time.ts';

export interface WatchView extends Pick<FollowOptions, 'isLast' | 'ifMissing'> {
  readonly path: string;
  /** The stream is of a whole session. */
  readonly whole: boolean;
  /** Said to a person who leaves it. */
  readonly left: string;
}

/** Prints the entries of a stream as they come, until it ends or the person leaves. */
export async function watch(call: OperatorCall, view: WatchView): Promise<void> {
  const { client, io, flags, signal } = call;
  const running = !call.json && io.columns() !== undefined;
  const printer = new EntryPrinter({ out: (text) => io.out(text), running, whole: view.whole });
  const kind = flags['lifecycle'] === true ? 'lifecycle' : undefined;
  const query = { from: option(call, 'from'), kind };
  const { path, isLast, ifMissing } = view;
  const options = { query, io, signal, isLast, ...(ifMissing === undefined ? {} : { ifMissing }) };
  let last: number | undefined;
  try {
    for await (const one of follow(client, path, options)) {
      if (one.kind === 'entry') {
        last = one.entry.seq ?? last;
        if (call.json) printJson(call, one.json);
        else printer.print(one.entry);
      } else {
        printer.endLine();
        io.err(plain(`${one.because} Trying again in ${durationText(one.pauseMs)}.`) + '\n');
      }
    }
  } finally {
    printer.endLine();
    if (signal.aborted) leave(call, view, last);
  }
}

/** Where to go on. Who closed the output does not want to know. */
function leave({ io }: OperatorCall, { left }: WatchView, last: number | undefined): void {
  if (io.outClosed.aborted) return;
  const next = last === undefined ? '' : ` Watch on by --from ${last + 1}.`;
  io.err(`${left}${next}\n`);
}
