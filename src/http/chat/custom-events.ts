import { badRequest } from '../errors.ts';

/**
 * Whether a response carries `aura.*` events: the request's own word, else the server's setting.
 *
 * @throws {HttpError} 400 for a header that is neither `true` nor `false`.
 */
export function wantsCustomEvents(
  headers: Readonly<Record<string, string | undefined>>,
  configured: boolean,
): boolean {
  const value = headers['x-aura-custom-events'];
  if (value === undefined) return configured;
  const word = value.trim().toLowerCase();
  if (word === 'true' || word === 'false') return word === 'true';
  const name = 'X-Aura-Custom-Events';
  throw badRequest(`The header ${name} must be "true" or "false".`, name);
}
