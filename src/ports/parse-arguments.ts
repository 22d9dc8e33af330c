import { hasInfinity, isTooDeep } from '../json-depth.ts';

/**
 * The arguments as an object; undefined when the model's text is not one, or is one that nests
 * deeper than what writes it again can follow, or holds numbers that cannot be written again. An empty
 * text is `{}`.
 */
export function parseArguments(text: string): Record<string, unknown> | undefined {
  if (text.trim() === '') return {};
  try {
    const value: unknown = JSON.parse(text);
    if (!isRecord(value) || isTooDeep(value) || hasInfinity(value)) return undefined;
    return value;
  } catch {
    return undefined;
  }
}

const isRecord = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);
