import type { RouterContext } from '@koa/router';
import { canonicalDigest } from '../../canonical-json.ts';
import { AgentNotFoundError } from '../../errors.ts';
import type { AgentSummary, StartRun, StartedRun, SupervisorHandle } from '../../handle.ts';
import { isTooDeep, JSON_DEPTH_MAX } from '../../json-depth.ts';
import { handleOf } from '../caller.ts';
import { conversationOf } from '../chat/history.ts';
import { checkedSessionId, headerSessionId, headerValueOf } from '../chat/session-id.ts';
import type { HttpDeps } from '../deps.ts';
import { agentNotFound, badRequest } from '../errors.ts';
import { echoable, requestHeaders } from '../params.ts';
import { parseStartBody, type StartBody } from './start-body.ts';

/** Visible ASCII. Several headers of the name come as one, with a space between, and do not match. */
const IDEMPOTENCY_KEY = /^[\x21-\x7e]{1,255}$/;

/**
 * `POST /v1/runs`: starts a run that nobody claims and answers 202 when its first entry is durable.
 * A start that is repeated under the same `Idempotency-Key` is answered with the first one's run and
 * `Idempotency-Replayed: true`.
 */
export function startRun(deps: HttpDeps): (ctx: RouterContext) => Promise<void> {
  return async (ctx) => {
    const handle = handleOf(ctx, deps);
    const started = await handle.start(commandOf(ctx, { ...deps, handle }));
    ctx.status = 202;
    ctx.set({
      Location: `/v1/runs/${started.runId}`,
      'X-Run-Id': started.runId,
      'X-Chat-Session-Id': headerValueOf(started.sessionId),
    });
    if (started.repeated === true) ctx.set('Idempotency-Replayed', 'true');
    ctx.body = answerOf(started);
  };
}

const answerOf = ({ runId, sessionId, seq, state, liveness }: StartedRun): object => ({
  run_id: runId,
  session_id: sessionId,
  seq,
  state,
  liveness: { policy: liveness.policy, grace_ms: liveness.graceMs },
});

function commandOf(ctx: RouterContext, { handle, config, ids }: HttpDeps): StartRun {
  const json: unknown = ctx.request.body;
  const body = parseStartBody(json);
  const headers = requestHeaders(ctx);
  const sessionId = checkedSessionId(body.session_id, 'session_id') ?? headerSessionId(headers);
  const { liveness, onBusy } = config.headless;
  return {
    agent: agentOf(body, handle).id,
    sessionId: sessionId ?? ids.session(),
    ...conversationIn(body),
    // Its entries are streamed to whoever comes, so a model that is silent is noticed as in a chat.
    streaming: true,
    liveness: {
      policy: body.liveness?.policy ?? liveness.policy,
      graceMs: body.liveness?.grace_ms ?? liveness.graceMs,
    },
    onBusy: body.on_busy ?? onBusy,
    requestHeaders: headers,
    ...(body.timeout_ms !== undefined && { timeoutMs: body.timeout_ms }),
    ...idempotencyOf(headers['idempotency-key'], json, sessionId),
  };
}

/** A `prompt` goes on with the session's conversation, `messages` are all of theirs. */
function conversationIn({
  prompt,
  messages = [],
}: StartBody): Pick<StartRun, 'messages' | 'prompt' | 'continuesSession'> {
  if (prompt === undefined) return conversationOf({ messages, tools: undefined });
  return { messages: [{ role: 'user', content: prompt }], prompt, continuesSession: true };
}

/** The agent that is named, else the only one, else the default one. */
function agentOf(
  { agent: name }: StartBody,
  { agents, defaultAgent }: Pick<SupervisorHandle, 'agents' | 'defaultAgent'>,
): AgentSummary {
  const [only] = agents;
  if (name === undefined && only !== undefined && agents.length === 1) return only;
  const wanted = name ?? defaultAgent;
  if (wanted === undefined) {
    throw badRequest('`agent` is missing; name one of those that /v1/models lists.', 'agent');
  }
  const id = echoable('agent', wanted);
  const found = agents.find((agent) => agent.id === id);
  if (found === undefined) throw agentNotFound(new AgentNotFoundError(id), 'agent');
  return found;
}

/** The digest is of the body; a session that a header names is as much a part of what is asked for. */
function idempotencyOf(
  key: string | undefined,
  json: unknown,
  sessionId: string | undefined,
): Pick<StartRun, 'idempotency'> {
  if (key === undefined) return {};
  const name = 'Idempotency-Key';
  if (!IDEMPOTENCY_KEY.test(key)) {
    throw badRequest(`The header ${name} must be 1 to 255 visible ASCII characters.`, name);
  }
  if (isTooDeep(json)) {
    throw badRequest(`The body nests deeper than ${JSON_DEPTH_MAX} levels; send a flatter one.`);
  }
  const digest = canonicalDigest({ ...Object(json), session_id: sessionId });
  return { idempotency: { key, digest } };
}
