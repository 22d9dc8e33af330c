/**
 * Turns one JSON log line into one for a person: time, level, message, then the other fields.
 * Control characters of values are shown escaped, so a value cannot drive the terminal. A line
 * that is not JSON comes back as it is.
 */
export function prettyLine(line: string): string {
  const entry = parsed(line);
  if (entry === undefined) return line;
  const { level, time, msg, pid: _pid, err, ...rest } = entry;
  const clock = typeof time === 'string' ? time.slice(11, 23) : '';
  const head = `${clock} ${String(level).toUpperCase().padEnd(5)} ${printable(typeof msg === 'string' ? msg : '')}`;
  const fields = Object.entries(rest).map(([key, value]) => ` ${key}=${shown(value)}`);
  return `${head}${fields.join('')}${stack(err)}\n`;
}

function parsed(line: string): Record<string, unknown> | undefined {
  try {
    const value: unknown = JSON.parse(line);
    return typeof value === 'object' && value !== null ? { ...value } : undefined;
  } catch {
    return undefined;
  }
}

function shown(value: unknown): string {
  if (typeof value === 'string' && /^[\w./:@+-]+$/.test(value)) return value;
  return JSON.stringify(value);
}

/** The stack of an error as pino writes it down; it begins with the message. */
function stack(err: unknown): string {
  const text = typeof err === 'object' && err !== null && 'stack' in err ? err.stack : undefined;
  if (typeof text !== 'string') return '';
  const lines = text.split('\n');
  return lines.map((row) => `\n    ${printable(row.trim())}`).join('');
}

const printable = (text: string): string => text.replace(/\p{Cc}/gu, (char) => `\\x${hex(char)}`);

const hex = (char: string): string => char.charCodeAt(0).toString(16).padStart(2, '0');
