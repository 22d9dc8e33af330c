import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { AnyEventObject } from 'xstate';
import { runMachine } from '../../machines/run.machine.ts';
import type { StopCause, ToolCallRequest } from '../../machines/vocabulary.ts';
import { startDrive } from '../../src/testing/drive.ts';
import type { PortCall } from '../../src/testing/ports.ts';
import { EXTERNAL, failure, LIMITS, SHUTDOWN, toolCall } from '../model/samples.ts';

/** How a call shows itself: at work, held back, asking for its executor, over but for notices. */
type Standing = 'working' | 'gated' | 'asking' | 'closing';

type Stimulus =
  | { do: 'prepared' | 'unclaimed' | 'endTool' | 'closed' | 'settled' | 'park' }
  | { do: 'stand'; which: 'all' | number; how: Standing }
  | { do: 'turn'; end: 'answered' | 'failed' | 'expired' | 'tools'; calls: number }
  | { do: 'crash'; child: string }
  | { do: 'stop'; cause: StopCause }
  | { do: 'deadline'; which: string }
  | { do: 'wait'; ms: number };

/** Weighted towards turns that call tools: even choices end most runs before the first call. */
const stimulus: fc.Arbitrary<Stimulus> = fc.oneof(
  { weight: 6, arbitrary: fc.constant<Stimulus>({ do: 'prepared' }) },
  {
    weight: 9,
    arbitrary: fc.record({
      do: fc.constant('turn' as const),
      end: fc.constantFrom('tools', 'tools', 'tools', 'tools', 'answered', 'failed', 'expired'),
      calls: fc.integer({ min: 1, max: 4 }),
    }),
  },
  { weight: 6, arbitrary: fc.constant<Stimulus>({ do: 'endTool' }) },
  {
    weight: 8,
    arbitrary: fc.record({
      do: fc.constant('stand' as const),
      which: fc.constantFrom('all' as const, 0, 1),
      how: fc.constantFrom<Standing>('gated', 'gated', 'asking', 'closing', 'working'),
    }),
  },
  { weight: 2, arbitrary: fc.constant<Stimulus>({ do: 'park' }) },
  {
    weight: 2,
    arbitrary: fc.constantFrom<Stimulus>({ do: 'closed' }, { do: 'settled' }, { do: 'unclaimed' }),
  },
  {
    weight: 1,
    arbitrary: fc.record({
      do: fc.constant('crash' as const),
      child: fc.constantFrom('tool.', 'turn', 'claims', 'prepareRun', 'closeWork', 'settleRun'),
    }),
  },
  {
    weight: 1,
    arbitrary: fc.record({
      do: fc.constant('deadline' as const),
      which: fc.constantFrom('total', 'setup', 'step'),
    }),
  },
  {
    weight: 1,
    arbitrary: fc.record({
      do: fc.constant('stop' as const),
      cause: fc.constantFrom(EXTERNAL, SHUTDOWN),
    }),
  },
  {
    weight: 1,
    arbitrary: fc.record({ do: fc.constant('wait' as const), ms: fc.constantFrom(1, 7_000) }),
  },
);

const ENDS = {
  answered: { kind: 'answered' },
  failed: { kind: 'failed', failure: failure() },
  expired: { kind: 'expired', which: 'inactivity', afterMs: 60_000 },
} as const;

interface Kind {
  readonly policy: 'cancel' | 'park';
  readonly totalPauses: boolean;
}

const kinds: fc.Arbitrary<Kind> = fc.record({
  policy: fc.constantFrom('cancel' as const, 'park' as const),
  totalPauses: fc.boolean(),
});

/** A run whose children are played by the test, and what was seen of it. */
class PlayedRun {
  readonly kind: Kind;
  readonly drive;
  readonly asked: ToolCallRequest[] = [];
  /** By the actors of calls that live. */
  readonly standing = new Map<string, Standing>();
  /** Calls that had begun when it was asked to park; undefined while nobody asked. */
  begunAtPark: number | undefined;

  constructor(kind: Kind) {
    this.kind = kind;
    this.drive = startDrive(runMachine, {
      input: {
        runId: 'run-1',
        liveness: { policy: kind.policy, graceMs: 0 },
        limits: { ...LIMITS, turnsMax: 3, totalPauses: kind.totalPauses },
        firstClaim: null,
      },
      shows: { toolCall: ({ call }: { call: ToolCallRequest }) => showing(call, 'working') },
    });
  }

  /** Somebody is asked for one of its calls. */
  get waits(): boolean {
    return [...this.standing.values()].some((how) => how === 'gated' || how === 'asking');
  }

  get liveTools(): readonly PortCall[] {
    return this.all('toolCall').filter(({ state }) => state === 'running');
  }

  /** Nothing of the open calls has begun, so all of them can go on elsewhere. */
  get areAllGated(): boolean {
    return this.liveTools.every(({ id }) => this.standing.get(id) === 'gated');
  }

