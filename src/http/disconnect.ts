/** A peer that leaves is normal; these are the ways in which Node reports it. */
const DISCONNECT_CODES: ReadonlySet<string> = new Set([
  'ECONNRESET',
  'EPIPE',
  'ECONNABORTED',
  'ERR_STREAM_DESTROYED',
  'ERR_STREAM_PREMATURE_CLOSE',
  'ERR_STREAM_WRITE_AFTER_END',
]);

/** Whether an error says no more than that the other side is gone. */
export function isDisconnect(error: unknown): boolean {
  return error instanceof Error && DISCONNECT_CODES.has(String(Reflect.get(error, 'code')));
}
