import type Koa from 'koa';
import type { HttpDeps } from '../deps.ts';
import { unavailable } from '../errors.ts';
import type { ChatCall } from './chat-call.ts';
import { ClaimedRun } from './claimed-run.ts';
import { collectAnswer } from './collect-answer.ts';
import { OpenAiCompletion } from './openai-completion.ts';
import { PatientResponse } from './patient-response.ts';
import { headerValueOf } from './session-id.ts';
import { StreamDelivery } from './stream-delivery.ts';

/**
 * Starts the run and streams it. Resolves when the response is on its way or the caller has left;
 * rejects with an `HttpError` or what `SupervisorHandle.start` rejects with.
 */
export async function streamChat(ctx: Koa.Context, call: ChatCall, deps: HttpDeps): Promise<void> {
  // Refused before the run starts, so that a full server does no work for nobody.
  if (deps.pool.full) throw unavailable('too_many_streams', 'All places for streams are taken.');
  const run = await startClaimed(ctx, call, deps);
  const { agent, projection } = call;
  const openedBy = agent.mcpServers.length === 0 ? 'session_info' : 'mcp_status';
  await new StreamDelivery({ ctx, run, projection, openedBy, deps }).opened;
}

/** Starts the run and answers with one JSON object when it has ended; rejects as a stream does. */
export async function completeChat(
  ctx: Koa.Context,
  call: ChatCall,
  deps: HttpDeps,
): Promise<void> {
  const run = await startClaimed(ctx, call, deps);
  const response = new PatientResponse(ctx, deps.clock);
  const completion = new OpenAiCompletion(call.projection);
  try {
    const ending = await collectAnswer(deps, run, completion);
    if (ending === undefined) return;
    if (ending.kind === 'answer') response.end(completion.json(ending));
    else if (response.begun) response.end(JSON.stringify(ending.error.body));
    else throw ending.error;
  } finally {
    response.stop();
  }
}

async function startClaimed(ctx: Koa.Context, call: ChatCall, deps: HttpDeps): Promise<ClaimedRun> {
  const { handle, ids } = deps;
  const { command } = call;
  const observerId = ids.observer();
  const run = await ClaimedRun.start({ handle, command, observerId, response: ctx.res });
  ctx.set('X-Run-Id', run.started.runId);
  ctx.set('X-Chat-Session-Id', headerValueOf(command.sessionId));
  return run;
}
