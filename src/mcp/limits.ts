import type { McpServerLimits } from '../../machines/mcp-server.vocabulary.ts';

/** Every bound of the MCP client. Milliseconds and bytes, as the names say. */
export interface McpLimits extends McpServerLimits {
  /** How long writing `notifications/cancelled` may take before it counts as not sent. */
  readonly cancelWriteMs: number;
  /**
   * How long a call stays silent, after its server has read the cancellation, until it counts as
   * stopped: a server that obeys sends no response, so silence is the only sign there is.
   */
  readonly cancelQuietMs: number;
  /** A pooled connection that was silent for longer is probed before a run gets it. */
  readonly probeAfterMs: number;
  /** How long the answer to a probe may take. */
  readonly probeMs: number;
  /** Bound of the DELETE that ends a session. */
  readonly sessionEndMs: number;
  /** How long a child may take to leave by itself once its standard input is closed. */
  readonly stdinEndMs: number;
  /** Between SIGTERM and SIGKILL. */
  readonly terminateMs: number;
  /** How long a killed process group may take to disappear. */
  readonly killMs: number;
  readonly toolsMax: number;
  readonly pagesMax: number;
  /** What the tools of one server's list may add up to, as JSON. */
  readonly catalogueBytesMax: number;
  /** One message of a server, whatever it came by: a line, a JSON body or an event of a stream. */
  readonly messageBytesMax: number;
  /** What may wait in a stdio server's standard input. */
  readonly writeBufferBytesMax: number;
  readonly stderrLineBytesMax: number;
  /** What one process may log; the rest is read and dropped. */
  readonly stderrBytesMax: number;
  /** What a reader of the run sees of one progress message. */
  readonly progressTextBytesMax: number;
  /** What a person reads of a server's question. */
  readonly questionTextBytesMax: number;
  /** Questions of one call that wait for an answer at the same time. */
  readonly questionsOpenMax: number;
  /** Questions of one call, answered ones included. */
  readonly questionsMax: number;
  /**
   * How long a call that was given up without an answer may still be the one that asks. Longer than a
   * server that obeys needs; one that does not and asks later is taken for the only call under way.
   */
  readonly strayAskMs: number;
  /** What the model reads of a tool's own error. */
  readonly errorTextBytesMax: number;
  readonly resourceTextBytesMax: number;
  /** What the model reads of one result. */
  readonly resultTextBytesMax: number;
  /** What a person reads of a server's own words in a reason. */
  readonly reasonCharsMax: number;
}

/**
 * The defaults. `connectMs` is the one the configuration changes. `closeMs` is above the sum of the
 * steps of one close, and equals the bound the clients of this wire know for MCP clean-up.
 */
export const MCP_LIMITS: McpLimits = Object.freeze({
  connectMs: 10_000,
  closeMs: 5_000,
  idleMs: 60_000,
  backoffMsFirst: 1_000,
  backoffMsMax: 30_000,
  steadyMs: 30_000,
  failuresMax: 5,
  cancelWriteMs: 2_000,
  cancelQuietMs: 500,
  probeAfterMs: 5_000,
  probeMs: 2_000,
  sessionEndMs: 2_000,
  stdinEndMs: 300,
  terminateMs: 2_000,
  killMs: 500,
  toolsMax: 1_000,
  pagesMax: 100,
  catalogueBytesMax: 4 * 1_024 * 1_024,
  messageBytesMax: 10 * 1_024 * 1_024,
  writeBufferBytesMax: 16 * 1_024 * 1_024,
  stderrLineBytesMax: 2_048,
  stderrBytesMax: 65_536,
  progressTextBytesMax: 4_096,
  questionTextBytesMax: 8_192,
  questionsOpenMax: 10,
  questionsMax: 100,
  strayAskMs: 10_000,
  errorTextBytesMax: 8_192,
  resourceTextBytesMax: 65_536,
  resultTextBytesMax: 1_048_576,
  reasonCharsMax: 300,
});
