/**
 * The `reason` of `notifications/cancelled` for what aborted a call: a run's cause, a deadline's
 * error, or anything else. Servers of this wire know the first three.
 */
export function cancelReasonOf(reason: unknown): string {
  switch (kindOf(reason)) {
    case 'unclaimed':
      return 'client disconnected';
    case 'deadline':
      return 'timeout';
    case 'shutdown':
      return 'server shutdown';
    case 'external':
      return 'cancelled by an operator';
    case 'error':
      return 'the run failed';
    default:
      return isTimeout(reason) ? 'timeout' : 'the run stopped';
  }
}

/** The cause may be the reason itself or be wrapped in an error once or twice. */
function kindOf(reason: unknown): string | undefined {
  for (let at = reason, depth = 0; isObject(at) && depth < 4; depth += 1) {
    if (typeof at['kind'] === 'string') return at['kind'];
    at = at['cause'];
  }
  return undefined;
}

const isTimeout = (reason: unknown): boolean =>
  isObject(reason) &&
  typeof reason['name'] === 'string' &&
  /timeout|deadline/i.test(reason['name']);

const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null;
