import type Koa from 'koa';
import { handleOf } from '../caller.ts';
import type { HttpDeps } from '../deps.ts';
import { requestHeaders } from '../params.ts';
import { readChatCall } from './chat-call.ts';
import { completeChat, streamChat } from './chat-responses.ts';

/**
 * Serves `POST /v1/chat/completions`, streaming and not. The JSON body has been parsed before; what
 * it throws is answered by the error middleware around it.
 */
export function createChatRoutes(deps: HttpDeps): Koa.Middleware {
  return async (ctx) => {
    const headers = requestHeaders(ctx);
    const own: HttpDeps = { ...deps, handle: handleOf(ctx, deps) };
    const call = readChatCall({ body: ctx.request.body, headers, ...own });
    // The conversation would otherwise be held for as long as the response streams.
    ctx.request.body = undefined;
    await (call.streaming ? streamChat(ctx, call, own) : completeChat(ctx, call, own));
  };
}
