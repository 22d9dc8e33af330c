import { variable } from '../../config/environment.ts';
import { wrongUsage } from '../client/errors.ts';
import type { OperatorCall } from '../operator.ts';

/** Where the secret that signs decisions stands. */
export const SECRET = 'AURA_HITL_WEBHOOK_SECRET';

/** A server takes no shorter one. */
const SECRET_BYTES_MIN = 32;

/** Whether a decision from here would be signed. */
export const isSecretSet = ({ io }: OperatorCall): boolean =>
  variable(io.env, SECRET) !== undefined;

/**
 * The secret that signs decisions. Only the real environment counts, as for the key. Throws wrong
 * usage for one that no server has.
 */
export function secretOf({ io }: OperatorCall): string | undefined {
  const secret = variable(io.env, SECRET);
  if (secret === undefined || Buffer.byteLength(secret) >= SECRET_BYTES_MIN) return secret;
  throw wrongUsage(`${SECRET} is shorter than ${SECRET_BYTES_MIN} bytes; it is the server's own.`);
}
