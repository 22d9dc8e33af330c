/** The part of a logger that the journal uses; pino fits. */
export interface JournalLog {
  warn(fields: object, message: string): void;
  error(fields: object, message: string): void;
}

export const SILENT_LOG: JournalLog = Object.freeze({ warn: () => {}, error: () => {} });
