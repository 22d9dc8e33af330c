/** The `nth` of what is there, counted around. */
export const pick = <T>(among: readonly T[], nth: number): T | undefined =>
  among.length === 0 ? undefined : among[nth % among.length];
