import type { RunLimits } from '../machines/vocabulary.ts';
import type { ModelProvider } from './model.ts';
import type { Agent } from './agent.ts';
import type { Clock } from './clock.ts';
import type { AgentConfig, Config, HitlConfig, LlmConfig } from './config/config.ts';
import type { AgentSummary, AgentTools } from './handle.ts';
import { createGate } from './hitl/gate.ts';
import { compileGlob } from './hitl/glob.ts';
import type { ApprovalPolicy } from './hitl/policy.ts';
import { createWebhookChannel } from './hitl/webhook/channel.ts';
import { ATTEMPTS_MAX, PARK_MS, RELEASE_STEP_MS, TURNS_BEYOND_DEPTH } from './limits.ts';
import type { Log } from './log.ts';
import { compileToolFilter } from './mcp/filter.ts';
import { MCP_LIMITS } from './mcp/limits.ts';
import type { McpConnections, McpPorts } from './mcp/ports.ts';
import { type McpServerConfig, summarizeServer } from './mcp/server-config.ts';
import { createToolSource } from './mcp/tool-source.ts';
import { createDemoProvider } from './providers/demo.ts';
import { createOpenAiProvider } from './providers/openai.ts';
import type { Redact } from './redact-secrets.ts';

export interface BuildDeps {
  readonly config: Config;
  readonly connections: McpConnections;
  readonly ports: McpPorts;
  readonly clock: Clock;
  readonly log: Log;
  /** Keeps the secrets of the configuration out of what is kept or shown. */
  readonly redact: Redact;
}

/** The configured agents, ready to run. Connects nothing yet. */
export function buildAgents(deps: BuildDeps): readonly Agent[] {
  return deps.config.agents.map((agent) => buildAgent(agent, deps));
}

function buildAgent(agent: AgentConfig, deps: BuildDeps): Agent {
  const { config, clock } = deps;
  const model = buildModel(agent.llm, { clock, debugErrors: config.server.debugProviderErrors });
  const { hitl } = agent;
  return {
    summary: summaryOf(agent, model),
    systemPrompt: agent.systemPrompt,
    model,
    tools: toolSourceOf(agent, agent.mcp.servers, deps),
    executor: 'mcp',
    gate: createGate(hitl ?? { requireApproval: [] }),
    ...(hitl && { approvals: approvalsOf(agent, hitl, deps) }),
    limits: limitsOf(agent, config),
    canPark: true,
    isIdempotent: idempotency(config),
    toolTimeoutMs: toolTimeouts(config),
    allowsClientTool: compileToolFilter(agent.clientToolFilter),
    listTools: (requestHeaders, signal) => listTools(agent, deps, { requestHeaders, signal }),
  };
}

function approvalsOf(
  { name }: AgentConfig,
  hitl: HitlConfig,
  { config, clock, log, redact }: BuildDeps,
): ApprovalPolicy {
  const { route } = hitl;
  const policy = {
    route: route.mode,
    timeoutMs: route.timeoutMs,
    reminderMs: hitl.reminderMs,
    allowsGrants: hitl.allowSessionGrants,
    allowsEdits: hitl.allowArgumentEdits,
    patterns: [...hitl.rules.flatMap(({ tools }) => tools), ...hitl.requireApproval],
    offersRequests: true,
    agentName: name,
  };
  if (route.mode === 'conversational') return policy;
  const { webhookSigning: signing } = config;
  return { ...policy, channel: createWebhookChannel({ route, signing, clock, log, redact }) };
}

function buildModel(
  llm: LlmConfig,
  { clock, debugErrors }: { readonly clock: Clock; readonly debugErrors: boolean },
): ModelProvider {
  if (llm.provider === 'scripted') return createDemoProvider({ clock });
  const { provider: _provider, ...settings } = llm;
  return createOpenAiProvider({ ...settings, debugErrors, clock });
}

function summaryOf(agent: AgentConfig, model: ModelProvider): AgentSummary {
  return {
    id: agent.id,
    provider: model.provider,
    model: model.model,
    ...(agent.description !== undefined && { description: agent.description }),
    createdAtMs: agent.createdAtMs,
    ...(agent.modelOwner !== undefined && { modelOwner: agent.modelOwner }),
    hidden: agent.hidden,
    ...(model.contextWindow !== undefined && { contextWindow: model.contextWindow }),
    allowsClientTools: agent.enableClientTools,
    asksPeople: agent.hitl?.route.mode === 'conversational',
    mcpServers: agent.mcp.servers.map(summarizeServer),
  };
}

function toolSourceOf(agent: AgentConfig, servers: readonly McpServerConfig[], deps: BuildDeps) {
  const { config, connections, ports, clock, log } = deps;
  return createToolSource({
    servers,
    filter: agent.mcpFilter,
    sanitizeSchemas: agent.mcp.sanitizeSchemas,
    connections,
    ports,
    clock,
    log,
    limits: { ...MCP_LIMITS, connectMs: config.timeouts.mcpConnectMs },
  });
}

function limitsOf(agent: AgentConfig, { timeouts, parallelToolsMax }: Config): RunLimits {
  return {
    setupMs: timeouts.setupMs,
    firstChunkMs: timeouts.firstChunkMs,
    inactivityMs: timeouts.inactivityMs,
    stepMs: timeouts.stepMs,
    stepAllowanceMs: timeouts.stepAllowanceMs,
    totalMs: timeouts.totalMs,
    totalPauses: agent.hitl?.pauseTotal ?? false,
    toolStopGraceMs: timeouts.toolStopGraceMs,
    releaseMs: RELEASE_STEP_MS,
    parkMs: PARK_MS,
    turnsMax: agent.turnDepth + TURNS_BEYOND_DEPTH,
    parallelToolsMax,
    attemptsMax: ATTEMPTS_MAX,
  };
}

/** The first matching rule that names a time wins; names repeat, so answers are kept. */
function toolTimeouts({ tools, timeouts }: Config): (name: string) => number {
  const rules = tools.map(({ glob, timeoutMs }) => ({ matches: compileGlob(glob), timeoutMs }));
  const known = new Map<string, number>();
  return (name) => {
    const kept = known.get(name);
    if (kept !== undefined) return kept;
    const rule = rules.find(({ matches, timeoutMs }) => timeoutMs !== undefined && matches(name));
    const ms = rule?.timeoutMs ?? timeouts.toolMs;
    if (known.size < TOOL_NAMES_MAX) known.set(name, ms);
    return ms;
  };
}

/** Any rule that matches may say so. */
function idempotency({ tools }: Config): (name: string) => boolean {
  const rules = tools.filter(({ idempotent }) => idempotent).map(({ glob }) => compileGlob(glob));
  return (name) => rules.some((matches) => matches(name));
}

/** A model may invent names without end; those beyond are looked up each time. */
const TOOL_NAMES_MAX = 10_000;

/** Each server is asked by itself, so that one that fails hides no other. */
async function listTools(
  agent: AgentConfig,
  deps: BuildDeps,
  request: {
    readonly requestHeaders: Readonly<Record<string, string>>;
    readonly signal: AbortSignal;
  },
): Promise<AgentTools> {
  const listed = await Promise.all(
    agent.mcp.servers.map(async (server) => {
      const source = toolSourceOf(agent, [server], deps);
      const lease = await source.acquire({ runId: 'introspection', ...request });
      await lease.release({ evict: false });
      const connected = lease.servers.every(({ status }) => status === 'connected');
      return connected ? [server.name, lease.tools.map((tool) => tool.spec)] : undefined;
    }),
  );
  return Object.fromEntries(listed.filter((entry) => entry !== undefined));
}
