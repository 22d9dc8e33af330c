import type { RunLimits } from '../machines/vocabulary.ts';
import type { ModelProvider } from './model.ts';
import type { Tool, ToolSource } from './tool.ts';
import type { Clock } from './clock.ts';
import { nearest } from './config/nearest.ts';
import { PARALLEL_TOOLS, RESUME_CONCURRENCY, TURN_DEPTH, ZERO_SAYS } from './config/ranges.ts';
import { type Range, SECONDS_MAX, type ZeroSeconds } from './config/values.ts';
import { SupervisorError } from './errors.ts';
import { compileGlob, GlobSyntaxError } from './hitl/glob.ts';
import type { Ids } from './ids.ts';
import { TURNS_BEYOND_DEPTH } from './limits.ts';
import type { Log } from './log.ts';
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
  /** What the store lets go of; nothing when left out. */
  readonly retention?: Partial<RetentionLimits>;
}

/** The longest wait that fits a timer: what the configuration allows too. */
const MS_MAX = SECONDS_MAX * 1_000;

/** Ten years. People take longer than machines, and the clock waits for long delays in parts. */
export const APPROVAL_MS_MAX = 315_360_000_000;

/** Gives undefined for a value that is all right, else what would be. */
type Check = (value: unknown) => string | undefined;

const LIMITS: Readonly<Record<keyof RunLimits, Check>> = {
  setupMs: duration(ZERO_SAYS.setupMs),
  firstChunkMs: duration(ZERO_SAYS.firstChunkMs),
  inactivityMs: duration(ZERO_SAYS.inactivityMs),
  stepMs: duration(ZERO_SAYS.stepMs),
  stepAllowanceMs: duration(ZERO_SAYS.stepAllowanceMs),
  totalMs: duration(ZERO_SAYS.totalMs),
  toolStopGraceMs: duration(ZERO_SAYS.toolStopGraceMs),
  releaseMs: duration(ZERO_SAYS.releaseMs),
  parkMs: duration('refused'),
  turnsMax: count({ min: 1, max: TURN_DEPTH.max + TURNS_BEYOND_DEPTH }),
  parallelToolsMax: count(PARALLEL_TOOLS),
  attemptsMax: count({ min: 1, max: 100 }),
};

const runsMax = count({ min: 1, max: Number.MAX_SAFE_INTEGER });
const resumeConcurrency = count(RESUME_CONCURRENCY);
const amount = count({ min: 0, max: Number.MAX_SAFE_INTEGER });
const graceMs = duration(ZERO_SAYS.shutdownTimeoutMs);
const toolTimeoutMs = duration(ZERO_SAYS.toolMs);
const approvalTimeoutMs = duration(ZERO_SAYS.approvalMs, APPROVAL_MS_MAX);

/**
 * Throws one {@link SupervisorError} `invalid_config` with a line for each thing that makes no
 * sense: the agent, the field, its value and the values that do (INV-34).
 */
export function checkOptions(options: SupervisorOptions): void {
  const problems = [
    ...wrong('runsMax', options.runsMax, runsMax),
    ...wrong('graceMs', options.graceMs, graceMs),
    ...wrong('recover', options.recover, oneOf('fail', 'resume')),
    ...wrong('resumeConcurrency', options.resumeConcurrency, resumeConcurrency),
    ...retentionProblems(options.retention ?? {}),
    ...twice(options.agents.map(({ id }) => id)).map((id) => `Two agents have the id "${id}".`),
    ...options.agents.flatMap((agent, at) =>
      agentProblems(agent).map((problem) => `Agent ${nameOf(agent, at)}: ${problem}`),
    ),
  ];
  if (problems.length > 0) throw new SupervisorError('invalid_config', problems.join('\n'));
}

/** One without an id is named by its place. */
const nameOf = ({ id }: AgentDefinition, at: number): string => (id ? `"${id}"` : `${at + 1}`);

