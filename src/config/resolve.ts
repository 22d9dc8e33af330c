import type { ToolLimitConfig } from './config.ts';
import { conflict } from './conflict.ts';
import { type ConfigDocument, quoted } from './document.ts';
import { variable } from './environment.ts';
import type { ConfigIssue } from './issue.ts';
import { type Setting, type SettingName, SETTINGS, type SettingValues } from './settings.ts';
import type { Environment } from './templates.ts';

/** Flags as the command line gave them, by long name without dashes. */
export type Flags = Readonly<Record<string, string | boolean | undefined>>;

/** What was said in `[runtime]` tables, and where. */
export interface RuntimeSettings {
  readonly values: ReadonlyMap<SettingName, unknown>;
  readonly tools: readonly ToolLimitConfig[];
  readonly issues: readonly ConfigIssue[];
}

interface Said {
  readonly value: unknown;
  readonly document: ConfigDocument;
}

/** The process has one runtime, so files of a directory may share its settings but not disagree. */
export function mergeRuntime(documents: readonly ConfigDocument[]): RuntimeSettings {
  const said = new Map<SettingName, Said>();
  const issues: ConfigIssue[] = [];
  for (const document of documents) {
    for (const [name, value] of runtimeValues(document)) {
      const other = said.get(name);
      if (other === undefined) said.set(name, { value, document });
      else if (!isSame(other.value, value)) issues.push(disagreement(name, document, other));
    }
  }
  const values = new Map([...said].map(([name, { value }]) => [name, value]));
  const tools = mergeTools(documents);
  return { values, tools: tools.limits, issues: [...issues, ...tools.issues] };
}

function runtimeValues({ toml }: ConfigDocument): [SettingName, unknown][] {
  const names = Object.keys(SETTINGS) as SettingName[]; // `keys` gives no more than the table has.
  return names.flatMap((name): [SettingName, unknown][] => {
    const value = SETTINGS[name].toml?.reduce<unknown>(member, toml?.runtime);
    return value === undefined ? [] : [[name, value]];
  });
}

const member = (tree: unknown, key: string): unknown =>
  typeof tree === 'object' && tree !== null ? (tree as Record<string, unknown>)[key] : undefined;

const isSame = (a: unknown, b: unknown): boolean => JSON.stringify(a) === JSON.stringify(b);

function disagreement(name: SettingName, document: ConfigDocument, other: Said): ConfigIssue {
  const path = ['runtime', ...(SETTINGS[name].toml ?? [])] as const;
  return conflict(document, other.document, path, 'is set to something else');
}

interface MergedTools {
  readonly limits: readonly ToolLimitConfig[];
  readonly issues: readonly ConfigIssue[];
}

function mergeTools(documents: readonly ConfigDocument[]): MergedTools {
  const owners = new Map<string, ConfigDocument>();
  const limits: ToolLimitConfig[] = [];
  const issues: ConfigIssue[] = [];
  for (const document of documents) {
    for (const limit of document.toml?.runtime?.tools ?? []) {
      const other = owners.get(limit.glob);
      const path = ['runtime', 'tools', limit.glob] as const;
      if (other === undefined) limits.push(limit);
      else issues.push(conflict(document, other, path, 'is set already'));
      owners.set(limit.glob, document);
    }
  }
  return { limits, issues };
}

export interface Resolution {
  /** A setting with an issue is missing here; without issues every one is there. */
  readonly values: SettingValues;
  readonly issues: readonly ConfigIssue[];
}

/** Each setting from the strongest place that has it: flag, environment, TOML, default. */
export function resolveSettings(
  flags: Flags,
  env: Environment,
  runtime: RuntimeSettings,
): Resolution {
  const issues: ConfigIssue[] = [];
  const entries = Object.entries(SETTINGS).map(([name, setting]) => {
    const said = spoken(setting, flags, env);
    // What TOML says was read, and refused if need be, together with its file.
    const fromToml = runtime.values.get(name as SettingName);
    if (said === undefined && fromToml !== undefined) return [name, fromToml];
    return [name, readSetting(setting, said ?? byDefault(setting), issues)];
  });
  // The table has every name, and each value was read by the reader of its own setting.
  return { values: Object.fromEntries(entries) as SettingValues, issues };
}

/** A value and who gave it. */
export interface Spoken {
  readonly value: unknown;
  readonly source: string;
  readonly key: string;
}

/** What the command line or the environment says about a setting; undefined when neither does. */
export function spoken(
  setting: Setting<unknown>,
  flags: Flags,
  env: Environment,
): Spoken | undefined {
  const flag = setting.flag === undefined ? undefined : flags[setting.flag];
  if (flag !== undefined) return { value: flag, source: 'command line', key: `--${setting.flag}` };
  const key = setting.env.find((name) => variable(env, name) !== undefined);
  return key === undefined ? undefined : { value: env[key], source: 'environment', key };
}

const byDefault = ({ fallback }: Setting<unknown>): Spoken => ({
  value: fallback,
  source: 'default',
  key: '',
});

function readSetting(setting: Setting<unknown>, said: Spoken, issues: ConfigIssue[]): unknown {
  const { value, source, key } = said;
  if (value === undefined) return undefined;
  const reading = setting.read(value);
  if (reading.ok) return reading.value;
  const { problem, suggestion, quotable } = reading;
  issues.push({ source, key, problem: quotable ? problem + quoted(value) : problem, suggestion });
  return undefined;
}
