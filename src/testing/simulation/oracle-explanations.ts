import type { AtRest } from './oracles.ts';

/** How a single sentence says why, of an end that nothing in the journal led to. */
const SAYS_WHY = /because|did not take|was lost/;

/** `explain` names a cause before the end, and leans on entries that are there. */
export async function explanationFaults({ world, records, journals }: AtRest): Promise<string[]> {
  const found: string[] = [];
  for (const { run_id, session_id, last_seq, state } of records) {
    const explained = await world.process.handle.explain(run_id);
    const seqs = new Set(journals.get(session_id)?.map(({ seq }) => seq));
    const chain = explained?.chain ?? [];
    const prose = explained?.prose.join(' ') ?? '';
    const isCaused = chain.length > 1 || SAYS_WHY.test(prose);
    if (!isCaused)
      found.push(`${run_id}, which is ${state}, has no cause: ${JSON.stringify(explained)}`);
    if (chain.at(-1)?.seq !== last_seq) found.push(`${run_id} is not explained to its end`);
    const stray = chain.find(({ seq }) => seq !== null && !seqs.has(seq));
    if (stray !== undefined)
      found.push(`${run_id} is explained by ${JSON.stringify(stray)}, which is not there`);
  }
  return found;
}
