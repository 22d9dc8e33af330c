import type Koa from 'koa';
import type { DetachBecause } from '../../src/handle.ts';
import { createChatRoutes } from '../../src/http/chat/routes.ts';
import { createCountingIds } from '../../src/testing/ids.ts';
import type { FakeRun } from './fake-handle.ts';
import { HTTP_CONFIG, httpWorld, type HttpWorld, type HttpWorldOptions } from './http-world.ts';
import { RawConnection } from './raw-client.ts';

export interface ChatWorld extends HttpWorld {
  /** The run of the next request, as soon as it has started. */
  nextRun(): Promise<FakeRun>;
  /** Resolves when a claim of a run is given up. */
  nextRelease(): Promise<Release>;
  /** A connection that has sent a chat request. */
  chat(body: object, headers?: readonly string[]): Promise<RawConnection>;
}

export interface Release {
  readonly runId: string;
  readonly observerId: string;
  readonly because: DetachBecause;
}

export const HI = { messages: [{ role: 'user', content: 'hi' }] };
export const STREAM = { ...HI, stream: true };

/** The whole HTTP side with the chat route, over a fake supervisor whose runs the test writes. */
export async function chatWorld({ config = {} }: HttpWorldOptions = {}): Promise<ChatWorld> {
  let route: Koa.Middleware = (_ctx, next) => next();
  const world = await httpWorld({ config, chat: (ctx, next) => route(ctx, next) });
  const { handle, clock, pool } = world;
  const { log } = world;
  const ids = createCountingIds();
  route = createChatRoutes({
    handle,
    clock,
    pool,
    log,
    ids,
    config: { ...HTTP_CONFIG, ...config },
  });
  const runs = mailbox<FakeRun>();
  const releases = mailbox<Release>();
  handle.onStart = runs.put;
  handle.onRelease = (runId, observerId, because) => releases.put({ runId, observerId, because });
  const chat = async (body: object, headers: readonly string[] = []) => {
    const connection = await RawConnection.open(world.port);
    connection.write(requestText(JSON.stringify(body), headers));
    return connection;
  };
  return { ...world, nextRun: runs.take, nextRelease: releases.take, chat };
}

function requestText(json: string, headers: readonly string[]): string {
  return [
    'POST /v1/chat/completions HTTP/1.1',
    'Host: localhost',
    'Content-Type: application/json',
    `Content-Length: ${Buffer.byteLength(json)}`,
    ...headers,
    '',
    json,
  ].join('\r\n');
}

/** Hands values to whoever waits for them, in order, none lost. */
function mailbox<T>(): { put: (value: T) => void; take: () => Promise<T> } {
  const values: T[] = [];
  const takers: ((value: T) => void)[] = [];
  return {
    put: (value) => {
      const taker = takers.shift();
      if (taker === undefined) values.push(value);
      else taker(value);
    },
    take: () =>
      new Promise((resolve) => {
        const [first] = values.splice(0, 1);
        if (first === undefined) takers.push(resolve);
        else resolve(first);
      }),
  };
}
