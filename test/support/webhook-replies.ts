import { randomBytes } from 'node:crypto';
import { decisionContext, signedHeaders } from '../../src/hitl/webhook/signing.ts';
import type { WebhookRequest } from './webhook-receiver.ts';

/** Answers one request; `index` counts those of its kind from 0. It may never answer. */
export type WebhookReply = (request: WebhookRequest, index: number) => void | Promise<void>;

/** How an answer is signed. Without a key it is not. */
export interface ReplySigning {
  readonly secret: string;
  /** Epoch milliseconds; the time of the machine without it. */
  readonly nowMs?: number;
  /** In the place of the context for the decision that was asked for. */
  readonly context?: string;
}

export interface ReplyOptions {
  readonly status?: number;
  readonly headers?: Readonly<Record<string, string>>;
  readonly signing?: ReplySigning;
}

/** Answers with `body`: a text as it is, everything else as JSON. */
export function answer(body: unknown, options: ReplyOptions = {}): WebhookReply {
  const text = typeof body === 'string' ? body : JSON.stringify(body);
  return ({ response, decisionId }) => {
    const signature = options.signing && signatureOf(text, decisionId, options.signing);
    const headers = { 'content-type': 'application/json', ...options.headers, ...signature };
    response.writeHead(options.status ?? 200, headers).end(text);
  };
}

function signatureOf(body: string, decisionId: string, signing: ReplySigning) {
  const { secret, nowMs = Date.now(), context = decisionContext(decisionId) } = signing;
  return signedHeaders({ secret, nowMs, context, body });
}

export const approve = (options?: ReplyOptions): WebhookReply =>
  answer({ approved: true }, options);

export const deny = (reason?: string, options?: ReplyOptions): WebhookReply =>
  answer({ approved: false, ...(reason !== undefined && { reason }) }, options);

/** A status and an empty body. */
export const status =
  (code: number, headers: Readonly<Record<string, string>> = {}): WebhookReply =>
  ({ response }) =>
    void response.writeHead(code, headers).end();

/** What a notice gets. */
export const acknowledge = (): WebhookReply => status(204);

export const redirect = (location: string, code = 307): WebhookReply => status(code, { location });

/** The first `count` requests get `first`, the others `then`. */
export const firstTimes =
  (count: number, first: WebhookReply, then: WebhookReply): WebhookReply =>
  (request, index) =>
    index < count ? first(request, index) : then(request, index);

/** Nothing ever comes. */
export const silence = (): WebhookReply => () => {};

/** Closes the connection instead of answering. */
export const hangUp =
  (): WebhookReply =>
  ({ socket }) =>
    void socket.destroy();

/** A head, `sent` bytes of a longer body, and the connection closes. */
export const closeMidBody =
  (sent = '{"approved":'): WebhookReply =>
  ({ response, socket }) => {
    response.writeHead(200, { 'content-length': String(Buffer.byteLength(sent) + 5) });
    response.write(sent, () => socket.destroy());
  };

/** The same in chunks: the last one never comes. */
export const closeMidChunks =
  (sent = '{"approved":true}'): WebhookReply =>
  ({ response, socket }) => {
    response.writeHead(200);
    response.write(sent, () => socket.end());
  };

/** A head and a part of the body, and then nothing, the connection open. */
export const stallMidBody =
  (sent = '{"approved":'): WebhookReply =>
  ({ response }) => {
    response.writeHead(200);
    response.write(sent);
  };

/** JSON white space without end, until the client leaves. */
export const endlessBody =
  (code = 200): WebhookReply =>
  ({ response, socket }) => {
    response.writeHead(code);
    const block = Buffer.alloc(65_536, ' ');
    const more = (): void => {
      while (!socket.destroyed && response.write(block));
    };
    response.on('drain', more);
    more();
  };

/** A body of so many bytes of text that no compression would shorten. */
export const hugeBody = (bytes: number): WebhookReply =>
  answer({
    approved: true,
    reason: randomBytes(Math.ceil(bytes / 2))
      .toString('hex')
      .slice(0, bytes),
  });

/** Holds each request until `release`, then answers it and all later ones as `then` does. */
export function held(then: WebhookReply = approve()): {
  readonly reply: WebhookReply;
  release(): void;
} {
  const { promise, resolve } = Promise.withResolvers<void>();
  return {
    reply: async (request, index) => {
      await promise;
      await then(request, index);
    },
    release: resolve,
  };
}

/** Answers when the client is gone. `answered` resolves when that was tried. */
export function tooLate(then: WebhookReply = approve()): {
  readonly reply: WebhookReply;
  readonly answered: Promise<void>;
} {
  const { promise, resolve } = Promise.withResolvers<void>();
  return {
    reply: async (request, index) => {
      await request.gone;
      await then(request, index);
      resolve();
    },
    answered: promise,
  };
}
