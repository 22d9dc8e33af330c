import { z } from 'zod';
import { StoreError } from '../stores/store.ts';
import type { Envelope, JournalEvent } from './events.ts';
import type { StoredEntry } from './reader.ts';

/**
 * The stored and sent shape of an entry. An event of a type that this version does not know passes
 * with every key it has, and so do new keys of known types: a newer version may have written them.
 */
export const envelopeSchema = z.looseObject({
  session_id: z.string().min(1),
  run_id: z.string().min(1).optional(),
  seq: z.int().min(1),
  at: z.int().min(0),
  payload: z.looseObject({
    kind: z.enum(['agent', 'lifecycle']),
    event: z.looseObject({ type: z.string().min(1) }),
  }),
});

/**
 * Reads one line of a journal that somebody else wrote. Throws {@link StoreError} that names the
 * field which is wrong.
 */
export function parseEnvelope(line: string): Envelope {
  const parsed = envelopeSchema.safeParse(jsonOf(line));
  if (parsed.success) return parsed.data as unknown as Envelope; // Unknown types are events too.
  const [issue] = parsed.error.issues;
  const field = issue?.path.join('.') || 'the entry';
  throw new StoreError(`A journal entry is damaged: ${field}: ${issue?.message ?? 'invalid'}.`);
}

/** Reads a whole journal, one envelope a line; empty lines are passed over. */
export function parseJournal(text: string): Envelope[] {
  return text
    .split('\n')
    .filter((line) => line !== '')
    .map(parseEnvelope);
}

/**
 * An entry as read back from the store at its place in the session. The store is trusted for the
 * shape, which it got from here; only what is not JSON, or another entry's place, is refused.
 */
export function storedEntry(sessionId: string, seq: number, json: string): StoredEntry {
  const envelope = jsonOf(json) as Envelope;
  if (envelope?.seq !== seq || typeof envelope.payload?.event?.type !== 'string') {
    throw new StoreError(
      `Entry ${seq} of a session is damaged: it is not the entry of that place.`,
    );
  }
  const { run_id: runId, at, payload } = envelope;
  const { kind, event } = payload as { kind: StoredEntry['kind']; event: JournalEvent };
  return { sessionId, runId, seq, at, kind, type: event.type, event, json };
}

function jsonOf(line: string): unknown {
  try {
    return JSON.parse(line);
  } catch (cause) {
    throw new StoreError('A journal entry is damaged: it is not JSON.', { cause });
  }
}
