import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { AnyEventObject } from 'xstate';
import { runMachine } from '../../machines/run.machine.ts';
import type { StopCause, ToolCallRequest } from '../../machines/vocabulary.ts';
import { startDrive } from '../../src/testing/drive.ts';
import type { PortCall } from '../../src/testing/ports.ts';
import { EXTERNAL, failure, LIMITS, SHUTDOWN, toolCall } from '../model/samples.ts';

type Stimulus =
  | { do: 'prepared' | 'unclaimed' | 'ask' | 'decided' | 'endTool' | 'closed' | 'settled' }
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
  { weight: 4, arbitrary: fc.constantFrom<Stimulus>({ do: 'ask' }, { do: 'decided' }) },
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

/** A run whose children are played by the test, and what was seen of it. */
class PlayedRun {
  readonly drive = startDrive(runMachine, {
    input: {
      runId: 'run-1',
      liveness: { policy: 'cancel', graceMs: 0 },
      limits: { ...LIMITS, turnsMax: 3 },
      firstClaim: null,
    },
    shows: { toolCall: ({ call }: { call: ToolCallRequest }) => showing(call, false) },
  });
  readonly asked: ToolCallRequest[] = [];
  readonly waiting = new Set<string>();

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
        return this.running('claims')?.resolve({ policy: 'cancel' });
      case 'turn':
        return this.#endTurn(s);
      case 'endTool':
        return this.#endTool((tool) => tool.resolve({ status: 'completed' }));
      case 'ask':
      case 'decided':
        return this.#ask(s.do === 'ask');
      case 'crash':
        if (s.child === 'tool.') return this.#endTool((tool) => tool.reject(new Error('bug')));
        return this.running(s.child)?.reject(new Error('bug'));
      case 'closed':
        return this.running('closeWork')?.resolve();
      case 'settled':
        return this.running('settleRun')?.resolve();
      case 'stop':
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
    this.waiting.delete(tool.id);
    end(tool);
  }

  #ask(asks: boolean): void {
    const tool = this.running('tool.');
    if (tool === undefined) return;
    if (asks) this.waiting.add(tool.id);
    else this.waiting.delete(tool.id);
    tool.show(showing((tool.input as { call: ToolCallRequest }).call, asks));
  }
}

const showing = (call: ToolCallRequest, asked: boolean) => ({
  hasTag: (tag: string) => asked && tag === 'input-required',
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
  it('stops once for the first cause, starts nothing after it and ends every call (R1 to R8)', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(stimulus, { maxLength: 40 }), endings, async (history, ends) => {
        const run = new PlayedRun();
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
        assertEnded(run);
      }),
      { numRuns: 400 },
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
  const step = run.running('step');
  if (step) {
    const paused = step.received.at(-1)?.type === 'deadline.pause';
    expect(paused).toBe(run.waiting.size > 0);
  }
}

/** Stops the run and lets every child end the way it must, however slowly. */
async function finish(run: PlayedRun, ends: Endings): Promise<void> {
  run.drive.send({ type: 'run.stop', cause: SHUTDOWN });
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

function assertEnded(run: PlayedRun): void {
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
    expect(outcome).toEqual({ kind: 'cancelled', cause: stopping['cause'] });
  }
  expect(run.all('releaseRun').length).toBe(1);

  const begun = run.all('toolCall').map(({ id }) => id.replace('tool.', ''));
  const crashed = run.all('toolCall').filter(({ state }) => state === 'rejected');
  const told = run.facts('toolCall.ended').map(({ id }) => id);
  expect(told.toSorted((a, b) => a.localeCompare(b))).toEqual(
    [
      ...run.asked.map(({ id }) => id).filter((id) => !begun.includes(id)),
      ...crashed.map(({ id }) => id.replace('tool.', '')),
    ].toSorted((a, b) => a.localeCompare(b)),
  );
}
