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
  /** What to do when it is not the key that is wanting. */
  readonly ifUnsigned: string | undefined;
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

function remedyOf(refused: Refused): string {
  const { status, code, error, ifMissing, retryAfterMs } = refused;
  if (status === 401) return unknownCaller(refused);
  if (status === 403) return 'Use a key that has the scope for it.';
  if (status === 404) return ifMissing ?? '';
  if (status === 405) return 'The server is of another version than this command.';
  if (retryAfterMs !== undefined) return `Try again in ${retryAfterMs / 1_000} s.`;
  const busy = error.run_id === undefined ? '' : `The live run is ${error.run_id}.`;
  return REMEDIES[code] ?? busy;
}

function unknownCaller({ error, withKey, ifUnsigned }: Refused): string {
  if (ifUnsigned !== undefined && error.message.includes('signature')) return ifUnsigned;
  return withKey
    ? 'The server does not know the key: check --api-key-file or RUNWARDEN_API_KEY.'
    : 'Give a key by --api-key-file or RUNWARDEN_API_KEY.';
}

const SEE_STATE = 'See its state by "runwarden runs show".';

const SEE_APPROVAL = 'See what it asks for by "runwarden approvals show".';

const REMEDIES: Readonly<Record<string, string>> = {
  approvals_undecided: 'Decide first: "runwarden approvals list" lists what waits.',
  already_resumed: '"runwarden runs show" names the run that goes on with it.',
  not_parked: SEE_STATE,
  run_ended: SEE_STATE,
  run_elsewhere: 'Decide at the server that has the run, or when that has let it go.',
  edits_not_allowed: 'Leave out --arguments, or allow edits in the [hitl] of the agent.',
  grants_not_allowed: 'Leave out --for-session, or allow grants in the [hitl] of the agent.',
  arguments_forbidden: 'A rule denies those; give others by --arguments, or deny the call.',
  invalid_arguments: 'Give others by --arguments, or leave them out to approve the call as it is.',
  content_not_allowed: 'Leave out --content: it answers a question of a server, and this is none.',
  invalid_content: SEE_APPROVAL,
};
