import type { AgentSummary } from '../../handle.ts';
import { AgentNotFoundError } from '../../errors.ts';
import { HttpError, toHttpError } from '../errors.ts';

export interface AgentChoice {
  readonly agents: readonly AgentSummary[];
  readonly defaultAgent: string | undefined;
  /** The request's `model`. */
  readonly model: string | undefined;
}

/**
 * The agent that answers. A server with one agent takes any model name, so that clients with a
 * fixed name work; with several the name must be an agent's id, hidden agents included.
 *
 * @throws {HttpError} 400 when nothing is chosen, 404 when no agent has the name.
 */
export function selectAgent({ agents, defaultAgent, model }: AgentChoice): AgentSummary {
  const [only] = agents;
  if (only !== undefined && agents.length === 1) return only;
  const wanted = model ?? defaultAgent;
  if (wanted === undefined) throw modelMissing();
  const agent = agents.find(({ id }) => id === wanted);
  if (agent === undefined) throw modelNotFound(wanted);
  return agent;
}

/** The `model` of every response: provider and model, never the agent's alias. */
export const modelNameOf = ({ provider, model }: AgentSummary): string => `${provider}/${model}`;

/** AURA's words; without `code` and `param`, as its clients have it. */
function modelMissing(): HttpError {
  const message = 'you must provide a model parameter';
  return new HttpError({ status: 400, type: 'invalid_request_error', message });
}

const modelNotFound = (model: string): HttpError => toHttpError(new AgentNotFoundError(model));
