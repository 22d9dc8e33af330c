import { demoSource } from './demo-config.ts';
import { demoHints } from './demo-hints.ts';
import type { CliFlags } from './flags.ts';
import type { CliIo } from './io.ts';
import { loadOrTell } from './load.ts';
import { runServer } from './serve.ts';

/** Serves the built-in demo, or the named configuration, and says what to type next. */
export async function demo(flags: CliFlags, io: CliIo): Promise<number> {
  const loaded = loadOrTell(flags, io, (env) => [demoSource(env)]);
  if (loaded === undefined) return 1;
  const { config, files } = loaded;
  return runServer(loaded, io, ({ url }) => io.out(demoHints({ url, config, files })));
}
