import { durationText } from '../print/time.ts';
import { approvalLine } from '../print/approval-text.ts';
import { plain } from '../print/plain.ts';
import { type FeedEvent, feed } from '../client/feed.ts';
import { type OperatorCall, printJson } from '../operator.ts';
import { asksForPending, filtersOf } from './filters.ts';
import { Seen } from './seen.ts';

/** `runwarden approvals watch`: the approvals as they stand, and as they change. */
export async function watchApprovals(call: OperatorCall): Promise<void> {
  const { client, io, signal } = call;
  const seen = new Seen();
  for await (const event of feed(client, { query: filtersOf(call), io, signal })) {
    tell(call, seen, event);
  }
}

function tell(call: OperatorCall, seen: Seen, event: FeedEvent): void {
  const { io } = call;
  switch (event.kind) {
    case 'approval':
      if (!seen.isNews(event.approval)) return;
      if (call.json) printJson(call, event.json);
      else io.out(plain(approvalLine(event.approval, io.now())) + '\n');
      return;
    case 'ready':
      for (const id of seen.gone()) io.err(plain(goneText(call, id)) + '\n');
      if (!call.json) io.err(`${waitingText(event.pending)}\n`);
      return;
    case 'lost':
      seen.comesAgain();
      io.err(plain(`${event.because} Trying again in ${durationText(event.pauseMs)}.`) + '\n');
  }
}

const waitingText = (pending: number): string =>
  pending === 0 ? 'Nothing waits for an approval.' : `${pending} waiting for an approval.`;

function goneText(call: OperatorCall, id: string): string {
  const what = asksForPending(call) ? 'does not wait any more' : 'is not told of any more';
  return `${id} ${what}; see it by "runwarden approvals show ${id}".`;
}
