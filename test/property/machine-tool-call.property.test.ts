import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { type ToolCallEmitted, toolCallMachine } from '../../machines/tool-call.machine.ts';
import { startDrive } from '../../src/testing/drive.ts';
import { APPROVAL, EXTERNAL, SHUTDOWN, toolCall } from '../model/samples.ts';

const TOOL_MS = 20_000;
const GRACE_MS = 5_000;

type Stimulus =
  | { do: 'begin' | 'stop' | 'notice' | 'crash' | 'stopped' }
  | { do: 'decide'; approved: boolean; mine: boolean }
  | { do: 'return'; isError: boolean }
  | { do: 'wait'; ms: number };

/** Weighted towards beginning, deciding and stopping; a tool that returns early shows little. */
const stimulus: fc.Arbitrary<Stimulus> = fc.oneof(
  { weight: 4, arbitrary: fc.constant<Stimulus>({ do: 'begin' }) },
  {
    weight: 4,
    arbitrary: fc.record({
      do: fc.constant('decide' as const),
      approved: fc.constantFrom(true, true, true, false),
      mine: fc.constantFrom(true, false),
    }),
  },
  { weight: 3, arbitrary: fc.constant<Stimulus>({ do: 'stop' }) },
  {
    weight: 4,
    arbitrary: fc.record({
      do: fc.constant('wait' as const),
      ms: fc.constantFrom(1, GRACE_MS, TOOL_MS, APPROVAL.timeoutMs),
    }),
  },
  {
    weight: 1,
    arbitrary: fc.record({ do: fc.constant('return' as const), isError: fc.boolean() }),
  },
  {
    weight: 2,
    arbitrary: fc.constantFrom<Stimulus>({ do: 'notice' }, { do: 'crash' }, { do: 'stopped' }),
  },
);

const call = fc.record({ gated: fc.boolean(), mcp: fc.boolean() });

describe('tool call chart: invariants under any history', () => {
  it('runs once, after its gate, ends once and answers every obligation (TC1 to TC6)', async () => {
    await fc.assert(
      fc.asyncProperty(call, fc.array(stimulus, { maxLength: 15 }), async (kind, history) => {
        const drive = startDrive(toolCallMachine, {
          input: {
            runId: 'run-1',
            call: toolCall('call-1', {
              timeoutMs: TOOL_MS,
              executor: kind.mcp ? 'mcp' : 'local',
              ...(kind.gated && { approval: APPROVAL }),
            }),
            stopGraceMs: GRACE_MS,
          },
          real: ['approval'],
        });
        const { actor, clock, ports } = drive;
        const runs = () => ports.calls.filter(({ src }) => src === 'executeTool').length;
        let [approved, runsWhenStopped] = [false, -1];
        for (const s of history) {
          const waits = actor.getSnapshot().hasTag('input-required');
          if (s.do === 'begin') drive.send({ type: 'toolCall.begin' });
          if (s.do === 'wait') await clock.advance(s.ms);
          if (s.do === 'decide') {
            const decisionId = s.mine ? APPROVAL.decisionId : 'decision-of-another';
            if (waits && s.mine && s.approved) approved = true;
            drive.send({ type: 'approval.decide', decisionId, approved: s.approved });
          }
          if (s.do === 'stop') {
            drive.send({ type: 'toolCall.stop', cause: runsWhenStopped < 0 ? EXTERNAL : SHUTDOWN });
            if (runsWhenStopped < 0) runsWhenStopped = runs();
          }
          if (s.do === 'return') ports.live('executeTool')?.resolve({ isError: s.isError });
          if (s.do === 'crash') ports.live('executeTool')?.reject(new Error('bug'));
          if (s.do === 'stopped') ports.live('awaitToolStop')?.resolve();
          if (s.do === 'notice') ports.live('awaitStopNotice')?.resolve();

          expect(runs()).toBeLessThanOrEqual(kind.gated && !approved ? 0 : 1);
          if (runsWhenStopped >= 0) expect(runs()).toBe(runsWhenStopped);
        }
        drive.send({ type: 'toolCall.stop', cause: SHUTDOWN });
        await clock.advance(GRACE_MS);

        // The drive's facts are typed for any chart.
        assertEnd(drive.emitted as ToolCallEmitted[], actor.getSnapshot().output?.status);
        expect(clock.pending).toEqual([]);
      }),
      { numRuns: 400 },
    );
  });

  it('does not count the wait for a person against the tool (TC5)', async () => {
    const input = {
      runId: 'run-1',
      call: toolCall('call-1', { timeoutMs: TOOL_MS, approval: APPROVAL }),
      stopGraceMs: GRACE_MS,
    };
    const { actor, clock, ports } = startDrive(toolCallMachine, { input, real: ['approval'] });
    actor.send({ type: 'toolCall.begin' });
    await clock.advance(TOOL_MS * 2);
    actor.send({ type: 'approval.decide', decisionId: APPROVAL.decisionId, approved: true });
    await clock.advance(TOOL_MS - 1);
    expect(ports.live('executeTool')).toBeDefined();
    await clock.advance(1);
    expect(ports.live('awaitToolStop')).toBeDefined();
  });
});

function assertEnd(facts: readonly ToolCallEmitted[], status: string | undefined): void {
  const ends = facts.filter((fact) => fact.type === 'toolCall.ended');
  expect(ends).toMatchObject([{ status }]);
  expect(facts.at(-1)?.type).toBe('toolCall.ended');
  if (ends[0]?.abandoned) expect(status).toMatch(/^(unknown|timed_out)$/);
  const asked = obligations(facts, ['obligation.asked']);
  const answered = obligations(facts, ['obligation.confirmed', 'obligation.abandoned']);
  expect(answered).toEqual(asked);
  expect(new Set(asked).size).toBe(asked.length);
}

const obligations = (facts: readonly ToolCallEmitted[], types: readonly string[]): string[] =>
  facts
    .flatMap((fact) => (types.includes(fact.type) && 'obligation' in fact ? [fact.obligation] : []))
    .map(({ what, id }) => `${what} ${id}`)
    .sort();
