import { errorCode } from '../../config/sources.ts';
import { foreignServer, OperatorError, unreachable } from './errors.ts';

/** A failure of the network as the error that ends the command. Ours are passed on as they are. */
export function networkFailure(error: unknown, base: string): OperatorError {
  if (error instanceof OperatorError) return error;
  const code = codeOf(error);
  const secure = /CERT|SELF_SIGNED|ERR_TLS|ERR_SSL|UNABLE_TO/.test(code);
  if (secure) {
    const remedy = 'Name the authority by NODE_EXTRA_CA_CERTS, or check --url.';
    return foreignServer(`The certificate of ${base} is not trusted (${code}). ${remedy}`);
  }
  switch (code) {
    case 'ECONNREFUSED':
      return unreachable(
        `No server listens at ${base}. Start one by "runwarden serve", or name another by --url.`,
        error,
      );
    case 'ENOTFOUND':
    case 'EAI_AGAIN':
      return unreachable(`The host of ${base} is not known. Check --url and the network.`, error);
    default:
      return unreachable(
        `${base} cannot be reached (${code}). Check --url and the network.`,
        error,
      );
  }
}

/** The code, or else the words, of the innermost cause: `fetch` wraps what the socket said. */
function codeOf(error: unknown): string {
  if (error instanceof AggregateError && error.errors.length > 0) return codeOf(error.errors[0]);
  if (error instanceof Error && error.cause !== undefined) return codeOf(error.cause);
  const code = errorCode(error);
  return code === 'unknown' && error instanceof Error ? error.message : code;
}
