/** Bounds of the webhook route that no configuration changes. */

/** From the first look-up of the name until TLS stands. */
export const CONNECT_MS = 5_000;

/** An answer is a decision, with edited arguments at most. */
export const ANSWER_BYTES_MAX = 1_048_576;

/** A decision's reason. The inbox takes as much of one. */
export const REASON_BYTES_MAX = 8_192;

/** Names from an answer that an error repeats. */
export const QUOTED_CHARS_MAX = 60;

/**
 * A person may take days, and no byte goes over the connection meanwhile. The system probes it so often,
 * since a peer that vanished without a word shows in no other way.
 */
export const PROBE_MS = 60_000;
