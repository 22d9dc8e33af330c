import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { parseEnv } from 'node:util';
import { ConfigError, type ConfigIssue } from './issue.ts';
import { nearest } from '../nearest.ts';
import { isFalse } from './schema/fields.ts';
import { SETTINGS } from './settings.ts';
import { errorCode } from './sources.ts';
import type { Environment } from './templates.ts';

/** The real environment over the `.env` of the working directory, where there is one. */
export function readEnvironment(real: Environment, cwd: string): Environment {
  return { ...parseEnv(readDotEnv(cwd)), ...real };
}

function readDotEnv(cwd: string): string {
  try {
    return readFileSync(join(cwd, '.env'), 'utf8');
  } catch (error) {
    // A directory of that name is somebody's virtual environment.
    if (['ENOENT', 'EISDIR', 'ENOTDIR'].includes(errorCode(error))) return '';
    const problem = `cannot be read (${errorCode(error)})`;
    throw new ConfigError([
      { source: '.env', key: '', problem, suggestion: 'Check its permissions or remove it.' },
    ]);
  }
}

/** A variable that is set to nothing counts as not set. */
export function variable(env: Environment, name: string): string | undefined {
  const value = env[name];
  return value === '' ? undefined : value;
}

interface Planned {
  readonly isOff: (value: string) => boolean;
  readonly suggestion: string;
}

/** AURA's variables for parts that are not built. Ignoring them would change what a client sees. */
const PLANNED: Readonly<Record<string, Planned>> = {
  AURA_ENABLE_A2A: { isOff: isFalse, suggestion: 'Unset it.' },
  AURA_SESSION_STORE: {
    isOff: (value) => value === 'memory',
    suggestion: 'Unset it; RUNWARDEN_STORE chooses "sqlite" or "memory".',
  },
  AURA_PROMPT_JOURNAL: { isOff: isFalse, suggestion: 'Unset it.' },
  AURA_EMIT_SCRATCHPAD_TOOL_EVENTS: { isOff: isFalse, suggestion: 'Unset it.' },
};

export function refusedVariables(env: Environment): readonly ConfigIssue[] {
  return Object.entries(PLANNED).flatMap(([key, { isOff, suggestion }]) => {
    const value = variable(env, key);
    if (value === undefined || isOff(value)) return [];
    return [{ source: 'environment', key, problem: 'is not supported yet', suggestion }];
  });
}

const OWN_PREFIX = 'RUNWARDEN_';

/** The operators' commands read them; a server that is started in the same shell does not. */
const OF_COMMANDS = ['RUNWARDEN_URL', 'RUNWARDEN_API_KEY'];
const OTLP = 'OTEL_EXPORTER_OTLP_ENDPOINT';

/** Variables that look as if they were meant for us and have no effect. */
export function strayVariables(env: Environment): readonly ConfigIssue[] {
  const settings = Object.values(SETTINGS).flatMap((setting) => setting.env);
  const known: readonly string[] = [...settings, ...OF_COMMANDS];
  const stray = Object.keys(env).filter(
    (key) => key.startsWith(OWN_PREFIX) && !known.includes(key),
  );
  const warnings = stray.map((key) => warning(key, 'is not a known variable', advice(key, known)));
  if (variable(env, OTLP) === undefined) return warnings;
  return [...warnings, warning(OTLP, 'has no effect: telemetry is not supported yet', 'Unset it.')];
}

const warning = (key: string, problem: string, suggestion: string): ConfigIssue => ({
  source: 'environment',
  key,
  problem,
  suggestion,
});

function advice(key: string, known: readonly string[]): string {
  const close = nearest(key, known);
  return close === undefined ? 'It has no effect.' : `Did you mean ${close}?`;
}