  all(src: string): PortCall[] {
    return this.drive.ports.calls.filter((call) => call.src === src);
  }

  running(prefix: string): PortCall | undefined {
    const { calls } = this.drive.ports;
    return calls.find(({ id, state }) => state === 'running' && id.startsWith(prefix));
  }

  facts(type: string): AnyEventObject[] {
    return this.drive.emitted.filter((fact) => fact.type === type);
  }

  async play(s: Stimulus): Promise<void> {
    const { drive } = this;
    switch (s.do) {
      case 'prepared':
        return this.running('prepareRun')?.resolve();
      case 'unclaimed':
        if (this.kind.policy === 'park' && this.running('claims')) this.#parks();
        return this.running('claims')?.resolve({ policy: this.kind.policy });
      case 'turn':
        return this.#endTurn(s);
      case 'endTool':
        return this.#endTool((tool) => tool.resolve({ status: 'completed' }));
      case 'stand':
        return this.#stand(s.which, s.how);
      case 'park':
        this.#parks();
        return drive.send({ type: 'run.park', cause: EXTERNAL });
      case 'crash':
        if (s.child === 'tool.') return this.#endTool((tool) => tool.reject(new Error('bug')));
        return this.running(s.child)?.reject(new Error('bug'));
      case 'closed':
        return this.running('closeWork')?.resolve();
      case 'settled':
        return this.running('settleRun')?.resolve();
      case 'stop':
        if (this.kind.policy === 'park' && s.cause === SHUTDOWN) this.#parks();
        return drive.send({ type: 'run.stop', cause: s.cause });
      case 'deadline':
        return this.running(s.which)?.tell({
          type: 'deadline.reached',
          which: s.which,
          afterMs: 1,
        } as AnyEventObject);
      case 'wait':
        return drive.clock.advance(s.ms);
    }
  }

  #endTurn({ end, calls: count }: Extract<Stimulus, { do: 'turn' }>): void {
    const turn = this.running('turn');
    if (turn === undefined) return;
    if (end !== 'tools') return turn.resolve(ENDS[end]);
    const first = this.asked.length;
    const calls = Array.from({ length: count }, (_, index) => toolCall(`call-${first + index}`));
    this.asked.push(...calls);
    turn.resolve({ kind: 'tools', calls });
  }

  #endTool(end: (tool: PortCall) => void): void {
    const tool = this.running('tool.');
    if (tool === undefined) return;
    this.standing.delete(tool.id);
    end(tool);
  }

  #stand(which: 'all' | number, how: Standing): void {
    const tools = this.liveTools.filter((_, at) => which === 'all' || which === at);
    for (const tool of tools) {
      // It may have been let go of when another one showed itself.
      if (tool.state !== 'running') continue;
      this.standing.set(tool.id, how);
      tool.show(showing((tool.input as { call: ToolCallRequest }).call, how));
    }
  }

  #parks(): void {
    if (this.all('settleRun').length === 0) this.begunAtPark ??= this.all('toolCall').length;
  }
}

const TAGS: Readonly<Record<Standing, readonly string[]>> = {
  working: [],
  gated: ['gated', 'input-required'],
  asking: ['input-required'],
  closing: ['closing'],
};

const showing = (call: ToolCallRequest, how: Standing) => ({
  hasTag: (tag: string) => TAGS[how].includes(tag),
  context: { call },
});

/** How the last ports end; one that never does is waited out. */
type Endings = Record<'closeWork' | 'settleRun' | 'releaseRun', 'well' | 'badly' | 'never'>;

const ending = fc.constantFrom('well' as const, 'badly' as const, 'never' as const);
const endings: fc.Arbitrary<Endings> = fc.record({
  closeWork: ending,
  settleRun: ending,
  releaseRun: ending,
});

/** No end of a run takes longer: closing and releasing are bounded by limits, storing by 15 s. */
const BOUND_MS = Math.max(LIMITS.releaseMs * 3, 15_000);

/** What starts work; none of it may start once a stop has begun. */
const WORK = ['prepareRun', 'turn', 'toolCall'];

describe('run chart: invariants under any history', () => {
  it('stops once, starts nothing after it and ends every call or parks it (R1 to R10)', async () => {
    const reached = new Set<string>();
    await fc.assert(
      fc.asyncProperty(
        kinds,
        fc.array(stimulus, { maxLength: 40, size: 'max' }),
        endings,
        async (...given) => {
          const [kind, history, ends] = given;
          const run = new PlayedRun(kind);
          const { drive } = run;
          const work = () => WORK.flatMap((src) => run.all(src)).length;
          drive.send({ type: 'run.begin' });
          let workAtStop: number | undefined;
          for (const s of history) {
            await run.play(s);
            const over =
              drive.actor.getSnapshot().hasTag('stopping') || run.all('settleRun').length > 0;
            if (over) workAtStop ??= work();
            assertAlways(run);
            if (workAtStop !== undefined) expect(work()).toBe(workAtStop);
          }
          await finish(run, ends);
          reached.add(assertEnded(run));
        },
      ),
      { numRuns: 600 },
    );
    expect([...reached]).toEqual(
      expect.arrayContaining(['finished', 'failed', 'cancelled', 'parked', 'parked with calls']),
    );
  });
});

