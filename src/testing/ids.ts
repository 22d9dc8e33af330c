import type { Ids } from '../ids.ts';

/**
 * Ids that count, so that two runs of a test mint the same ones. Each kind counts for itself; run
 * and decision ids have the shape of UUID v7 and sort by their making, completion ids of UUID v4.
 */
export function createCountingIds(): Ids {
  const run = counter();
  const decision = counter();
  const session = counter();
  const completion = counter();
  const request = counter();
  const observer = counter();
  const owner = counter();
  return {
    run: () => `00000000-0000-7000-8000-${hex(run(), 12)}`,
    decision: () => `00000000-0000-7000-9000-${hex(decision(), 12)}`,
    session: () => `cs_${hex(session(), 32)}`,
    completion: () => `chatcmpl-00000000-0000-4000-8000-${hex(completion(), 12)}`,
    request: () => `req_${hex(request(), 32)}`,
    observer: () => `obs_${hex(observer(), 32)}`,
    owner: () => `owner-${owner()}`,
  };
}

function counter(): () => number {
  let count = 0;
  return () => ++count;
}

const hex = (value: number, digits: number): string => value.toString(16).padStart(digits, '0');
