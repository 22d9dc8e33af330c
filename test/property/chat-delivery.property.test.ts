import { IncomingMessage, ServerResponse } from 'node:http';
import { Socket } from 'node:net';
import fc from 'fast-check';
import Koa from 'koa';
import { describe, expect, it } from 'vitest';
import { ClaimedRun } from '../../src/http/chat/claimed-run.ts';
import { DONE } from '../../src/http/chat/projection.ts';
import { StreamDelivery } from '../../src/http/chat/stream-delivery.ts';
import { SsePool } from '../../src/http/sse-pool.ts';
import type { JournalEvent } from '../../src/journal/events.ts';
import type { Follower, FollowOptions, JournalSink } from '../../src/journal/reader.ts';
import { createCountingIds } from '../../src/testing/ids.ts';
import { createVirtualClock } from '../../src/testing/virtual-clock.ts';
import {
  cancelled,
  failed,
  finished,
  PROJECTION,
  text,
  toolComplete,
  toolRequested,
} from '../support/chat-journal.ts';
import { FakeHandle, startCommand } from '../support/fake-handle.ts';
import { FakeJournal } from '../support/fake-journal.ts';
import { HTTP_CONFIG } from '../support/http-world.ts';

/**
 * The journal hands entries over in batches of any size, as they happened to be stored. A client
 * must not be able to tell: the bytes are those of the entries alone.
 */

/** A socket that goes nowhere and keeps what it is given, one element a write. */
class KeptSocket extends Socket {
  readonly writes: string[] = [];

  override _write(chunk: Buffer | string, _encoding: BufferEncoding, done: () => void): void {
    this.writes.push(String(chunk));
    done();
  }

  override _writev(chunks: { readonly chunk: Buffer | string }[], done: () => void): void {
    this.writes.push(chunks.map(({ chunk }) => String(chunk)).join(''));
    done();
  }
}

class HandedJournal extends FakeJournal {
  sink: JournalSink | undefined;

  override follow(_options: FollowOptions, sink: JournalSink): Follower {
    this.sink = sink;
    return { resume: () => {}, close: () => {} };
  }
}

class HandedHandle extends FakeHandle {
  override readonly journal = new HandedJournal();
}

/** A response whose bytes are the body alone: HTTP/1.0 knows no chunk framing. */
function keptResponse() {
  const socket = new KeptSocket();
  const request = new IncomingMessage(socket);
  Object.assign(request, { httpVersionMajor: 1, httpVersionMinor: 0, method: 'POST', url: '/' });
  const response = new ServerResponse(request);
  response.assignSocket(socket);
  // As a server does for a request that cannot keep its connection.
  response.once('finish', () => socket.destroy());
  return { socket, ctx: new Koa().createContext(request, response) };
}

/** The writes of one response, the headers first. `sizes` says how the entries are cut up. */
async function delivered(
  events: readonly JournalEvent[],
  sizes: readonly number[],
  customEvents: boolean,
): Promise<string[]> {
  const { socket, ctx } = keptResponse();
  const handle = new HandedHandle();
  const clock = createVirtualClock();
  const log = { debug() {}, info() {}, warn() {}, error() {} };
  const pool = new SsePool({ streamsMax: 1 });
  const deps = { handle, clock, log, pool, config: HTTP_CONFIG, ids: createCountingIds() };
  const command = startCommand();
  const run = await ClaimedRun.start({ handle, command, observerId: 'o', response: ctx.res });
  for (const event of events) handle.runs.get(run.started.runId)?.emit(event);
  const projection = { ...PROJECTION, customEvents };
  const delivery = new StreamDelivery({ ctx, run, projection, openedBy: 'session_info', deps });
  delivery.opened.catch(() => {});
  const entries = handle.journal.entries(command.sessionId);
  for (let at = 0, turn = 0; at < entries.length; turn++) {
    const size = sizes[turn % sizes.length] ?? entries.length;
    handle.journal.sink?.entries(entries.slice(at, at + size));
    at += size;
    await clock.settle();
  }
  expect(clock.pending).toEqual([]);
  return socket.writes;
}

const bodyOf = (writes: readonly string[]): string => writes.join('').replace(/^[^]*?\r\n\r\n/, '');

const event: fc.Arbitrary<JournalEvent> = fc.oneof(
  { weight: 4, arbitrary: fc.string().map(text) },
  {
    weight: 3,
    arbitrary: fc.constantFrom<JournalEvent>(
      toolRequested(),
      toolComplete(),
      { type: 'session_info', model: 'scripted/echo' },
      { type: 'reasoning', content: 'Hm.' },
      { type: 'stopping', cause: 'external', obligations: 0 },
    ),
  },
);

/** Most histories begin as real ones do, so that the opening is cut in every way. */
const history = fc
  .tuple(
    fc.constantFrom<JournalEvent[]>(
      [{ type: 'session_info', model: 'scripted/echo' }],
      [{ type: 'session_info', model: 'scripted/echo' }, text('a')],
      [text('a')],
    ),
    fc.array(event, { maxLength: 12 }),
    fc.constantFrom<JournalEvent>(finished(), cancelled('external'), failed('provider_error')),
  )
  .map(([opening, middle, last]) => [...opening, ...middle, last]);

const sizes = fc.array(fc.integer({ min: 1, max: 5 }), { minLength: 1, maxLength: 6 });

describe('chat stream: any division of a journal into batches', () => {
  it('gives the same bytes', async () => {
    await fc.assert(
      fc.asyncProperty(history, sizes, fc.boolean(), async (events, cut, customEvents) => {
        const whole = await delivered(events, [events.length + 1], customEvents);
        const parts = await delivered(events, cut, customEvents);
        expect(bodyOf(parts)).toBe(bodyOf(whole));
        expect(bodyOf(whole).endsWith(DONE)).toBe(true);
      }),
    );
  });

  it('makes one write of a batch, and one of the last frames and the end', async () => {
    await fc.assert(
      fc.asyncProperty(history, sizes, async (events, cut) => {
        const writes = await delivered(events, cut, true);
        const batches = writes.filter((write) => !write.startsWith('HTTP/'));
        const count = Math.ceil((events.length + 1) / Math.min(...cut));
        expect(batches.length).toBeLessThanOrEqual(count);
        expect(writes.at(-1)?.endsWith(DONE)).toBe(true);
        expect(writes.at(-1)).not.toBe(DONE);
      }),
    );
  });
});
