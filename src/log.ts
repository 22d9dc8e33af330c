import {
  type Bindings,
  type ChildLoggerOptions,
  type DestinationStream,
  type Logger,
  pino,
  stdTimeFunctions,
} from 'pino';
import { prettyLine } from './log-pretty.ts';
import { createRedactor, REDACTED } from './redact-secrets.ts';

export { REDACTED };

/** pino's logger: `log.info({ run_id }, 'sentence')`. Field names are snake_case. */
export type Log = Logger;

export const LOG_LEVELS = ['fatal', 'error', 'warn', 'info', 'debug', 'trace', 'silent'] as const;
export type LogLevel = (typeof LOG_LEVELS)[number];

export interface LogOptions {
  readonly level?: LogLevel;
  /** Values that must never be printed, wherever they turn up in a line. */
  readonly secrets?: readonly string[];
  /** Where lines go; standard error without it. */
  readonly destination?: DestinationStream;
  /** Lines for a person instead of JSON. Without it, only when standard error is a terminal. */
  readonly pretty?: boolean;
}

/** A log entry is small; what nests deeper is cut, not searched. */
const DEPTH_MAX = 6;

/** Lines of a log may lose a word sooner than what is kept for a reader. */
const SECRET_CHARS_MIN = 6;

/** Compared without case, `-` and `_`. */
const SECRET_KEYS: ReadonlySet<string> = new Set([
  'apikey',
  'xapikey',
  'authorization',
  'proxyauthorization',
  'cookie',
  'setcookie',
  'password',
  'secret',
  'clientsecret',
  'token',
  'accesstoken',
  'refreshtoken',
]);

/** Maps whose values are all taken for secrets, whatever their keys are called. */
const SECRET_MAPS: ReadonlySet<string> = new Set(['headers', 'requestheaders', 'env']);

/**
 * Makes the process's log: JSON lines with `level` as a word, `time` in RFC 3339 and `msg`.
 *
 * Secrets are kept out twice: by key, and by value for those that the caller knows. Writes are
 * synchronous, so the last line before an exit is not lost; nothing is logged per text delta.
 */
export function createLog(options: LogOptions = {}): Log {
  const { level = 'info', destination = stderr } = options;
  const pretty = options.pretty ?? (options.destination === undefined && process.stderr.isTTY);
  const scrub = createRedactor(options.secrets ?? [], { charsMin: SECRET_CHARS_MIN });
  const log = pino(
    {
      level,
      base: { pid: process.pid },
      timestamp: stdTimeFunctions.isoTime,
      formatters: { level: (label) => ({ level: label }), log: redactFields },
      hooks: { streamWrite: (line) => (pretty ? prettyLine(scrub(line)) : scrub(line)) },
    },
    destination,
  );
  return guardChildren(log);
}

/** pino formats the fields of an entry, but not those that a child carries in every entry. */
function guardChildren(log: Log): Log {
  // `get` instead of a member access: it is called with the right `this` below.
  const child: MakeChild = Reflect.get(log, 'child');
  const guarded: MakeChild = function (bindings, options = {}) {
    return child.call(this, redactFields(bindings), options);
  };
  return Object.assign(log, { child: guarded });
}

type MakeChild = (this: Log, bindings: Bindings, options?: ChildLoggerOptions) => Log;

const stderr: DestinationStream = { write: (line) => void process.stderr.write(line) };

/** A copy of `fields` in which every value under a secret's key is {@link REDACTED}. */
export function redactFields(fields: Record<string, unknown>): Record<string, unknown> {
  return redactObject(fields, 0);
}

function redactObject(value: object, depth: number): Record<string, unknown> {
  const copy: Record<string, unknown> = {};
  for (const [key, item] of Object.entries(value)) {
    const plain = key.toLowerCase().replace(/[-_]/g, '');
    if (SECRET_KEYS.has(plain)) copy[key] = REDACTED;
    else if (SECRET_MAPS.has(plain) && isPlain(item)) copy[key] = masked(item);
    else copy[key] = redactValue(item, depth);
  }
  return copy;
}

function redactValue(value: unknown, depth: number): unknown {
  if (depth >= DEPTH_MAX) return typeof value === 'object' && value !== null ? '[deep]' : value;
  if (Array.isArray(value)) return value.map((item) => redactValue(item, depth + 1));
  return isPlain(value) ? redactObject(value, depth + 1) : value;
}

const masked = (map: object): Record<string, string> =>
  Object.fromEntries(Object.keys(map).map((key) => [key, REDACTED]));

/** Errors, dates and instances keep pino's own treatment. */
function isPlain(value: unknown): value is object {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return false;
  const prototype = Object.getPrototypeOf(value);
  return prototype === Object.prototype || prototype === null;
}
