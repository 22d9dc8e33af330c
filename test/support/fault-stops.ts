import fc from 'fast-check';
import type { LivenessPolicy } from '../../src/handle.ts';
import type { UpstreamAnswer } from '../../src/testing/fake-upstream.ts';
import { reply } from '../../src/testing/fake-upstream-steps.ts';
import { type Asked, readRun, startRun, toolCall } from './fault-world.ts';
import type { Exchange } from './system-client.ts';
import type { ServerProcess } from './system-process.ts';

/** What the run is about: its prompt begins with it. */
type Kind = 'text' | 'tool' | 'tools' | 'holds' | 'deaf' | 'gated';

type StopKind = 'cancel' | 'park' | 'leave' | 'unclaim' | 'deadline' | 'interrupt';

/** One run and how it is stopped: after so many frames of its events and turns of the event loop. */
export interface StopPlan {
  readonly kind: Kind;
  readonly policy: LivenessPolicy;
  readonly graceMs: number;
  readonly stop: StopKind;
  readonly frames: number;
  readonly turns: number;
  readonly timeoutMs: number;
}

/** Deep moments are as likely as early ones; what holds is there to be stopped. */
export const stopPlan: fc.Arbitrary<StopPlan> = fc.record({
  kind: fc.constantFrom<Kind>('text', 'tool', 'tool', 'tools', 'tools', 'holds', 'deaf', 'gated'),
  policy: fc.constantFrom<LivenessPolicy>('cancel', 'continue', 'park'),
  graceMs: fc.constantFrom(0, 0, 5),
  stop: fc.constantFrom<StopKind>('cancel', 'park', 'leave', 'unclaim', 'deadline', 'interrupt'),
  frames: fc.integer({ min: 0, max: 14 }),
  turns: fc.integer({ min: 0, max: 30 }),
  timeoutMs: fc.integer({ min: 1, max: 400 }),
});

export const STOPS_TOML = `[hitl]
require_approval = ["gated"]
route = { mode = "conversational", timeout_secs = 600 }
[runtime.crash]
recover = "resume"
[runtime.timeouts]
tool_secs = 1
tool_stop_grace_secs = 0.2`;

const WORDS = Array.from({ length: 12 }, (_, at) => `${at} `);
const TEXT: UpstreamAnswer = { steps: reply({ text: WORDS, everyMs: 1 }) };

/** Each call of each turn has an id of its own, so that nothing may be executed twice. */
export function respond({ prompt, turn }: Asked): UpstreamAnswer {
  const [kind] = prompt.split(' ') as [Kind]; // A prompt of a plan begins with its kind.
  const id = `${prompt.replaceAll(' ', '-')}-${turn}`;
  if (turn > 1 || kind === 'text') return TEXT;
  const text = WORDS.slice(0, 4);
  return { steps: reply({ text, toolCalls: CALLS[kind](id), everyMs: 1 }) };
}

const CALLS = {
  tool: (id: string) => [toolCall(id, 'quick')],
  tools: (id: string) => [toolCall(`${id}-a`, 'quick'), toolCall(`${id}-b`, 'quick')],
  holds: (id: string) => [toolCall(`${id}-a`, 'quick'), toolCall(`${id}-b`, 'hold')],
  deaf: (id: string) => [toolCall(id, 'deaf')],
  gated: (id: string) => [toolCall(id, 'quick', 'gated')],
};

/**
 * Plays a plan to the end of its run. Never rejects for a server that goes away meanwhile: that is
 * one of the stops.
 */
export async function play(server: ServerProcess, plan: StopPlan, at: number): Promise<void> {
  const prompt = `${plan.kind} ${at}`;
  const session = `s${at}`;
  try {
    if (plan.stop === 'leave') await playChat(server, plan, { prompt, session });
    else await playRun(server, plan, { prompt, session });
  } catch (error) {
    // Whatever it was in the middle of; a refusal is told apart by nobody any more.
    if (!server.told) throw error;
  }
}

interface Place {
  readonly prompt: string;
  readonly session: string;
}

async function playChat(
  server: ServerProcess,
  plan: StopPlan,
  { prompt, session }: Place,
): Promise<void> {
  const chat = server.chat(session, { messages: [{ role: 'user', content: prompt }] });
  await until(chat, plan);
  await chat.leave();
}

async function playRun(
  server: ServerProcess,
  plan: StopPlan,
  { prompt, session }: Place,
): Promise<void> {
  const { policy, graceMs, stop, timeoutMs } = plan;
  const { run_id: runId } = await startRun(server, {
    prompt,
    session_id: session,
    liveness: { policy, grace_ms: graceMs },
    ...(stop === 'deadline' && { timeout_ms: timeoutMs }),
  });
  const reader = readRun(server, runId);
  const claim = stop === 'unclaim' ? server.ask(`/v1/runs/${runId}/events?claim=true`) : undefined;
  await until(claim ?? reader, plan);
  if (claim !== undefined) await claim.leave();
  await tell(server, plan, { runId, session });
  await over(server, plan, { runId, reader });
}

/** A run that waits for a person tells no more than this, whoever listens. */
const FRAMES_BEFORE_GATE = 5;

/** Resolves when so much has come, or the response is over. */
async function until(exchange: Exchange, { kind, frames: most, turns }: StopPlan): Promise<void> {
  const frames = kind === 'gated' ? Math.min(most, FRAMES_BEFORE_GATE) : most;
  await exchange.answered;
  await Promise.race([exchange.until((so) => so.frames.length >= frames), exchange.closed]).catch(
    () => {},
  );
  for (let turn = 0; turn < turns; turn += 1) await new Promise(setImmediate);
}

async function tell(
  server: ServerProcess,
  { stop }: StopPlan,
  { runId, session }: { readonly runId: string; readonly session: string },
): Promise<void> {
  if (stop === 'cancel' || stop === 'park') {
    const told = server.ask(`/v1/runs/${runId}/${stop}`, { method: 'POST' });
    await told.json();
  } else if (stop === 'interrupt') {
    const body = { prompt: 'text again', session_id: session, on_busy: 'interrupt' };
    const { run_id: next } = await startRun(server, body);
    await readRun(server, next).all();
  }
}

/** Who waits for a person and was not stopped waits for ever, so it is cancelled in the end. */
async function over(
  server: ServerProcess,
  { kind, stop, policy }: StopPlan,
  { runId, reader }: { readonly runId: string; readonly reader: Exchange },
): Promise<void> {
  const isLeft = kind === 'gated' && stop === 'unclaim' && policy === 'continue';
  if (isLeft) await server.ask(`/v1/runs/${runId}/cancel`, { method: 'POST' }).json();
  await reader.all();
}
