import type Koa from 'koa';
import { signedDecisionOf } from './auth/decision-signature.ts';
import { keyNameOf } from './caller.ts';
import type { HttpConfig } from './config.ts';
import { ECHOED_BYTES_MAX } from './echo.ts';
import { badRequest, type HttpError } from './errors.ts';

/** What a name cannot have: controls, halves of characters, and what turns or hides text. */
const UNPRINTABLE = /[\p{Cc}\p{Cs}\p{Cf}\p{Co}\p{Zl}\p{Zp}]/u;

/**
 * Who decides: the name in the header that the configuration trusts, else the API key, else the key of
 * the signature; undefined where nobody has to say. A name is UTF-8 or, failing that, Latin-1.
 *
 * @throws {HttpError} 400 for a name that cannot be kept: a decision must not go on record under
 *   another one than was meant.
 */
export function deciderOf(
  ctx: Koa.Context,
  { deciderHeader }: Pick<HttpConfig, 'deciderHeader'>,
): string | undefined {
  const named = deciderHeader === undefined ? undefined : nameIn(ctx, deciderHeader);
  if (named !== undefined) return named;
  const key = keyNameOf(ctx);
  if (key !== undefined) return `key:${key}`;
  const signed = signedDecisionOf(ctx);
  return signed === undefined ? undefined : `signature:${signed.key}`;
}

function nameIn({ req }: Koa.Context, header: string): string | undefined {
  // A key of ours that stood in it was taken out of these.
  if (req.headers[header] === undefined) return undefined;
  const values = req.headersDistinct[header] ?? [];
  if (values.length > 1) throw refused(header, 'is there more than once; send it once');
  const name = decoded(values[0] ?? '').trim();
  if (name === '') return undefined;
  if (UNPRINTABLE.test(name)) throw refused(header, 'holds characters that cannot be printed');
  if (Buffer.byteLength(name) > ECHOED_BYTES_MAX) {
    throw refused(header, `is longer than ${ECHOED_BYTES_MAX} bytes`);
  }
  return name;
}

/** Node reads headers as Latin-1; proxies write names as UTF-8. */
function decoded(value: string): string {
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(Buffer.from(value, 'latin1'));
  } catch {
    return value;
  }
}

const refused = (header: string, fault: string): HttpError =>
  badRequest(`The header ${header}, which says who decides, ${fault}.`, header);
