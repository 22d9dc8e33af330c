import { ConfigError, formatIssue, type ConfigIssue } from '../config/issue.ts';
import { type LoadedConfig, loadConfig, type LoadOptions } from '../config/load.ts';
import type { CliFlags } from './flags.ts';
import type { CliIo } from './io.ts';

/** Loads the configuration and prints its warnings, or all its errors and gives undefined. */
export function loadOrTell(
  flags: CliFlags,
  io: CliIo,
  fallback?: LoadOptions['fallback'],
): LoadedConfig | undefined {
  const { env, cwd } = io;
  const options = { flags, env, cwd, nowMs: io.now(), ...(fallback && { fallback }) };
  try {
    const loaded = loadConfig(options);
    tellWarnings(loaded.warnings, io);
    return loaded;
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error;
    tellWarnings(error.warnings, io);
    io.err(`${error.message}\n${verdict(error.issues.length)}\n`);
    return undefined;
  }
}

function tellWarnings(warnings: readonly ConfigIssue[], io: CliIo): void {
  for (const issue of warnings) io.err(`warning: ${formatIssue(issue)}\n`);
}

const verdict = (count: number): string =>
  count === 1
    ? 'The configuration has 1 error; nothing was started.'
    : `The configuration has ${count} errors; nothing was started.`;
