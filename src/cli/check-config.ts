import type { CliFlags } from './flags.ts';
import type { CliIo } from './io.ts';
import { loadOrTell } from './load.ts';
import { summarize } from './summary.ts';

/** Prints what the configuration comes to, or all that is wrong with it. Exit code 0 or 1. */
export async function checkConfig(flags: CliFlags, io: CliIo): Promise<number> {
  const loaded = loadOrTell(flags, io, { consequence: '.' });
  if (loaded === undefined) return 1;
  io.out(summarize(loaded));
  return 0;
}
