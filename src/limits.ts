/** Named maxima that no configuration changes. Those of one room stand in that room. */

/** Tries of one model turn, the first included. */
export const ATTEMPTS_MAX = 3;

/** Model turns that an agent may take beyond its `turn_depth`, as its configuration's authors know it. */
export const TURNS_BEYOND_DEPTH = 2;

/** One step of a run's release: connections, then the lease. */
export const RELEASE_STEP_MS = 5_000;

/** Live runs of one process. At about 20 kB each this is 2 GB. */
export const RUNS_MAX = 100_000;

/** Runs that may wait for one session; one more is refused. */
export const QUEUE_MAX = 100;

/** A run that is asked to park is cancelled when it comes to no checkpoint for so long. */
export const PARK_MS = 120_000;

/** What was told to stop at the end of the grace may take this long. */
export const DRAIN_MS = 5_000;

/** Below {@link DRAIN_MS}, so that a deaf tool does not turn a clean stop into an abort. */
export const DRAIN_TOOL_GRACE_MS = 4_000;

/** The abort of stragglers. */
export const ABORT_MS = 400;

/** Closing connections and the journal at the very end. */
export const FLUSH_MS = 5_000;

/**
 * Of that, how long the runs that were aborted may take to store their ends: three tries with their
 * pauses. Below {@link FLUSH_MS}, so that the journal is closed in any case.
 */
export const ABANDON_MS = 3_000;

/**
 * Readers of aborted runs may take their last frames for so long. Below {@link ABORT_MS}, so that one
 * who takes none does not count as a straggler.
 */
export const LAST_FRAMES_MS = 250;
