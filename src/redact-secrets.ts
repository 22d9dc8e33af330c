/** Replaces every known secret in a text that may leave the process or be kept. */
export type Redact = (text: string) => string;

/** What stands where a secret was. */
export const REDACTED = '[redacted]';

/** A shorter value would blank out ordinary words. */
const SECRET_CHARS_MIN = 8;

/**
 * Keeps out of an error's text what looks like a credential though nobody knows it: keys that begin
 * with `sk-`, what follows `Bearer` and `Basic`, the user of a URL. Errors and logs alone: what a tool
 * gives as its result may be about such things.
 */
export const redactCredentials: Redact = (text) =>
  text
    .replace(/\/\/[^/\s@]*@/g, `//${REDACTED}@`)
    .replace(/\b(bearer|basic)\s+\S+/gi, `$1 ${REDACTED}`)
    .replace(/\bsk-[\w*.-]{4,}/g, REDACTED);

export interface RedactorOptions {
  /** Secrets with fewer characters are passed over. */
  readonly charsMin?: number;
}

/**
 * Makes the function that keeps `secrets` out of a text, each as it stands and as it looks inside
 * JSON, a URL and base64 (also inside longer base64, as in `Basic` credentials). A text without
 * any is given back as it is. A secret that is split over two texts is not found: redact the
 * whole before it is cut.
 */
export function createRedactor(
  secrets: readonly string[],
  { charsMin = SECRET_CHARS_MIN }: RedactorOptions = {},
): Redact {
  const known = secrets.filter(({ length }) => length >= Math.max(charsMin, 1));
  const forms = new Set(known.flatMap((secret) => formsOf(secret)));
  // The part of a short value that no neighbour has changed may be nothing, which is everywhere.
  forms.delete('');
  if (forms.size === 0) return (text) => text;
  // Longest first, so that a secret that holds another one is not left in pieces.
  const ordered = [...forms].sort((a, b) => b.length - a.length);
  // One pass for all of them is faster than a search for each.
  const pattern = new RegExp(ordered.map((form) => literal(form)).join('|'), 'g');
  return (text) => text.replace(pattern, REDACTED);
}

/** Request headers that carry credentials by their standard, and names that tell of one. */
const CREDENTIAL_HEADER = /^(?:authorization|proxy-authorization|cookie)$|key|token|secret|passw/i;

/**
 * The credentials among the headers of a request (lower-case names), for {@link createRedactor}:
 * whole values, and what follows a scheme word as in `Bearer abc`.
 */
export function credentialsOf(headers: Readonly<Record<string, string>>): readonly string[] {
  return Object.entries(headers).flatMap(([name, value]) => {
    // A key under which a start may be repeated proves nothing about who asks.
    if (!CREDENTIAL_HEADER.test(name) || name === 'idempotency-key') return [];
    return name === 'cookie' ? [value, ...cookieValues(value)] : [value, withoutScheme(value)];
  });
}

const cookieValues = (cookie: string): readonly string[] =>
  cookie.split(';').map((pair) => pair.slice(pair.indexOf('=') + 1).trim());

const withoutScheme = (value: string): string => value.replace(/^[\w-]+ +/, '');

function formsOf(secret: string): readonly string[] {
  const inUrl = urlEncoded(secret);
  return [
    secret,
    JSON.stringify(secret).slice(1, -1),
    inUrl,
    inUrl.replaceAll(/%../g, (byte) => byte.toLowerCase()),
    inUrl.replaceAll('%20', '+'),
    ...base64Forms(secret),
  ];
}

/** Half a character cannot be encoded; such a value is in no URL. */
function urlEncoded(secret: string): string {
  return secret.isWellFormed() ? encodeURIComponent(secret) : secret;
}

/**
 * Three bytes make four characters, so a text in base64 looks in one of three ways, by the number
 * of bytes before it. The characters that its neighbours have a part in are left out.
 */
function base64Forms(secret: string): readonly string[] {
  return [0, 1, 2].flatMap((before) => {
    const bytes = Buffer.concat([Buffer.alloc(before), Buffer.from(secret)]);
    const [first, end] = [Math.ceil((before * 4) / 3), Math.floor((bytes.length * 4) / 3)];
    return [
      bytes.toString('base64').slice(first, end),
      bytes.toString('base64url').slice(first, end),
    ];
  });
}

/** A text as a pattern that matches it alone. */
const literal = (text: string): string => text.replaceAll(/[\\^$.*+?()[\]{}|]/g, '\\$&');
