/** The object, or an empty one for anything else, so that a foreign shape can be read safely. */
export function asRecord(value: unknown): Readonly<Record<string, unknown>> {
  // An object that is no array is a record of unknown values.
  return isRecord(value) ? value : {};
}

/** Whether the value is a JSON object. */
export function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** The text, or an empty one for anything else. */
export function asText(value: unknown): string {
  return typeof value === 'string' ? value : '';
}

/** The JSON value of the text, or undefined when it is none. */
export function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
