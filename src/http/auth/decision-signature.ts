import type { IncomingMessage } from 'node:http';
import type Koa from 'koa';
import {
  decisionContext,
  SIGNATURE_HEADER,
  type SigningKey,
  TIMESTAMP_HEADER,
  verifySigned,
} from '../../hitl/webhook/signing.ts';
import type { HttpDeps } from '../deps.ts';
import { awaitsContinue } from '../request-head.ts';
import { decisionSegment } from '../routes/scopes.ts';
import { signatureInvalid } from './refusals.ts';

/** A decision that came with a valid signature. */
export interface SignedDecision {
  /** The key that it was made with. */
  readonly key: SigningKey;
  /** The body as it was sent and signed. */
  readonly body: Buffer;
}

/**
 * Verifies the signatures of `POST /v1/approvals/{id}`, where the configuration has a secret.
 *
 * D1. A request with a signature goes on only when that is right for its path and its bytes as they
 *     were sent. Whatever else is wrong, an endless body included, is the same 401.
 * D2. Nothing of the body is read as JSON, and nothing of the id as a UUID, before that.
 * D3. Without `[auth]` no decision goes on without a signature. With it, a key is asked for in place
 *     of one.
 */
export function verifyDecisions({
  config: { webhookSigning, auth, bodyBytesMax },
  clock,
}: Pick<HttpDeps, 'config' | 'clock'>): Koa.Middleware {
  if (webhookSigning === undefined) return (_ctx, next) => next();
  return async (ctx, next) => {
    const segment = decisionSegment(ctx);
    if (segment === undefined) return next();
    if (isSigned(ctx.req)) {
      const body = await bytesOf(ctx, bodyBytesMax);
      const message = { headers: ctx.req.headers, context: decisionContext(segment), body };
      const keys = { ...webhookSigning, nowMs: clock.now() };
      const verified = verifySigned(message, keys);
      if (!verified.ok) throw signatureInvalid();
      ctx.state['signedDecision'] = { key: verified.key, body } satisfies SignedDecision;
    } else if (auth === undefined) throw signatureInvalid();
    await next();
  };
}

/** What {@link verifyDecisions} has found; undefined for a request without a signature. */
export const signedDecisionOf = (ctx: Koa.Context): SignedDecision | undefined =>
  ctx.state['signedDecision'] as SignedDecision | undefined;

/** Half of a signature is a wrong one, and no request without. */
const isSigned = ({ headers }: IncomingMessage): boolean =>
  headers[SIGNATURE_HEADER] !== undefined || headers[TIMESTAMP_HEADER] !== undefined;

/** The whole body. Throws 401 for one that is too long or breaks off. */
async function bytesOf(ctx: Koa.Context, bytesMax: number): Promise<Buffer> {
  if (Number(ctx.get('Content-Length')) > bytesMax) throw signatureInvalid();
  if (awaitsContinue(ctx.req)) ctx.res.writeContinue();
  const body = await read(ctx.req, bytesMax);
  if (body === undefined) throw signatureInvalid();
  return body;
}

/** Undefined when it is too long or never comes whole; the rest of it stays unread. */
function read(req: IncomingMessage, bytesMax: number): Promise<Buffer | undefined> {
  return new Promise((resolve) => {
    const chunks: Buffer[] = [];
    let bytes = 0;
    const settle = (body: Buffer | undefined): void => {
      req.off('data', take).off('end', end).off('close', broken);
      resolve(body);
    };
    const take = (chunk: Buffer): void => {
      bytes += chunk.length;
      chunks.push(chunk);
      if (bytes <= bytesMax) return;
      req.pause();
      settle(undefined);
    };
    const end = (): void => settle(Buffer.concat(chunks));
    const broken = (): void => settle(undefined);
    req.on('data', take).once('end', end).once('close', broken);
  });
}
