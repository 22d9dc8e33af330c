import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { RunRecord } from '../../src/handle.ts';
import type { Envelope } from '../../src/journal/events.ts';
import { checkJournal } from '../../src/journal/invariants.ts';
import { objections } from '../support/strict-pairing.ts';
import { WorldHistory, worldStep } from '../support/world-history.ts';

/**
 * Whatever is done to a supervisor and whatever happens to its processes: every run ends or parks, once;
 * journals keep their invariants; nothing that may not is executed twice; lists agree with the journal.
 */

const ENDS = new Set<RunRecord['state']>(['finished', 'cancelled', 'failed', 'parked']);

describe('a supervisor under any history', () => {
  it('ends or parks every run, keeps every journal sound, and does nothing twice', async () => {
    const reached = new Map<string, number>();
    const count = (what: string) => reached.set(what, (reached.get(what) ?? 0) + 1);
    await fc.assert(
      fc.asyncProperty(
        fc.array(worldStep, { minLength: 10, maxLength: 60, size: 'max' }),
        async (steps) => {
          const history = new WorldHistory();
          await history.boot();
          for (const step of steps) await history.play(step);
          await history.comeToRest();
          const records = await allRecords(history);
          for (const { state, end, continues } of records) {
            count(`${state}${end?.reason ? ` ${end.reason}` : ''}`);
            if (continues !== null) count('continued');
          }
          await expectSound(history);
          await expectAgreement(history, records);
          expectOnce(history, records);
          expectAcceptable(history);
        },
      ),
      { numRuns: 150 },
    );
    expect([...reached.keys()]).toEqual(
      expect.arrayContaining([
        ...['finished', 'failed', 'cancelled unclaimed', 'cancelled external', 'continued'],
        ...['cancelled superseded', 'parked unclaimed', 'parked external', 'parked owner_lost'],
      ]),
    );
  }, 120_000);
});

async function allRecords({ process }: WorldHistory): Promise<RunRecord[]> {
  return [...(await process.supervisor.listRuns({ limit: 1_000 })).data];
}

async function expectSound({ host, process, processes }: WorldHistory): Promise<void> {
  const runs = await host.store.listRecords({ limit: 1_000 });
  for (const sessionId of new Set(runs.map((run) => run.sessionId))) {
    expect(checkJournal(await host.entries(sessionId), { ended: true })).toEqual([]);
  }
  expect(runs.filter(({ settledSeq }) => settledSeq === undefined)).toEqual([]);
  expect(process.clock.pending, 'timers that survive').toEqual([]);
  const crashed = processes.flatMap((one) => one.messages('A run chart crashed'));
  expect(crashed).toEqual([]);
}

/** What is listed is what the journal tells. */
async function expectAgreement(history: WorldHistory, records: readonly RunRecord[]) {
  const { supervisor } = history.process;
  for (const record of records) {
    expect(ENDS.has(record.state), `${record.run_id} is ${record.state}`).toBe(true);
    const told = await entriesOf(history, record);
    const last = told.at(-1);
    expect([record.first_seq, record.last_seq]).toEqual([told[0]?.seq, last?.seq]);
    expect(last?.payload.event.type).toBe(record.state);
    expect(record).toEqual(await supervisor.record(record.run_id));
    expect(record.claims).toEqual([]);
    const next = records.filter(({ continues }) => continues === record.run_id);
    expect(next.map(({ run_id }) => run_id)).toEqual(
      record.continued_by === null ? [] : [record.continued_by],
    );
    expect(record.verbs.includes('resume')).toBe(
      record.state === 'parked' && record.continued_by === null && record.approvals.length === 0,
    );
  }
  for (const sessionId of new Set(records.map((record) => record.session_id))) {
    const mine = records.filter((record) => record.session_id === sessionId);
    expect(await supervisor.getSession(sessionId)).toMatchObject({
      runs: mine.length,
      live: [],
      last_run: mine
        .map(({ run_id }) => run_id)
        .toSorted()
        .at(-1),
      last_seq: (await history.host.entries(sessionId)).length,
    });
  }
  const { data: pending } = await supervisor.listApprovals({ limit: 1_000, state: 'pending' });
  expect(pending, 'all have expired by now').toEqual([]);
}

async function entriesOf({ host }: WorldHistory, record: RunRecord): Promise<Envelope[]> {
  const entries = await host.entries(record.session_id);
  return entries.filter(({ run_id }) => run_id === record.run_id);
}

/** A call is known by its id and the chain of runs that it belongs to. */
function expectOnce({ executed }: WorldHistory, records: readonly RunRecord[]): void {
  const before = new Map(records.map(({ run_id, continues }) => [run_id, continues]));
  const chainOf = (runId: string): string => {
    const continued = before.get(runId);
    return continued === undefined || continued === null ? runId : chainOf(continued);
  };
  const calls = executed
    .filter(({ name }) => name !== 'again')
    .map(({ callId, runId }) => `${chainOf(runId)} ${callId}`);
  expect(calls.filter((call, at) => calls.indexOf(call) !== at)).toEqual([]);
}

function expectAcceptable({ processes }: WorldHistory): void {
  for (const { model } of processes) {
    for (const { request } of model.turns) expect(objections(request.messages)).toEqual([]);
  }
}
