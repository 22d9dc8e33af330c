/** Bytes of the server-sent events wire. A frame is complete text: lines and one blank line. */

/**
 * Keeps a silent stream alive. A comment and one newline: a blank line of its own would make some
 * parsers deliver an empty message.
 */
export const HEARTBEAT = ': heartbeat\n';

/** What a frame has beside its data. */
export interface FrameFields {
  /** Name of the event; without one, browsers deliver the frame to `onmessage`. */
  readonly event?: string;
  /** What a reconnecting client sends back as `Last-Event-ID`. 0 is an id like any other. */
  readonly id?: number | string;
}

/**
 * One frame: `event:`, `data:`, `id:`, in that order, because a client that is cut off inside the
 * frame must not take its id. `json` is one line. Throws `TypeError` when a value holds a line
 * break or a NUL, which would make another frame of it.
 */
export function dataFrame(json: string, { event, id }: FrameFields = {}): string {
  const name = event === undefined ? '' : `event: ${oneLine('event', event)}\n`;
  const last = id === undefined ? '' : `id: ${oneLine('id', String(id))}\n`;
  return `${name}data: ${oneLine('data', json)}\n${last}\n`;
}

/** How long a client waits before it comes back, as a line that belongs to the next frame. */
export function retryLine(ms: number): string {
  if (!Number.isSafeInteger(ms) || ms < 0) {
    throw new TypeError(`retry is a whole number of milliseconds from 0, not ${ms}.`);
  }
  return `retry: ${ms}\n`;
}

function oneLine(field: string, value: string): string {
  if (value.includes('\n') || value.includes('\r') || value.includes('\0')) {
    throw new TypeError(`The ${field} of a frame must not hold a line break or a NUL.`);
  }
  return value;
}
