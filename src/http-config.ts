import type { Config } from './config/config.ts';
import { DEFAULTS } from './config/defaults.ts';
import { packageVersion } from './config/version.ts';
import type { HttpConfig } from './http/config.ts';

/** AURA's body limit and heartbeat; the rest bounds what one reader may cost. */
const HTTP_LIMITS = {
  bodyBytesMax: 2 * 1_024 * 1_024,
  heartbeatMs: 15_000,
  sseStallMs: 30_000,
  sseStreamsMax: 20_000,
} as const;

/** What the HTTP side is told, from what the server was told. */
export function httpConfigOf(config: Config): HttpConfig {
  const { server, liveness, onBusy, auth, webhookSigning } = config;
  const { deciderHeader } = server;
  return {
    host: server.host,
    port: server.port,
    allowedOrigins: [...server.allowedOrigins, ...ownOrigin(server)],
    toolResultMode: server.toolResultMode,
    toolResultMaxLength: server.toolResultMaxLength,
    customEvents: server.customEvents,
    emitReasoning: server.emitReasoning,
    debugProviderErrors: server.debugProviderErrors,
    version: packageVersion(),
    liveness: liveness.chat,
    onBusy: onBusy.chat,
    headless: { liveness: liveness.headless, onBusy: onBusy.headless },
    ...(auth === undefined ? {} : { auth }),
    ...(webhookSigning === undefined ? {} : { webhookSigning }),
    ...(deciderHeader === undefined ? {} : { deciderHeader }),
    sseBufferBytesMax: bufferBytes(server.streamingBufferSize),
    ...HTTP_LIMITS,
  };
}

/** A proxy passes on the host that its clients use, which is no foreign one. */
const ownOrigin = ({ serverUrl }: Config['server']): readonly string[] =>
  serverUrl === undefined ? [] : [new URL(serverUrl).origin];

/** A chunk of an answer with its envelope; makes the default of 400 chunks a mebibyte. */
const CHUNK_BYTES = 1_048_576 / DEFAULTS.streamingBufferSize;

/** Below it a stream could be cut for a few entries that came at once. */
const BUFFER_BYTES_MIN = 262_144;

/** What a reader that falls behind may cost, from the number of chunks that may wait for it. */
const bufferBytes = (chunks: number): number =>
  Math.max(Math.round(chunks * CHUNK_BYTES), BUFFER_BYTES_MIN);
