import type { StoredEntry } from '../../journal/reader.ts';

/** Where the text of a `text_delta` begins in its stored envelope. */
const BEFORE_TEXT = '"event":{"type":"text_delta","text":';

/** What closes the event, the payload and the envelope behind the text. */
const AFTER_TEXT = '}}}';

/**
 * The text of a `text_delta` as a JSON string literal, quotes included.
 *
 * The stored envelope already holds the literal. It is cut out where that is provably the same as
 * parsing and writing it again: it has no quote inside, and behind it is only what closes the
 * envelope.
 * A quote within any other value of the envelope is escaped, so the marker is found nowhere else.
 */
export function textJsonOf(entry: StoredEntry): string {
  const { json } = entry;
  const marker = json.indexOf(BEFORE_TEXT);
  const start = marker + BEFORE_TEXT.length;
  const end = json.length - AFTER_TEXT.length;
  if (marker > 0 && json.indexOf('"', start + 1) === end - 1) {
    return json.slice(start, end);
  }
  return JSON.stringify(entry.event.type === 'text_delta' ? entry.event.text : '');
}
