/** A value of the request that comes back in a header, a message or an entry is no longer than this. */
export const ECHOED_BYTES_MAX = 256;

const UNSAFE = /[\p{Cc}\p{Cs}]/u;

/** Whether a text has control characters or half a character, which no header can carry. */
export const isUnsafe = (value: string): boolean => UNSAFE.test(value);

/** Whether a value of the request is fit to be sent back: nothing unsafe in it, and not too long. */
export const isEchoable = (value: string): boolean =>
  !isUnsafe(value) && Buffer.byteLength(value) <= ECHOED_BYTES_MAX;