function agentProblems(agent: AgentDefinition): string[] {
  return [
    ...(isName(agent.id) ? [] : ['id is empty. Give it a name that starts can use.']),
    ...wrong('approvalTimeoutMs', agent.approvalTimeoutMs, approvalTimeoutMs),
    ...wrong('toolTimeoutMs', agent.toolTimeoutMs, toolTimeoutMs),
    ...limitProblems(agent.limits ?? {}),
    ...toolProblems(agent),
    ...(agent.requireApproval ?? []).flatMap((glob) => globProblems('requireApproval', glob)),
    ...(agent.idempotentTools ?? []).flatMap((glob) => globProblems('idempotentTools', glob)),
  ];
}

function limitProblems(limits: Partial<RunLimits>): string[] {
  const known: Readonly<Record<string, Check>> = LIMITS;
  return Object.entries(limits).flatMap(([name, value]) => {
    const check = known[name];
    if (check === undefined) return [`limits.${name} is not a known limit. ${advice(name)}`];
    return problem(`limits.${name}`, value, check);
  });
}

function advice(name: string): string {
  const names = Object.keys(LIMITS);
  const close = nearest(name, names);
  return close === undefined ? `Known: ${names.join(', ')}.` : `Did you mean "${close}"?`;
}

function toolProblems({ tools = [], toolSource }: AgentDefinition): string[] {
  const names = tools.map(({ spec }) => spec.name);
  return [
    ...(names.every(isName) ? [] : ['tools has one without a name. Give it one.']),
    ...twice(names).map((name) => `tools has two named "${name}". Rename one.`),
    ...(tools.length > 0 && toolSource !== undefined
      ? ['tools and toolSource are both given. Keep one of them.']
      : []),
  ];
}

function globProblems(field: string, glob: string): string[] {
  try {
    compileGlob(glob);
    return [];
  } catch (error) {
    if (!(error instanceof GlobSyntaxError)) throw error;
    return [`${field} has "${glob}", which ${error.message}. Write a glob: "delete_*".`];
  }
}

function retentionProblems(retention: Partial<RetentionLimits>): string[] {
  return Object.entries(retention).flatMap(([name, value]) =>
    problem(`retention.${name}`, value, amount),
  );
}

/** A field that may be left out. */
const wrong = (name: string, value: unknown, check: Check): string[] =>
  value === undefined ? [] : problem(name, value, check);

function problem(name: string, value: unknown, check: Check): string[] {
  const remedy = check(value);
  return remedy === undefined ? [] : [`${name} is ${shown(value)}. ${remedy}`];
}

function duration(zero: ZeroSeconds, max = MS_MAX): Check {
  const range = `Use milliseconds from 1 to ${max}`;
  const remedy = {
    off: `${range}, or 0 to turn it off.`,
    none: `${range}, or 0 for none.`,
    refused: `${range}; 0 makes no sense here.`,
  }[zero];
  return (value) => {
    if (value === 0 && zero !== 'refused') return undefined;
    return typeof value === 'number' && value >= 1 && value <= max ? undefined : remedy;
  };
}

function count({ min, max }: Range): Check {
  const remedy = `Use a whole number from ${min} to ${max}.`;
  return (value) => {
    const isWhole = typeof value === 'number' && Number.isInteger(value);
    return isWhole && value >= min && value <= max ? undefined : remedy;
  };
}

function oneOf(...known: readonly string[]): Check {
  const remedy = `Use ${known.map((value) => `"${value}"`).join(' or ')}.`;
  return (value) => (known.includes(value as string) ? undefined : remedy);
}

const isName = (value: unknown): boolean => typeof value === 'string' && value.trim() !== '';

/** What is there more than once, each once. */
const twice = (names: readonly string[]): string[] => [
  ...new Set(names.filter((name, at) => names.indexOf(name) !== at)),
];

/** Longest value that is shown whole. */
const SHOWN_CHARS_MAX = 40;

function shown(value: unknown): string {
  if (typeof value === 'string') return JSON.stringify(value.slice(0, SHOWN_CHARS_MAX));
  return typeof value === 'object' && value !== null ? 'an object' : String(value);
}
