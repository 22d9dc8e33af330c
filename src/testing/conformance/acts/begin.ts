import { AGENTS, type AgentName } from '../kit/agents.ts';
import type { ClientPath } from '../paths/scenario.ts';
import { STEPS } from '../paths/steps.ts';
import type { EventReader } from './api.ts';
import { expectSame, Skip } from './mismatch.ts';
import { MAIN, type Stage } from './stage.ts';

/** Long enough for the steps before it on a slow machine. */
const TOTAL_MS = 3_000;

/** Starts the run that the path is about, and brings its model to where the path begins. */
export async function begin(stage: Stage, path: ClientPath): Promise<void> {
  const { by, model } = path.begins;
  if (by === 'none') return;
  await (by === 'start' ? startRun(stage, path) : startChat(stage, path));
  // Steps are taken at rest, which a run that connects its tools is not.
  await stage.modelCall();
  if (model === 'speaks') {
    (await stage.modelCall()).speak();
    await stage.until('the model’s first word', () => stage.count('text_delta') > 0);
  }
  if (typeof model === 'object') {
    const calls = stage.toolCalls({ name: model.calls, which: MAIN });
    (await stage.answering()).call(...calls);
    await stage.until('the tool call in the journal', () => stage.count('tool_requested') > 0);
  }
}

async function startRun(stage: Stage, { begins, steps }: ClientPath): Promise<void> {
  const { agent, liveness } = begins;
  const started = await stage.api.expect(202, '/v1/runs', {
    method: 'POST',
    body: {
      agent,
      prompt: stage.prompt(MAIN),
      session_id: stage.id,
      ...(liveness !== undefined && { liveness }),
      ...(steps.includes(STEPS.totalPasses) && { timeout_ms: TOTAL_MS }),
    },
  });
  expectSame('the session', started.json['session_id'], stage.id);
  await stage.joined(MAIN, String(started.json['run_id']));
}

/** A chat stream of the path's session. */
export function openChat(stage: Stage, agent: AgentName = AGENTS.plain): Promise<EventReader> {
  return stage.api.stream('/v1/chat/completions', {
    method: 'POST',
    headers: { 'X-Chat-Session-Id': stage.id },
    body: {
      model: agent,
      stream: true,
      messages: [{ role: 'user', content: stage.prompt(MAIN) }],
    },
  });
}

async function startChat(stage: Stage, { begins }: ClientPath): Promise<void> {
  const reader = await openChat(stage, begins.agent);
  const runId = reader.headers.get('x-run-id') ?? '';
  stage.claimants.set('ann', reader);
  await stage.joined(MAIN, runId);
  const { json } = await stage.api.expect(200, `/v1/runs/${runId}`);
  if (JSON.stringify(json['liveness']) === JSON.stringify(begins.liveness)) return;
  throw new Skip(`chats of this server are under ${JSON.stringify(json['liveness'])}`);
}
