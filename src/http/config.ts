import type { AuthConfig } from '../auth.ts';
import type { BusyStrategy, Liveness } from '../handle.ts';

/** What the HTTP side is told at start. Defaults and checks are the configuration's. */
export interface HttpConfig {
  /** Where the server listens. On a loopback address, requests with a foreign `Host` are refused. */
  readonly host: string;
  /** 0 lets the system choose. */
  readonly port: number;
  /** Origins beside the server's own that a browser may call from, as `https://chat.example`. */
  readonly allowedOrigins: readonly string[];
  /** A larger request body is answered 413. */
  readonly bodyBytesMax: number;
  /** Between two comments that keep a silent stream alive. */
  readonly heartbeatMs: number;
  /** A stream that holds more unsent bytes is cut. */
  readonly sseBufferBytesMax: number;
  /** A peer that takes no bytes for this long is cut. */
  readonly sseStallMs: number;
  /** Streams open at once; one more is answered 503. */
  readonly sseStreamsMax: number;
  /** Runwarden's own version. */
  readonly version: string;
  /** How calls of server-side tools appear in a chat stream. */
  readonly toolResultMode: ToolResultMode;
  /** Bytes of a tool's result that are shown; 0 shows all. */
  readonly toolResultMaxLength: number;
  /** Whether `aura.*` events are sent when the request does not say. */
  readonly customEvents: boolean;
  /** Whether the model's reasoning is among them. */
  readonly emitReasoning: boolean;
  /** Shows a provider's own error text to the client. */
  readonly debugProviderErrors: boolean;
  /** What a chat's run does when nobody reads it any more. */
  readonly liveness: Liveness;
  /** What a chat does when its session has a live run already. */
  readonly onBusy: BusyStrategy;
  /** The same for runs that are started without a reader and do not say themselves. */
  readonly headless: { readonly liveness: Liveness; readonly onBusy: BusyStrategy };
  /** Absent: the server is open. */
  readonly auth?: AuthConfig;
  /** Absent: decisions carry no signatures, and headers that look like one are passed over. */
  readonly webhookSigning?: SigningConfig;
  /** Lower-case name of the header in which a trusted proxy says who decides an approval. */
  readonly deciderHeader?: string;
}

/** What the signatures of decisions are held against. */
export interface SigningConfig {
  readonly secret: string;
  /** Accepted beside the first one. */
  readonly secondary?: string;
  /** How far the time of a signature may be from ours, either way. */
  readonly toleranceMs: number;
}

export type ToolResultMode = 'none' | 'open-web-ui' | 'aura' | 'hidden';

/** The part of a logger that HTTP needs; pino is one. */
export interface HttpLog {
  debug(fields: object, message: string): void;
  info(fields: object, message: string): void;
  warn(fields: object, message: string): void;
  error(fields: object, message: string): void;
}
