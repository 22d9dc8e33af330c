import type { IncomingMessage } from 'node:http';
import { badRequest, HttpError } from './errors.ts';

/**
 * Checks of a request's head that Node leaves to us, so that their refusals are errors of ours.
 * A target in absolute form is rewritten as a proxy's client means it: its authority is the host,
 * whatever the `Host` header says, and its path is the target (RFC 9112, 3.2.2).
 *
 * Gives the error to answer with, or nothing.
 */
export function refusalOfHead(req: IncomingMessage): HttpError | undefined {
  const hosts = req.headersDistinct['host'] ?? [];
  if (hosts.length > 1)
    return badRequest('The request has several Host headers; send one.', 'Host');
  if (hosts.length === 0 && isHttp11(req)) {
    return badRequest('The request has no Host header; HTTP/1.1 wants one.', 'Host');
  }
  if (!toOriginForm(req)) return badRequest('The target of the request is not a valid URL.');
  return isHttp11(req) ? refusalOfExpectation(req) : undefined;
}

/** Whether the peer holds its body back until it is told to go on. */
export const awaitsContinue = (req: IncomingMessage): boolean =>
  isHttp11(req) && CONTINUE.test(req.headers.expect ?? '');

/** As Node reads the header, which hands such a request over without telling the peer to go on. */
const CONTINUE = /(?:^|\W)100-continue(?:$|\W)/i;

const isHttp11 = (req: IncomingMessage): boolean =>
  req.httpVersionMajor === 1 && req.httpVersionMinor === 1;

function refusalOfExpectation(req: IncomingMessage): HttpError | undefined {
  if (req.headers.expect === undefined || awaitsContinue(req)) return undefined;
  const message = 'The only expectation that is met is "Expect: 100-continue"; leave others out.';
  return new HttpError({ status: 417, code: 'expectation_failed', message, param: 'Expect' });
}

/** False when the target is neither a path nor a URL. Only what reads paths may follow. */
function toOriginForm(req: IncomingMessage): boolean {
  const target = req.url ?? '';
  if (target.startsWith('/') || target === '*') return true;
  const url = URL.parse(target);
  if (url === null || url.host === '') return false;
  req.headers.host = url.host;
  req.url = url.pathname + url.search;
  return true;
}
