import { mergeAccess } from './access.ts';
import { duplicateIds, missingAgents, unknownDefault } from './agents.ts';
import { buildConfig, type PlacedAgent, toAgent } from './build.ts';
import type { Config } from './config.ts';
import { DEFAULTS } from './defaults.ts';
import { type ConfigDocument, type ConfigSource, readDocument } from './document.ts';
import { readEnvironment, refusedVariables, strayVariables, variable } from './environment.ts';
import { ConfigError, type ConfigIssue } from './issue.ts';
import { oddities } from './relations.ts';
import { sealed } from './redact.ts';
import { type Flags, mergeRuntime, type Resolution, resolveSettings, spoken } from './resolve.ts';
import { SETTINGS } from './settings.ts';
import { oddSigning, plainWebhooks, readSigning } from './signing.ts';
import { readSources } from './sources.ts';
import type { Environment } from './templates.ts';

export interface LoadOptions {
  /** By long name without dashes; `config` names the file or directory. */
  readonly flags: Flags;
  /** The real environment; the `.env` of `cwd` is read under it. */
  readonly env: Environment;
  readonly cwd: string;
  /** Epoch milliseconds, for agents without `created_at`. */
  readonly nowMs: number;
  /** Texts to use when neither flag nor environment names a file; else `config.toml` is read. */
  readonly fallback?: (env: Environment) => readonly ConfigSource[];
  /** The default agent of the fallback's texts, while nobody names another. */
  readonly fallbackAgent?: string;
}

export interface LoadedConfig {
  readonly config: Config;
  /** Things that are allowed and hardly meant. */
  readonly warnings: readonly ConfigIssue[];
  /** What was read, as the operator knows it. */
  readonly files: readonly string[];
}

/**
 * Reads and checks everything the server is told. Throws {@link ConfigError} with every issue of
 * every source at once; nothing was started or written then.
 */
export function loadConfig(options: LoadOptions): LoadedConfig {
  const env = readEnvironment(options.env, options.cwd);
  const { sources, defaultAgent } = sourcesOf(options, env);
  const documents = sources.map((source) => readDocument(source, env));
  const runtime = mergeRuntime(documents);
  const access = mergeAccess(documents);
  const settings = resolveSettings(options.flags, env, runtime);
  const signing = readSigning(env);
  const placed = documents.flatMap((document) => toAgent(document, options.nowMs) ?? []);
  const warnings = [
    ...strayVariables(env),
    ...oddSigning(env),
    ...documents.flatMap((document) => document.warnings),
  ];
  const issues = [
    ...refusedFlags(options.flags),
    ...refusedVariables(env),
    ...settings.issues,
    ...signing.issues,
    ...documents.flatMap((document) => document.issues),
    ...runtime.issues,
    ...access.issues,
    ...agentIssues({ documents, placed, settings, options, env }),
  ];
  if (issues.length > 0) throw new ConfigError(issues, warnings);
  const config = buildConfig({
    values: { ...settings.values, defaultAgent: settings.values.defaultAgent ?? defaultAgent },
    tools: runtime.tools,
    auth: access.auth,
    signing: signing.signing,
    agents: placed.map(({ agent }) => agent),
    flags: options.flags,
    cwd: options.cwd,
  });
  return {
    config: sealed(config),
    warnings: [...warnings, ...oddities(config, placed)],
    files: documents.map(({ file }) => file),
  };
}

interface Sources {
  readonly sources: readonly ConfigSource[];
  readonly defaultAgent?: string | undefined;
}

function sourcesOf(
  { flags, cwd, fallback, fallbackAgent }: LoadOptions,
  env: Environment,
): Sources {
  const named = flags['config'] ?? variable(env, 'CONFIG_PATH');
  if (named === undefined && fallback !== undefined) {
    return { sources: fallback(env), defaultAgent: fallbackAgent };
  }
  return { sources: readSources(String(named ?? DEFAULTS.configPath), cwd) };
}

/** AURA's flags for parts that are not built. */
function refusedFlags(flags: Flags): readonly ConfigIssue[] {
  if (flags['enable-a2a'] === undefined) return [];
  const problem = 'is not supported yet';
  return [{ source: 'command line', key: '--enable-a2a', problem, suggestion: 'Leave it out.' }];
}

interface AgentScope {
  readonly documents: readonly ConfigDocument[];
  readonly placed: readonly PlacedAgent[];
  readonly settings: Resolution;
  readonly options: LoadOptions;
  readonly env: Environment;
}

function agentIssues(scope: AgentScope): readonly ConfigIssue[] {
  const { documents, placed, settings, options, env } = scope;
  const issues = [
    ...missingAgents(documents),
    ...duplicateIds(placed),
    ...plainWebhooks(env, placed),
  ];
  // While a file could not be read, nobody knows which agents there are.
  if (documents.some(({ toml }) => toml === undefined)) return issues;
  const place = spoken(SETTINGS.defaultAgent, options.flags, env) ?? { source: '', key: '' };
  const { source, key } = place;
  return [...issues, ...unknownDefault(settings.values.defaultAgent, { source, key }, placed)];
}
