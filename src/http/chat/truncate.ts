const SUFFIX = '... [truncated]';

/**
 * The first `bytesMax` bytes of a text, cut back to a character, and a suffix that says so. 0
 * leaves every text whole.
 */
export function truncate(text: string, bytesMax: number): string {
  // No character takes more than three bytes a UTF-16 unit, so a short text needs no count.
  if (bytesMax === 0 || text.length * 3 <= bytesMax) return text;
  if (Buffer.byteLength(text) <= bytesMax) return text;
  const head = Buffer.allocUnsafe(bytesMax);
  // `write` never writes part of a character.
  const written = head.write(text);
  return head.toString('utf8', 0, written) + SUFFIX;
}
