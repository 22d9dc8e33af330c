import type { RunLimits } from '../machines/vocabulary.ts';
import type { ModelProvider } from './model.ts';
import type { Tool, ToolSource } from './tool.ts';
import type { Clock } from './clock.ts';
import { ruleProblems } from './config/given-rules.ts';
import { PARALLEL_TOOLS, RESUME_CONCURRENCY, TURN_DEPTH, ZERO_SAYS } from './config/ranges.ts';
import { SupervisorError } from './errors.ts';
import type { WebhookChannel } from './hitl/channel.ts';
import type { ApprovalRule } from './hitl/rules.ts';
import type { Ids } from './ids.ts';
import { TURNS_BEYOND_DEPTH } from './limits.ts';
import type { Log } from './log.ts';
import {
  type Check,
  count,
  duration,
  type FieldCheck,
  fieldProblems,
  globs,
  isName,
  isRecord,
  methods,
  oneOf,
  optional,
  required,
  shown,
  type Table,
  tableProblems,
  text,
  toggle,
  twice,
} from './option-checks.ts';
import type { RetentionLimits } from './retention.ts';
import type { Store } from './stores/store.ts';

/** An agent of one's own: a model (or a generator, by `modelFromGenerator`) and its tools. */
export interface AgentDefinition {
  /** What a start names; unique. */
  readonly id: string;
  readonly model: ModelProvider;
  readonly systemPrompt?: string;
  readonly description?: string;
  /** Their names are unique. */
  readonly tools?: readonly Tool[];
  /** Tools that must be fetched for each run; instead of `tools`. */
  readonly toolSource?: ToolSource;
  /** Globset patterns over tool names; a match waits for a person's approval. */
  readonly requireApproval?: readonly string[];
  /** Rules that come before `requireApproval`; the first that matches wins. */
  readonly approvalRules?: readonly ApprovalRule[];
  /** Asks for each approval instead of the inbox, a webhook or anything else; its answer decides. */
  readonly approvalChannel?: WebhookChannel;
  /** A reminder is told each time that so many milliseconds of the wait have passed; 0: none. */
  readonly approvalReminderMs?: number;
  /** An approver may approve the like of a call for the rest of its session. */
  readonly allowSessionGrants?: boolean;
  /** An approver may put other arguments in the place of those that were asked for. */
  readonly allowArgumentEdits?: boolean;
  /** The model gets the tool `request_approval`, by which it asks a person itself. */
  readonly offerRequestApproval?: boolean;
  /** How long a person has, in milliseconds; up to {@link APPROVAL_MS_MAX}. */
  readonly approvalTimeoutMs?: number;
  /** Bound of one tool execution, in milliseconds; 0 leaves it to the step. */
  readonly toolTimeoutMs?: number;
  /** False: a run of it cannot go on in another process, so a start under park is refused. */
  readonly canPark?: boolean;
  /** Globset patterns over tools that may be executed again when a crash has cut them off. */
  readonly idempotentTools?: readonly string[];
  /** What is left out has the configuration's default. */
  readonly limits?: Partial<RunLimits>;
}

export interface SupervisorOptions {
  readonly agents: readonly AgentDefinition[];
  /** Where the journal is kept; in memory without it. Closed by the shutdown. */
  readonly store?: Store;
  readonly clock?: Clock;
  readonly ids?: Ids;
  readonly log?: Log;
  /** Live runs at once; one more is refused. */
  readonly runsMax?: number;
  /** The grace of a shutdown in milliseconds; 0 is none. */
  readonly graceMs?: number;
  /** What becomes of runs that were at work when their process was lost; `fail` when left out. */
  readonly recover?: 'fail' | 'resume';
  /** Parked runs that wait for nobody come back when the supervisor is made. */
  readonly resumeOnStart?: boolean;
  /** How many at a time; 4 when left out. */
  readonly resumeConcurrency?: number;
  /** Checks the journal of each run as it is written, and stops a run that breaks an invariant. */
  readonly checkInvariants?: boolean;
  /** What the store lets go of; nothing when left out. */
  readonly retention?: Partial<RetentionLimits>;
}

/** Ten years. People take longer than machines, and the clock waits for long delays in parts. */
export const APPROVAL_MS_MAX = 315_360_000_000;

const LIMITS: Table<keyof RunLimits, Check> = {
  setupMs: duration(ZERO_SAYS.setupMs),
  firstChunkMs: duration(ZERO_SAYS.firstChunkMs),
  inactivityMs: duration(ZERO_SAYS.inactivityMs),
  stepMs: duration(ZERO_SAYS.stepMs),
  stepAllowanceMs: duration(ZERO_SAYS.stepAllowanceMs),
  totalMs: duration(ZERO_SAYS.totalMs),
  totalPauses: toggle,
  toolStopGraceMs: duration(ZERO_SAYS.toolStopGraceMs),
  releaseMs: duration(ZERO_SAYS.releaseMs),
  parkMs: duration('refused'),
  turnsMax: count({ min: 1, max: TURN_DEPTH.max + TURNS_BEYOND_DEPTH }),
  parallelToolsMax: count(PARALLEL_TOOLS),
  attemptsMax: count({ min: 1, max: 100 }),
};

