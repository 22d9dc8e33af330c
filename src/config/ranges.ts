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
  reminderMs: 'off',
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

/**
 * Ten years again: how long a person may take. The clock waits for long delays in parts, so this may
 * be more than a timer can hold.
 */
export const APPROVAL_SECONDS_MAX = 315_360_000;

/** How far the clock of a signature may be off. */
export const WEBHOOK_TOLERANCE_SECS: Range = { min: 1, max: 86_400 };

/** As many bytes as the hash of a signature has. */
export const WEBHOOK_SECRET_BYTES_MIN = 32;

/** A tenant is part of the key of each of its sessions. In bytes of UTF-8. */
export const TENANT_BYTES_MAX = 64;
