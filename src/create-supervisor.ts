import type { RunLimits } from '../machines/vocabulary.ts';
import type { Tool, ToolSource } from './tool.ts';
import type { Agent } from './agent.ts';
import { systemClock } from './clock.ts';
import { compose, type ComposeOptions } from './compose.ts';
import { DEFAULTS } from './config/defaults.ts';
import type { SupervisorHandle } from './handle.ts';
import { createGate } from './hitl/gate.ts';
import { compileGlob } from './hitl/glob.ts';
import type { ApprovalPolicy } from './hitl/policy.ts';
import { randomIds } from './ids.ts';
import { ATTEMPTS_MAX, PARK_MS, RELEASE_STEP_MS, RUNS_MAX, TURNS_BEYOND_DEPTH } from './limits.ts';
import { createLog } from './log.ts';
import { createMemoryStore } from './stores/memory.ts';
import {
  type AgentDefinition,
  checkOptions,
  type SupervisorOptions,
} from './supervisor-options.ts';

/**
 * Supervises agents of one's own in this process, without HTTP. Throws a `SupervisorError`
 * `invalid_config` that names every option which makes no sense.
 */
export function createSupervisor(options: SupervisorOptions): SupervisorHandle {
  return superviseWith(options, {});
}

/** What a server, or a simulation of one, puts in the place of what the process brings by itself. */
export type Seams = Pick<ComposeOptions, 'onShutdown' | 'random' | 'onSystem'>;

/** The same as {@link createSupervisor}, for whoever stands around the supervisor. */
export function superviseWith(options: SupervisorOptions, seams: Seams): SupervisorHandle {
  checkOptions(options);
  const clock = options.clock ?? systemClock;
  return compose({
    store: options.store ?? createMemoryStore(),
    clock,
    ids: options.ids ?? randomIds,
    log: options.log ?? createLog(),
    runsMax: options.runsMax ?? RUNS_MAX,
    recover: options.recover ?? 'fail',
    park: {
      resumeOnStart: options.resumeOnStart ?? false,
      resumeConcurrency: options.resumeConcurrency ?? DEFAULTS.resumeConcurrency,
    },
    retention: { ...KEEP_ALL, ...options.retention },
    checkInvariants: options.checkInvariants ?? false,
    mcpConnectMs: DEFAULTS.mcpConnectSecs * 1_000,
    graceMs: options.graceMs ?? DEFAULTS.shutdownTimeoutSecs * 1_000,
    agents: () => options.agents.map((agent) => toAgent(agent, clock.now())),
    ...seams,
  });
}

function toAgent(definition: AgentDefinition, createdAtMs: number): Agent {
  const { id, model, systemPrompt = '', description, tools = [] } = definition;
  return {
    summary: {
      id,
      provider: model.provider,
      model: model.model,
      ...(description !== undefined && { description }),
      createdAtMs,
      hidden: false,
      allowsClientTools: true,
      asksPeople: asksPeople(definition),
      mcpServers: [],
    },
    systemPrompt,
    model,
    tools: definition.toolSource ?? fixedTools(tools),
    executor: 'local',
    gate: createGate({
      rules: definition.approvalRules ?? [],
      requireApproval: definition.requireApproval ?? [],
    }),
    approvals: approvalsOf(definition),
    limits: { ...LIMITS, ...definition.limits },
    canPark: definition.canPark ?? true,
    isIdempotent: idempotency(definition.idempotentTools ?? []),
    toolTimeoutMs: () => definition.toolTimeoutMs ?? DEFAULTS.toolSecs * 1_000,
    allowsClientTool: () => true,
    listTools: () => Promise.resolve({}),
  };
}

function approvalsOf(definition: AgentDefinition): ApprovalPolicy {
  const { approvalChannel: channel } = definition;
  return {
    route: channel === undefined ? 'conversational' : 'webhook',
    ...(channel !== undefined && { channel }),
    timeoutMs: definition.approvalTimeoutMs ?? DEFAULTS.approvalSecs * 1_000,
    reminderMs: definition.approvalReminderMs ?? 0,
    allowsGrants: definition.allowSessionGrants ?? false,
    allowsEdits: definition.allowArgumentEdits ?? false,
    patterns: [
      ...(definition.approvalRules ?? []).flatMap(({ tools }) => tools),
      ...(definition.requireApproval ?? []),
    ],
    offersRequests: definition.offerRequestApproval ?? false,
    agentName: definition.id,
  };
}

/** Whether somebody who reads along may have to answer. */
const asksPeople = (definition: AgentDefinition): boolean =>
  definition.approvalChannel === undefined &&
  ((definition.requireApproval ?? []).length > 0 ||
    (definition.approvalRules ?? []).some(({ effect }) => effect === 'approve') ||
    definition.offerRequestApproval === true);

/** Tools that are always there: nothing is connected and nothing has to be given back. */
const fixedTools = (tools: readonly Tool[]): ToolSource => ({
  acquire: () => Promise.resolve({ tools, servers: [], release: () => Promise.resolve() }),
});

/** A library's user says what is to go. */
const KEEP_ALL = { retentionMs: 0, sessionBytesMax: 0, totalBytesMax: 0 };

function idempotency(globs: readonly string[]): (toolName: string) => boolean {
  const rules = globs.map(compileGlob);
  return (toolName) => rules.some((matches) => matches(toolName));
}

const LIMITS: RunLimits = {
  setupMs: DEFAULTS.setupSecs * 1_000,
  firstChunkMs: DEFAULTS.firstChunkSecs * 1_000,
  inactivityMs: DEFAULTS.inactivitySecs * 1_000,
  stepMs: DEFAULTS.stepSecs * 1_000,
  stepAllowanceMs: DEFAULTS.stepAllowanceSecs * 1_000,
  totalMs: DEFAULTS.totalSecs * 1_000,
  totalPauses: false,
  toolStopGraceMs: DEFAULTS.toolStopGraceSecs * 1_000,
  releaseMs: RELEASE_STEP_MS,
  parkMs: PARK_MS,
  turnsMax: DEFAULTS.turnDepth + TURNS_BEYOND_DEPTH,
  parallelToolsMax: DEFAULTS.parallelToolsMax,
  attemptsMax: ATTEMPTS_MAX,
};
