import type { RunRecord } from '../../handle.ts';
import { checkJournal } from '../../journal/invariants.ts';
import type { Envelope } from '../../journal/events.ts';
import { parseLog } from '../../transitions/codec.ts';
import { executionFaults } from './oracle-executions.ts';
import { explanationFaults } from './oracle-explanations.ts';
import { readerFaults } from './oracle-readers.ts';
import type { SimWorld } from './world.ts';

/** A world that has come to rest, as it is looked at. */
export interface AtRest {
  readonly world: SimWorld;
  readonly records: readonly RunRecord[];
  /** Of each session, by its id. */
  readonly journals: ReadonlyMap<string, readonly Envelope[]>;
}

/** Looks at one thing, and tells what is wrong with it. */
type Oracle = (rest: AtRest) => Promise<readonly string[]> | readonly string[];

const ORACLES: Readonly<Record<string, Oracle>> = {
  'journals keep their invariants': journalFaults,
  'every run has ended or is parked': unendedFaults,
  'records are what the journal tells': recordFaults,
  'nothing lives and nothing waits': livingFaults,
  'readers lose nothing and get nothing twice': readerFaults,
  'nothing runs without approval, or twice': executionFaults,
  'each end has a cause': explanationFaults,
  'a grace window is waited for': graceFaults,
  'nothing crashed': crashFaults,
};

/** What is wrong with a world at rest, as sentences. */
export async function judge(world: SimWorld): Promise<readonly string[]> {
  const rest = await lookAt(world);
  tellReach(rest);
  const found: string[] = world.faults.map(({ what }) => what);
  for (const [name, oracle] of Object.entries(ORACLES)) {
    world.reach.count('checks', name);
    found.push(...(await oracle(rest)).map((fault) => `${name}: ${fault}`));
  }
  return found;
}

async function lookAt(world: SimWorld): Promise<AtRest> {
  const { data: records } = await world.process.handle.listRuns({ limit: 1_000 });
  const journals = new Map(world.disk.sessions().map((id) => [id, world.disk.entries(id)]));
  return { world, records, journals };
}

function journalFaults({ world, journals }: AtRest): readonly string[] {
  const clock = world.clock.setBy === 0 ? {} : ({ clock: 'set' } as const);
  return [...journals].flatMap(([id, entries]) =>
    checkJournal(entries, { ended: true, ...clock }).map(
      (violation) => `${id}: ${JSON.stringify(violation)}`,
    ),
  );
}

const ENDED: ReadonlySet<string> = new Set(['finished', 'cancelled', 'failed', 'parked']);

function unendedFaults({ records }: AtRest): readonly string[] {
  return records
    .filter(({ state }) => !ENDED.has(state))
    .map((run) => `${run.run_id} is ${run.state}`);
}

function recordFaults({ records, journals }: AtRest): readonly string[] {
  return records.flatMap((record) => {
    const told =
      journals.get(record.session_id)?.filter(({ run_id }) => run_id === record.run_id) ?? [];
    const [first, last] = [told[0], told.at(-1)];
    const places = [record.first_seq, record.last_seq].join() === [first?.seq, last?.seq].join();
    const isSame =
      places && last?.payload.event.type === record.state && record.claims.length === 0;
    if (isSame) return [];
    const types = told.map(({ seq, payload }) => `${seq} ${payload.event.type}`).join(', ');
    return [`the journal has ${types}, the record is ${JSON.stringify(record)}`];
  });
}

function livingFaults({ world: { process } }: AtRest): readonly string[] {
  return [
    ...(process.actors === 0 ? [] : [`${process.actors} actors live`]),
    ...(process.clock.armed === 0 ? [] : [`${process.clock.armed} timers are armed`]),
  ];
}

/** Entries that were told again have a later time, and a clock that was set has any. */
function graceFaults({ world, journals }: AtRest): readonly string[] {
  if (world.clock.setBy !== 0 || world.disk.refused > 0) return [];
  return [...journals.values()].flatMap((entries) =>
    entries.flatMap(({ at, run_id, payload: { event } }, place) => {
      if (event.type !== 'claims_exhausted') return [];
      const decided = entries
        .slice(place)
        .find(
          (later) => later.run_id === run_id && later.payload.event.type === 'liveness_decided',
        );
      const isEarly = decided !== undefined && decided.at < at + event.grace_ms;
      return isEarly ? [`${run_id} was decided ${decided.at - at} ms after its last claim`] : [];
    }),
  );
}

/** What a process may lay to the world around it. */
const OF_THE_WORLD: ReadonlySet<unknown> = new Set([
  'StoreError',
  'StoreUnavailableError',
  'LeaseLostError',
]);

function crashFaults({ world: { processes } }: AtRest): readonly string[] {
  return processes.flatMap(({ log, number }) =>
    log
      .filter(({ level, err }) => level === 'error' && !OF_THE_WORLD.has(err?.type))
      .map((line) => `process ${number}: ${JSON.stringify(line)}`),
  );
}

function tellReach({ world: { reach, disk }, records, journals }: AtRest): void {
  for (const { run_id, state, end } of records) {
    const why = end?.which ?? end?.error?.code;
    reach.count('ends', [state, end?.reason, why].filter(Boolean).join(' '));
    for (const name of statesIn(disk.log(run_id))) reach.count('states', name);
  }
  for (const entries of journals.values()) {
    for (const { payload } of entries) reach.count('events', payload.event.type);
  }
}

/** The states that the charts of a run came to. */
function statesIn(log: string | undefined): readonly string[] {
  const steps = log === undefined ? [] : (parseLog(log)?.steps ?? []);
  return steps.flatMap(({ chart, to }) =>
    (to ?? 'stopped')
      .replaceAll(/[{}]/g, '')
      .split(/,\s*/)
      .map((state) => `${chart}: ${state}`),
  );
}
