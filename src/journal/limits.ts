/** What bounds a journal. Bytes are counted as characters of JSON. */
export interface JournalLimits {
  /** Entries that wait for the store, over all sessions; beyond it `full` makes the runs wait. */
  readonly queueBytesMax: number;
  /** What a replay reads, and what a reader is given, at a time. */
  readonly pageEntriesMax: number;
  readonly pageBytesMax: number;
  /** A session whose process is silent for so long may be taken over. */
  readonly leaseTtlMs: number;
  /** At least three beats in a life, so that one that fails does no harm (INV-55). */
  readonly leaseBeatMs: number;
  /** Leases renewed by one call of the store. */
  readonly renewalsMax: number;
}

export const JOURNAL_LIMITS: JournalLimits = Object.freeze({
  queueBytesMax: 8_388_608,
  pageEntriesMax: 512,
  // A page in UTF-8 and in frames is still below what a slow reader's buffer holds.
  pageBytesMax: 262_144,
  leaseTtlMs: 15_000,
  leaseBeatMs: 5_000,
  renewalsMax: 1_000,
});

/** Fills in the defaults. Throws `RangeError` that names the limit which makes no sense. */
export function journalLimits(given: Partial<JournalLimits> = {}): JournalLimits {
  const limits = { ...JOURNAL_LIMITS, ...given };
  for (const [name, value] of Object.entries(limits)) {
    if (!Number.isSafeInteger(value) || value < 1) {
      throw new RangeError(`Journal limit "${name}" is ${value}; give a whole number from 1 on.`);
    }
  }
  if (limits.leaseTtlMs < 3 * limits.leaseBeatMs) {
    throw new RangeError(
      `Journal limit "leaseTtlMs" is ${limits.leaseTtlMs}; give at least three times ` +
        `"leaseBeatMs", which is ${limits.leaseBeatMs}.`,
    );
  }
  return limits;
}
