import type { Reader } from './values.ts';

const HEADER_NAME = /^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/;
const HEADER_VALUE = /^[\t\u0020-\u007e\u0080-\u00ff]*$/;

export const headerName: Reader<string> = (value) => {
  if (typeof value === 'string' && HEADER_NAME.test(value)) return { ok: true, value };
  const suggestion = 'Use letters, digits and "-" in the names of headers.';
  return { ok: false, problem: 'is not the name of a header', suggestion };
};

/** The value is never shown: it is a secret as a rule. */
export const headerValue: Reader<string> = (value) => {
  if (typeof value !== 'string') {
    return { ok: false, problem: 'is not a string', suggestion: 'Write it in quotes.' };
  }
  if (HEADER_VALUE.test(value)) return { ok: true, value };
  const suggestion = 'Remove its line breaks and other control characters.';
  return { ok: false, problem: 'has a value that no header can carry', suggestion };
};

/** Their values are credentials, which must not become the name of a person. */
const CREDENTIALS: readonly string[] = ['authorization', 'proxy-authorization', 'cookie'];

/** The header in which a proxy names whoever is at the other end; lower case. */
export const trustedHeader: Reader<string> = (value) => {
  const reading = headerName(value);
  if (!reading.ok) return reading;
  const name = reading.value.toLowerCase();
  if (!CREDENTIALS.includes(name)) return { ok: true, value: name };
  const suggestion = 'Name the header in which your proxy says who calls: "x-forwarded-user".';
  return { ok: false, problem: 'is a header of credentials', suggestion, quotable: true };
};
