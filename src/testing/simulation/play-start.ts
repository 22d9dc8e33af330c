import { promptOf } from './model.ts';
import { SETUP_HEADER } from './process.ts';
import { SimReader } from './reader.ts';
import type { StartStep } from './steps.ts';
import type { SimWorld } from './world.ts';

/** A tool that whoever calls executes, as a chat offers it. */
const THEIRS = {
  type: 'function',
  function: { name: 'theirs', parameters: { type: 'object' } },
} as const;

/** Starts a run, as a headless one or by a chat. */
export async function playStart(world: SimWorld, step: StartStep): Promise<void> {
  const prompt = promptOf(world.models.add(step.script));
  const headers = { [SETUP_HEADER]: String(step.setupMs) };
  if (step.via === 'runs') await startHeadless(world, step, { prompt, headers });
  else startChat(world, step, { prompt, headers });
}

interface Start {
  readonly prompt: string;
  readonly headers: Readonly<Record<string, string>>;
}

async function startHeadless(world: SimWorld, step: StartStep, { prompt, headers }: Start) {
  const { agent, session, policy, graceMs, onBusy, timeoutMs } = step;
  const answer = await world.ask({
    method: 'POST',
    path: '/v1/runs',
    headers,
    body: {
      agent,
      prompt,
      session_id: session,
      liveness: { policy, grace_ms: graceMs },
      on_busy: onBusy,
      ...(timeoutMs !== undefined && { timeout_ms: timeoutMs }),
    },
  });
  if (answer === undefined || !world.isWell) return;
  const isTaken = answer.status === 202;
  const isBusy = answer.status === 409 && onBusy === 'reject';
  if (!isTaken && !isBusy && !answer.text.includes('session_held')) {
    world.fault(`a start under ${onBusy} is answered ${answer.status}: ${answer.text}`);
  }
}

/** The answer comes as it comes: nobody waits for it here. */
function startChat(
  world: SimWorld,
  { via, agent, session }: StartStep,
  { prompt, headers }: Start,
) {
  const body = {
    model: agent,
    stream: via === 'stream',
    messages: [{ role: 'user', content: prompt }],
    metadata: { chat_session_id: session },
    tools: [THEIRS],
  };
  const asked = { method: 'POST', path: '/v1/chat/completions', headers, body } as const;
  const reader = new SimReader({ kind: 'chat', id: '' });
  world.openReader(reader, asked, (response) => {
    reader.of.id = String(response.headers['x-run-id'] ?? '');
  });
}
