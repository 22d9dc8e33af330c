import { ConfigError, formatIssue, type ConfigIssue } from '../config/issue.ts';
import { type LoadedConfig, loadConfig, type LoadOptions } from '../config/load.ts';
import type { CliFlags } from './flags.ts';
import type { CliIo } from './io.ts';

export interface LoadRequest extends Pick<LoadOptions, 'fallback' | 'fallbackAgent'> {
  /** What the errors mean for the command, as the end of the sentence that counts them. */
  readonly consequence: string;
}

/** For the commands that serve. */
export const NOTHING_STARTED = '; nothing was started.';

/** Loads the configuration and prints its warnings, or all its errors and gives undefined. */
export function loadOrTell(
  flags: CliFlags,
  io: CliIo,
  { consequence, ...fallback }: LoadRequest,
): LoadedConfig | undefined {
  const { env, cwd } = io;
  const options = { flags, env, cwd, nowMs: io.now(), ...fallback };
  try {
    const loaded = loadConfig(options);
    tellWarnings(loaded.warnings, io);
    return loaded;
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error;
    tellWarnings(error.warnings, io);
    io.err(`${error.message}\n${verdict(error.issues.length)}${consequence}\n`);
    return undefined;
  }
}

function tellWarnings(warnings: readonly ConfigIssue[], io: CliIo): void {
  for (const issue of warnings) io.err(`warning: ${formatIssue(issue)}\n`);
}

const verdict = (count: number): string =>
  `The configuration has ${count === 1 ? '1 error' : `${count} errors`}`;