/** What holds after every event. */
function assertAlways(run: PlayedRun): void {
  const tools = run.all('toolCall').filter(({ state }) => state === 'running');
  expect(tools.length).toBeLessThanOrEqual(LIMITS.parallelToolsMax);
  if (run.running('turn')) expect(tools).toEqual([]);
  expect(run.facts('run.stopping').length).toBeLessThanOrEqual(1);
  expect(run.all('settleRun').length).toBeLessThanOrEqual(1);
  if (run.all('settleRun').length > 0) {
    expect(tools).toEqual([]);
    const answers = [...run.facts('obligation.confirmed'), ...run.facts('obligation.abandoned')];
    expect(answers.map(({ obligation }) => obligation)).toEqual(
      run.facts('obligation.asked').map(({ obligation }) => obligation),
    );
  }
  for (const [clock, mayPause] of [
    ['step', true],
    ['total', run.kind.totalPauses],
  ] as const) {
    const watch = run.running(clock);
    if (watch) expect(isPaused(watch), clock).toBe(mayPause && run.waits);
  }
  assertParking(run);
}

const isPaused = ({ received }: PortCall): boolean => received.at(-1)?.type === 'deadline.pause';

/** Nothing begins any more, and it does not wait for what can go on elsewhere. */
function assertParking(run: PlayedRun): void {
  const { begunAtPark, drive } = run;
  if (begunAtPark === undefined || !drive.actor.getSnapshot().hasTag('parking')) return;
  expect(run.all('toolCall').length).toBe(begunAtPark);
  if (run.liveTools.length > 0) expect(run.areAllGated).toBe(false);
}

/** Stops the run and lets every child end the way it must, however slowly. */
async function finish(run: PlayedRun, ends: Endings): Promise<void> {
  run.drive.send({ type: 'run.stop', cause: EXTERNAL });
  for (let tool = run.running('tool.'); tool; tool = run.running('tool.')) {
    expect(tool.received.at(-1)?.type).toBe('toolCall.stop');
    tool.resolve({ status: 'cancelled' });
  }
  for (const id of ['closeWork', 'settleRun', 'releaseRun'] as const) {
    if (ends[id] === 'well') run.running(id)?.resolve();
    if (ends[id] === 'badly') run.running(id)?.reject(new Error('bug'));
    await run.drive.clock.advance(BOUND_MS);
  }
}

/** Gives how it ended. */
function assertEnded(run: PlayedRun): string {
  const { actor, clock, ports } = run.drive;
  expect(actor.getSnapshot().status).toBe('done');
  expect(clock.pending).toEqual([]);
  expect(ports.calls.filter(({ state }) => state === 'running')).toEqual([]);

  const [settlement] = run.all('settleRun');
  expect(settlement).toBeDefined();
  const { outcome } = (settlement as PortCall).input as { outcome: unknown };
  expect(actor.getSnapshot().output?.outcome).toEqual(outcome);
  const [stopping] = run.facts('run.stopping');
  if (stopping && stopping['cause'].kind !== 'error') {
    // One that parks in its setup has nothing but that to stop.
    const isIdle = run.all('turn').length === 0 && run.begunAtPark !== undefined;
    const kind =
      isIdle && run.running('prepareRun') === undefined ? /cancelled|parked/ : /cancelled/;
    expect(outcome).toMatchObject({ kind: expect.stringMatching(kind), cause: stopping['cause'] });
  }
  expect(run.all('releaseRun').length).toBe(1);

  const begun = run.all('toolCall').map(({ id }) => id.replace('tool.', ''));
  const crashed = run.all('toolCall').filter(({ state }) => state === 'rejected');
  const told: string[] = run.facts('toolCall.ended').map(({ id }) => String(id));
  const { kind } = outcome as { kind: string };
  // What a parked run leaves open is told by whoever goes on with it.
  const unbegun: string[] = kind === 'parked' ? [] : run.asked.map(({ id }) => id);
  expect(told.toSorted()).toEqual(
    [
      ...unbegun.filter((id) => !begun.includes(id)),
      ...crashed.map(({ id }) => id.replace('tool.', '')),
    ].toSorted(),
  );
  const dropped = run.all('toolCall').filter(({ state }) => state === 'stopped');
  for (const { id } of dropped) expect([kind, run.standing.get(id)]).toEqual(['parked', 'gated']);
  return dropped.length > 0 ? `${kind} with calls` : kind;
}
