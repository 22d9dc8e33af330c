import type { AgentEvent, ApprovalOutcomeFields, JournalEvent } from '../../journal/events.ts';
import { truncate } from './truncate.ts';

export interface AuraOptions {
  readonly sessionId: string;
  /** Approvals are sent without it too, because somebody must be able to act on them. */
  readonly customEvents: boolean;
  /** Reasoning needs this beside `customEvents`. */
  readonly emitReasoning: boolean;
  /** Bound of `tool_complete.result`; 0 is none. Errors are never cut. */
  readonly toolResultBytesMax: number;
}

type ToolComplete = Extract<AgentEvent, { type: 'tool_complete' }>;

/** Without it most OpenAI clients fail on a frame that is not a chunk. */
const NO_CHOICES = '"choices":[]}\n\n';

/**
 * Writes `aura.*` frames: the journal's event renamed, with the blocks that correlate it.
 *
 * AURA's command line tells these payloads apart by the keys they have, not by their name, so a
 * payload must never gain a key that another event requires: no `arguments` on the start or the
 * end of a tool call, no `model` but in `session_info`, neither `origin` nor `outcome` on a reminder.
 * What the journal keeps of an approval beside that (who decided, digests, edits) is not sent.
 */
export class AuraEvents {
  readonly #options: AuraOptions;
  readonly #sessionTail: string;
  readonly #agentTail: string;

  constructor(options: AuraOptions) {
    this.#options = options;
    this.#sessionTail = `,"session_id":${JSON.stringify(options.sessionId)},${NO_CHOICES}`;
    this.#agentTail = `,"agent_id":"main"${this.#sessionTail}`;
  }

  /** The frame of an entry's event, or nothing. */
  frame(event: JournalEvent): string {
    return this.#approval(event) ?? (this.#options.customEvents ? this.#custom(event) : '');
  }

  #approval(event: JournalEvent): string | undefined {
    switch (event.type) {
      case 'approval_requested': {
        const { type, decision_id, tool_name, origin, scope } = event;
        return frame(type, { decision_id, tool_name, origin, scope }, `,${NO_CHOICES}`);
      }
      case 'approval_pending': {
        const { type, decision_id, tool_name, arguments: args, origin, scope, expires_at } = event;
        const fields = { decision_id, tool_name, arguments: args, origin, scope, expires_at };
        return frame(type, fields, `,${NO_CHOICES}`);
      }
      case 'approval_reminder': {
        const { type, decision_id, tool_name, waited_ms, expires_at } = event;
        return frame(type, { decision_id, tool_name, waited_ms, expires_at }, `,${NO_CHOICES}`);
      }
      case 'approval_completed': {
        const { type, decision_id, outcome, duration_ms, scope } = event;
        const fields = { decision_id, outcome: narrowed(outcome), duration_ms, scope };
        return frame(type, fields, `,${NO_CHOICES}`);
      }
      default:
        return undefined;
    }
  }

  #custom(event: JournalEvent): string {
    switch (event.type) {
      case 'session_info':
      case 'tool_usage':
        return this.#ofSession(event);
      case 'mcp_status':
        return event.servers.length === 0 ? '' : this.#ofSession(event);
      case 'usage':
        return event.prompt_tokens === 0 ? '' : this.#ofSession(event);
      case 'tool_start': {
        const { type, tool_id, tool_name, progress_token } = event;
        return this.#ofAgent(type, { tool_id, tool_name, progress_token });
      }
      case 'reasoning':
        return this.#options.emitReasoning ? this.#ofAgent(event.type, fieldsOf(event)) : '';
      case 'tool_requested': {
        const { tool_id, tool_name, arguments: args } = event;
        return this.#ofAgent(event.type, { tool_id, tool_name, arguments: args });
      }
      case 'tool_progress': {
        const { type: _type, tool_id: _tool, ...fields } = event;
        return this.#ofAgent('progress', fields);
      }
      case 'tool_complete':
        return this.#ofAgent(event.type, this.#completion(event));
      default:
        return '';
    }
  }

  #completion(event: ToolComplete): object {
    const { type: _type, result, error, ...fields } = event;
    if (!event.success) return { ...fields, error: error ?? result };
    if (result === undefined) return fields;
    return { ...fields, result: truncate(result, this.#options.toolResultBytesMax) };
  }

  #ofSession(event: JournalEvent): string {
    return frame(event.type, fieldsOf(event), this.#sessionTail);
  }

  #ofAgent(name: string, fields: object): string {
    return frame(name, fields, this.#agentTail);
  }
}

/** An event's fields without the journal's `type`. */
function fieldsOf({ type: _type, ...fields }: JournalEvent): object {
  return fields;
}

/** Joins a payload's own fields, of which there is at least one, with its tail. */
const frame = (name: string, fields: object, tail: string): string =>
  `event: aura.${name}\ndata: ${JSON.stringify(fields).slice(0, -1)}${tail}`;

/**
 * AURA knows three reasons of a cancelled approval; the true one stands beside it. Of an approved one
 * it knows none: what was said with it stays in the journal.
 */
function narrowed(outcome: ApprovalOutcomeFields): object {
  if (outcome.kind === 'approved') return { kind: outcome.kind };
  if (outcome.kind !== 'cancelled') return outcome;
  const { reason: cause, ...rest } = outcome;
  return { ...rest, reason: NARROWED[cause] ?? 'sender_dropped', cause };
}

const NARROWED: Readonly<Record<string, string>> = {
  unclaimed: 'client_disconnected',
  shutdown: 'shutdown',
};
