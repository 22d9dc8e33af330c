import type { Clock } from '../../clock.ts';
import type { AgentSummary, StartRun, SupervisorHandle } from '../../handle.ts';
import type { Ids } from '../../ids.ts';
import type { HttpConfig } from '../config.ts';
import { badRequest, type HttpError } from '../errors.ts';
import { parseChatBody, type ChatBody } from './chat-request.ts';
import { clientToolsOf } from './client-tools.ts';
import { wantsCustomEvents } from './custom-events.ts';
import { conversationOf } from './history.ts';
import type { ProjectionOptions } from './projection.ts';
import { modelNameOf, selectAgent } from './select-agent.ts';
import { sessionIdOf } from './session-id.ts';

/** A chat request that was understood: what to start, and how its answer is to be written. */
export interface ChatCall {
  readonly streaming: boolean;
  readonly agent: AgentSummary;
  /** Without the claim, which the response adds. */
  readonly command: StartRun;
  readonly projection: ProjectionOptions;
}

export interface ChatCallSources {
  readonly body: unknown;
  /** Of the request, lower-case names. */
  readonly headers: Readonly<Record<string, string>>;
  readonly handle: Pick<SupervisorHandle, 'agents' | 'defaultAgent'>;
  readonly config: HttpConfig;
  readonly clock: Clock;
  readonly ids: Ids;
}

/**
 * Reads a request, in the order AURA checks it: shape, session id, messages, agent, approvals.
 *
 * @throws {HttpError} 400 or 404 that names what is wrong.
 */
export function readChatCall({ body, headers, handle, ...rest }: ChatCallSources): ChatCall {
  const chat = parseChatBody(body);
  const { metadata, model, stream: streaming = false } = chat;
  const sessionId = sessionIdOf({ metadata, headers, generate: rest.ids.session });
  const conversation = conversationOf(chat);
  const agent = selectAgent({ agents: handle.agents, defaultAgent: handle.defaultAgent, model });
  if (agent.asksPeople && !streaming) throw needsStream(agent);
  const command: StartRun = {
    agent: agent.id,
    sessionId,
    ...conversation,
    streaming,
    liveness: rest.config.liveness,
    onBusy: rest.config.onBusy,
    requestHeaders: headers,
    ...clientToolsOf(chat, agent),
  };
  const projection = projectionOf({ chat, headers, agent, sessionId, ...rest });
  return { streaming, agent, command, projection };
}

function needsStream({ id }: AgentSummary): HttpError {
  const why = `Agent "${id}" uses conversational HITL, which needs a streaming response`;
  return badRequest(`${why}; set "stream": true.`, 'stream');
}

interface ProjectionSources extends Pick<ChatCallSources, 'headers' | 'config' | 'clock' | 'ids'> {
  readonly chat: ChatBody;
  readonly agent: AgentSummary;
  readonly sessionId: string;
}

function projectionOf(sources: ProjectionSources): ProjectionOptions {
  const { chat, headers, agent, sessionId, config, clock, ids } = sources;
  return {
    completionId: ids.completion(),
    createdSecs: Math.floor(clock.now() / 1000),
    model: modelNameOf(agent),
    sessionId,
    toolMode: config.toolResultMode,
    toolResultBytesMax: config.toolResultMaxLength,
    customEvents: wantsCustomEvents(headers, config.customEvents),
    emitReasoning: config.emitReasoning,
    debugProviderErrors: config.debugProviderErrors,
    tokensMax: chat.max_completion_tokens ?? chat.max_tokens,
  };
}
