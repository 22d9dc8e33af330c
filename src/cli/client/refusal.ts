import type { z } from 'zod';
import { foreignServer, OperatorError } from './errors.ts';
import { EXIT, type ExitCode } from './exit-codes.ts';
import { refusalShape } from './shapes.ts';

export interface RefusedRequest {
  readonly status: number;
  readonly headers: Headers;
  readonly body: string;
  /** What the person asked, for the messages. */
  readonly base: string;
  readonly withKey: boolean;
  /** What to do when the thing is not there. */
  readonly ifMissing: string | undefined;
}

type ErrorFields = z.output<typeof refusalShape>['error'];

/** An answer that is an error, as the error that ends the command: with the remedy. */
export function refusalOf(request: RefusedRequest): OperatorError {
  const { status, headers, body, base } = request;
  if (status >= 300 && status < 400) return redirected(request);
  const error = errorIn(body);
  if (error === undefined) {
    const what = `${base} answered ${status} without an error of Runwarden's.`;
    return foreignAnswer(`${what} Check --url, and what stands between.`, status);
  }
  const code = error.code ?? error.type ?? `http_${status}`;
  const retryAfterMs = retryAfter(headers);
  const remedy = remedyOf({ ...request, code, error, retryAfterMs });
  return new OperatorError({
    code,
    message: [`${error.message} (${code})`, remedy].filter((part) => part !== '').join(' '),
    exitCode: exitCodeOf(status),
    passing: mayPass(status),
    ...(retryAfterMs === undefined ? {} : { retryAfterMs }),
  });
}

/** A key must not follow where a stranger points. */
function redirected({ base, headers }: RefusedRequest): OperatorError {
  const to = headers.get('location') ?? 'elsewhere';
  return foreignServer(`${base} sends us on to ${to}. If that is the server, name it by --url.`);
}

/** A proxy that has lost its server for a moment answers like this. */
function foreignAnswer(message: string, status: number): OperatorError {
  const exitCode = EXIT.unreachable;
  return new OperatorError({ code: 'not_runwarden', message, exitCode, passing: mayPass(status) });
}

const mayPass = (status: number): boolean => status >= 500 || status === 429;

function errorIn(body: string): ErrorFields | undefined {
  try {
    return refusalShape.safeParse(JSON.parse(body)).data?.error;
  } catch {
    return undefined;
  }
}

function exitCodeOf(status: number): ExitCode {
  if (status === 401 || status === 403) return EXIT.notAllowed;
  if (status === 404) return EXIT.notFound;
  return status === 409 ? EXIT.conflict : EXIT.refused;
}

function retryAfter(headers: Headers): number | undefined {
  const text = headers.get('retry-after') ?? '';
  return /^\d{1,6}$/.test(text) ? Number(text) * 1_000 : undefined;
}

interface Refused extends RefusedRequest {
  readonly code: string;
  readonly error: ErrorFields;
  readonly retryAfterMs: number | undefined;
}

function remedyOf({ status, code, error, withKey, ifMissing, retryAfterMs }: Refused): string {
  if (status === 401) {
    return withKey
      ? 'The server does not know the key: check --api-key-file or RUNWARDEN_API_KEY.'
      : 'Give a key by --api-key-file or RUNWARDEN_API_KEY.';
  }
  if (status === 403) return 'Use a key that has the scope for it.';
  if (status === 404) return ifMissing ?? '';
  if (status === 405) return 'The server is of another version than this command.';
  if (retryAfterMs !== undefined) return `Try again in ${retryAfterMs / 1_000} s.`;
  const busy = error.run_id === undefined ? '' : `The live run is ${error.run_id}.`;
  return CONFLICT_REMEDIES[code] ?? busy;
}

const SEE_STATE = 'See its state by "runwarden runs show".';

const CONFLICT_REMEDIES: Readonly<Record<string, string>> = {
  approvals_undecided: 'Decide first: "runwarden approvals ls" lists what waits.',
  already_resumed: '"runwarden runs show" names the run that goes on with it.',
  not_parked: SEE_STATE,
  run_ended: SEE_STATE,
};
