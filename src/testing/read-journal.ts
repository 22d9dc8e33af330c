import type { SupervisorHandle } from '../handle.ts';
import { parseEnvelope } from '../journal/envelope.ts';
import type { Envelope } from '../journal/events.ts';

const PAGE_ENTRIES = 1_000;

/**
 * Everything a session has told so far and the store still has, as {@link checkJournal} takes it. Rejects
 * with `StoreUnavailableError`.
 */
export async function readJournal(
  { journal }: Pick<SupervisorHandle, 'journal'>,
  sessionId: string,
): Promise<Envelope[]> {
  const entries: Envelope[] = [];
  for (let from = 1; ; ) {
    const page = await journal.read(sessionId, from, PAGE_ENTRIES);
    const last = page.at(-1);
    if (last === undefined) return entries;
    entries.push(...page.map(({ json }) => parseEnvelope(json)));
    from = last.seq + 1;
  }
}
