import { fromPromise } from 'xstate';
import type { RunRef } from '../../machines/run.contract.ts';
import type { ObligationRef } from '../../machines/vocabulary.ts';
import type { Agent } from '../agent.ts';
import { unmatchedPatterns } from '../hitl/unmatched.ts';
import type { ServerStatus, ToolLease } from '../tool.ts';
import type { ServerStatusFields } from '../journal/events.ts';
import type { JournalIndex } from '../journal/journal.ts';
import { keepCheckpoint } from './checkpoint-run.ts';
import type { RunScope } from './run-scope.ts';
import type { RunScopes } from './run-scopes.ts';
import { parseTranscript } from './transcript.ts';

/**
 * Setup: connect the agent's servers and read their catalogue. A stop, a deadline and the chart's
 * own leaving abort it alike; whatever it holds by then it lets go of itself.
 */
export function prepareRunPort(scopes: RunScopes, index: Pick<JournalIndex, 'getTranscript'>) {
  return fromPromise<void, RunRef>(({ input, signal }) => {
    const scope = scopes.require(input.runId);
    const work = prepare(scope, AbortSignal.any([scope.stop.signal, signal]), index);
    scope.work = SETUP;
    scope.setupDone = work
      .catch(() => {})
      .finally(() => {
        if (scope.work === SETUP) scope.work = undefined;
      });
    return work;
  });
}

/** As the run's chart names it. */
const SETUP: ObligationRef = { what: 'mcp', id: 'setup' };

async function prepare(
  scope: RunScope,
  signal: AbortSignal,
  index: Pick<JournalIndex, 'getTranscript'>,
): Promise<void> {
  const { agent, command, runId, journal } = scope;
  if (scope.continuesSession) await goOn(scope, index);
  if (agent.approvals?.allowsGrants === true) await scope.grants.load(scope.sessionKey);
  const lease = await agent.tools.acquire({
    runId,
    requestHeaders: command.requestHeaders,
    signal,
  });
  if (signal.aborted) {
    await lease.release({ evict: false });
    throw signal.reason;
  }
  scope.holdTools(lease);
  warnOfPatterns(scope, lease);
  journal.append('agent', {
    type: 'session_info',
    model: `${agent.model.provider}/${agent.model.model}`,
    ...(agent.model.contextWindow !== undefined && {
      model_context_limit: agent.model.contextWindow,
    }),
  });
  if (lease.servers.length > 0) {
    journal.append('agent', {
      type: 'mcp_status',
      servers: lease.servers.map((server) => toFields(server, scope)),
    });
  }
}

/** Agents whose patterns have been held against their tools. */
const looked = new WeakSet<Agent>();

/** A pattern with a typing error holds nothing back; somebody should know before he needs it. */
function warnOfPatterns({ agent, log }: RunScope, { tools, servers }: ToolLease): void {
  const patterns = agent.approvals?.patterns ?? [];
  if (looked.has(agent) || servers.some(({ status }) => status !== 'connected')) return;
  looked.add(agent);
  const names = tools.map(({ spec }) => spec.name);
  const unmatched = unmatchedPatterns(patterns, names);
  if (unmatched.length === 0) return;
  log.warn(
    { agent: agent.summary.id, patterns: unmatched, tools: names.slice(0, NAMES_SHOWN_MAX) },
    'These patterns of [hitl] match no tool of the agent, so they hold nothing back',
  );
}

const NAMES_SHOWN_MAX = 50;

/** Read only now: a run that had to wait goes on with what the one before it left. */
async function goOn(scope: RunScope, index: Pick<JournalIndex, 'getTranscript'>): Promise<void> {
  const kept = parseTranscript(await index.getTranscript(scope.sessionKey));
  scope.continuesSession = false;
  scope.conversation.precede(kept);
  keepCheckpoint(scope);
}

const toFields = (server: ServerStatus, { redact }: RunScope): ServerStatusFields => ({
  server_name: server.serverName,
  transport: server.transport,
  status: server.status,
  tools_count: server.toolsCount,
  ...(server.reason !== undefined && { reason: redact(server.reason) }),
});
