import { DEMO_AGENT, demoSources } from './demo-config.ts';
import { demoHints } from './demo-hints.ts';
import type { CliFlags } from './flags.ts';
import type { CliIo } from './io.ts';
import { loadOrTell, NOTHING_STARTED } from './load.ts';
import { runServer } from './serve.ts';

/** Serves the built-in agents, or the named configuration, and says what to type next. */
export async function demo(flags: CliFlags, io: CliIo): Promise<number> {
  const loaded = loadOrTell(flags, io, {
    fallback: demoSources,
    fallbackAgent: DEMO_AGENT,
    consequence: NOTHING_STARTED,
  });
  if (loaded === undefined) return 1;
  const { config, files } = loaded;
  return runServer(loaded, io, ({ url }) => io.out(demoHints({ url, config, files })));
}
