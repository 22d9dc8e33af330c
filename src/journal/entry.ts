import type { JournalEvent } from './events.ts';
import type { StoredEntry } from './reader.ts';

/** What stands before `seq` in every envelope of a run, or of a session without a run. */
export function envelopeHead(sessionId: string, runId?: string): string {
  const run = runId === undefined ? '' : `"run_id":${JSON.stringify(runId)},`;
  return `{"session_id":${JSON.stringify(sessionId)},${run}"seq":`;
}

/** The envelope's JSON for an event that is JSON already. */
export function encodeEvent(
  head: string,
  entry: { seq: number; at: number; kind: 'agent' | 'lifecycle'; eventJson: string },
): string {
  const { seq, at, kind, eventJson } = entry;
  return `${head}${seq},"at":${at},"payload":{"kind":"${kind}","event":${eventJson}}}`;
}

/** The same bytes as {@link encodeEvent} for a `text_delta`, at the price of its text alone. */
export function encodeText(head: string, seq: number, at: number, text: string): string {
  return `${head}${seq},"at":${at},"payload":{"kind":"agent","event":{"type":"text_delta","text":${JSON.stringify(text)}}}}`;
}

/** Where an entry stands and whose it is. */
export interface EntryPlace {
  readonly sessionId: string;
  readonly runId: string | undefined;
  readonly seq: number;
  readonly at: number;
}

/** An entry of an event that this process made. */
export class EventEntry implements StoredEntry {
  readonly sessionId: string;
  readonly runId: string | undefined;
  readonly seq: number;
  readonly at: number;
  readonly kind: 'agent' | 'lifecycle';
  readonly type: string;
  readonly event: JournalEvent;
  readonly json: string;

  constructor(place: EntryPlace, kind: 'agent' | 'lifecycle', event: JournalEvent, json: string) {
    this.sessionId = place.sessionId;
    this.runId = place.runId;
    this.seq = place.seq;
    this.at = place.at;
    this.kind = kind;
    this.type = event.type;
    this.event = event;
    this.json = json;
  }
}

/** A `text_delta` that this process made; its event is built for who asks. */
export class TextEntry implements StoredEntry {
  readonly kind = 'agent';
  readonly type = 'text_delta';
  readonly sessionId: string;
  readonly runId: string | undefined;
  readonly seq: number;
  readonly at: number;
  readonly text: string;
  readonly json: string;

  constructor(
    sessionId: string,
    runId: string,
    seq: number,
    at: number,
    text: string,
    json: string,
  ) {
    this.sessionId = sessionId;
    this.runId = runId;
    this.seq = seq;
    this.at = at;
    this.text = text;
    this.json = json;
  }

  get event(): JournalEvent {
    return { type: 'text_delta', text: this.text };
  }
}
