import type { LoadedConfig } from '../config/load.ts';
import { secretsOf } from '../config/redact.ts';
import { createLog } from '../log.ts';
import type { CliFlags } from './flags.ts';
import type { CliIo, RunningServer } from './io.ts';
import { loadOrTell, NOTHING_STARTED } from './load.ts';
import { relaySignals } from './signals.ts';
import { ensureDataDir, startFailure } from './start-errors.ts';

/** Serves the configured agents until a signal. Gives the exit code of the shutdown. */
export async function serve(flags: CliFlags, io: CliIo): Promise<number> {
  const loaded = loadOrTell(flags, io, { consequence: NOTHING_STARTED });
  return loaded === undefined ? 1 : runServer(loaded, io, () => {});
}

/** Starts a server, tells `onStarted`, and waits for its end. */
export async function runServer(
  loaded: LoadedConfig,
  io: CliIo,
  onStarted: (server: RunningServer) => void,
): Promise<number> {
  const signals = relaySignals(io.signals, io.now);
  try {
    const running = await Promise.race([start(loaded, io), signals.abandoned]);
    if (typeof running === 'number') return running;
    signals.attach(running);
    onStarted(running);
    return (await running.stopped).exitCode;
  } catch (error) {
    io.err(`${startFailure(error, loaded.config)}\n`);
    return 1;
  } finally {
    signals.close();
  }
}

async function start({ config }: LoadedConfig, io: CliIo): Promise<RunningServer> {
  const { server } = config;
  ensureDataDir(config);
  const log = createLog({
    level: server.logLevel,
    secrets: secretsOf(config),
    destination: { write: (line) => io.err(line) },
    pretty: io.isTerminal,
  });
  const { startServer } = await io.loadServer();
  const grace = `shutdown_timeout=${server.shutdownTimeoutMs / 1_000}s`;
  log.info(`Starting server on ${server.host}:${server.port} (${grace})`);
  const running = await startServer(config, { log });
  log.info({ url: server.serverUrl ?? running.url }, 'Server is listening');
  return running;
}
