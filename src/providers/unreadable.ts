/** What an upstream sent cannot be read as an answer. The message says why, without its words. */
export class UnreadableAnswerError extends Error {
  override readonly name = 'UnreadableAnswerError';
}