const amount = count({ min: 0, max: Number.MAX_SAFE_INTEGER });

const RETENTION: Table<keyof RetentionLimits, Check> = {
  retentionMs: amount,
  sessionBytesMax: amount,
  totalBytesMax: amount,
};

/** Each field of an agent, so that none is added that nobody checks. */
const AGENT: Table<keyof AgentDefinition, FieldCheck> = {
  id: (name, id) => (isName(id) ? [] : [`${name} is empty. Give it a name that starts can use.`]),
  model: required(methods(['stream'], 'a model, such as that of modelFromGenerator')),
  systemPrompt: optional(text),
  description: optional(text),
  approvalTimeoutMs: optional(duration(ZERO_SAYS.approvalMs, APPROVAL_MS_MAX)),
  approvalReminderMs: optional(duration('none', APPROVAL_MS_MAX)),
  toolTimeoutMs: optional(duration(ZERO_SAYS.toolMs)),
  limits: (name, limits) => tableProblems(name, limits, { checks: LIMITS, what: 'limit' }),
  tools: toolProblems,
  toolSource: optional(methods(['acquire'], 'a source of tools')),
  requireApproval: globs,
  approvalRules: (name, rules) => (rules === undefined ? [] : ruleProblems(name, rules)),
  approvalChannel: optional(methods(['ask', 'withdraw'], 'a channel')),
  allowSessionGrants: optional(toggle),
  allowArgumentEdits: optional(toggle),
  offerRequestApproval: optional(toggle),
  canPark: optional(toggle),
  idempotentTools: globs,
};

/** It is made by nobody's hand, and what it lacks shows at once. */
const asItIs: FieldCheck = () => [];

const OPTIONS: Table<keyof SupervisorOptions, FieldCheck> = {
  runsMax: optional(count({ min: 1, max: Number.MAX_SAFE_INTEGER })),
  graceMs: optional(duration(ZERO_SAYS.shutdownTimeoutMs)),
  recover: optional(oneOf('fail', 'resume')),
  resumeOnStart: optional(toggle),
  checkInvariants: optional(toggle),
  resumeConcurrency: optional(count(RESUME_CONCURRENCY)),
  retention: (name, limits) => tableProblems(name, limits, { checks: RETENTION, what: 'limit' }),
  store: asItIs,
  clock: asItIs,
  ids: asItIs,
  log: asItIs,
  agents: agentsProblems,
};

/**
 * Throws one {@link SupervisorError} `invalid_config` with a line for each thing that makes no
 * sense: the agent, the field, its value and the values that do (INV-34).
 */
export function checkOptions(options: SupervisorOptions): void {
  const problems = fieldProblems(options, { checks: OPTIONS, what: 'option' });
  if (problems.length > 0) throw new SupervisorError('invalid_config', problems.join('\n'));
}

/** From here on nothing is what its type says until it was looked at: callers may have no types. */
function agentsProblems(name: string, agents: unknown): readonly string[] {
  if (!Array.isArray(agents)) return [`${name} is ${shown(agents)}. Give a list of agents.`];
  const ids = agents.map((agent: unknown) => (isRecord(agent) ? agent['id'] : undefined));
  return [
    ...twice(ids.filter(isName)).map((id) => `Two agents have the id "${id}".`),
    ...agents.flatMap((agent: unknown, at) =>
      agentProblems(agent).map((problem) => `Agent ${nameOf(ids[at], at)}: ${problem}`),
    ),
  ];
}

/** One without an id is named by its place. */
const nameOf = (id: unknown, at: number): string =>
  typeof id === 'string' && id !== '' ? `"${id}"` : `${at + 1}`;

function agentProblems(agent: unknown): readonly string[] {
  if (!isRecord(agent)) return [`it is ${shown(agent)}. Give an object with id and model.`];
  const hasBoth = agent['toolSource'] !== undefined && toolsOf(agent).length > 0;
  return [
    ...fieldProblems(agent, { checks: AGENT, what: 'field of an agent' }),
    ...(hasBoth ? ['tools and toolSource are both given. Keep one of them.'] : []),
  ];
}

const toolsOf = ({ tools }: Readonly<Record<string, unknown>>): readonly unknown[] =>
  Array.isArray(tools) ? tools : [];

function toolProblems(name: string, tools: unknown): readonly string[] {
  if (tools === undefined) return [];
  if (!Array.isArray(tools)) return [`${name} is ${shown(tools)}. Give a list of tools.`];
  const names = tools.map((tool: unknown) =>
    isRecord(tool) && isRecord(tool['spec']) ? tool['spec']['name'] : undefined,
  );
  return [
    ...(names.every(isName) ? [] : [`${name} has one without a name. Give it one.`]),
    ...twice(names.filter(isName)).map((twin) => `${name} has two named "${twin}". Rename one.`),
    ...tools.flatMap((tool: unknown, at) =>
      required(methods(['execute'], 'a tool'))(`${name}[${at}]`, tool),
    ),
  ];
}
