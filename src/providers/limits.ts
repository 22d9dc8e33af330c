/**
 * The bounds of what one answer of a model may hold in memory. They guard against a broken
 * upstream, so each is far above what a working one sends.
 */

/** One line or one event of the stream. An answer that comes as a single frame still fits. */
export const FRAME_BYTES_MAX = 8 * 1_048_576;

/** OpenAI allows 128 tools in a request; an answer has no business calling more at once. */
export const TOOL_CALLS_MAX = 128;

/** The arguments of one tool call: whole files are written through them. */
export const TOOL_ARGUMENTS_CHARS_MAX = 4 * 1_048_576;

/** How much of an error's body is read before the connection is dropped. */
export const ERROR_BODY_BYTES_MAX = 65_536;

/** How much of the upstream's own words a message repeats, where it may at all. */
export const RAW_ERROR_CHARS_MAX = 500;

/**
 * How long a connection may take to finish its response after the answer is complete. Within it
 * the connection is kept for the next request, beyond it is closed.
 */
export const AFTER_ANSWER_MS = 1_000;

/**
 * How long an answer that has announced its end is waited for: usage comes behind the finish reason,
 * where an upstream sends it at all, and some never close what they have finished.
 */
export const AFTER_FINISH_MS = 2_000;
