import type { Range, ZeroSeconds } from './values.ts';

/**
 * What 0 says for each time limit, in whichever way it is set: by flag, environment, TOML, or in
 * the options of the library.
 */
export const ZERO_SAYS = Object.freeze({
  setupMs: 'refused',
  mcpConnectMs: 'refused',
  firstChunkMs: 'off',
  inactivityMs: 'off',
  stepMs: 'off',
  stepAllowanceMs: 'none',
  totalMs: 'off',
  toolMs: 'off',
  toolStopGraceMs: 'refused',
  releaseMs: 'refused',
  approvalMs: 'refused',
  shutdownTimeoutMs: 'none',
  graceMs: 'none',
  retentionMs: 'off',
} satisfies Record<string, ZeroSeconds>);

export const PARALLEL_TOOLS: Range = { min: 1, max: 256 };

/** Model turns of one run, less those that every agent has beyond its depth. */
export const TURN_DEPTH: Range = { min: 1, max: 1_000 };

/** Parked runs that are resumed at the same time. */
export const RESUME_CONCURRENCY: Range = { min: 1, max: 1_000 };

/** Ten years of 365 days. Retention is compared with the age of entries; no timer waits for it. */
export const RETENTION_SECONDS_MAX = 315_360_000;

/** A tenant is part of the key of each of its sessions. In bytes of UTF-8. */
export const TENANT_BYTES_MAX = 64;
