import { describe, expect, it } from 'vitest';
import { createRoutes } from '../../src/http/routes/router.ts';
import {
  pathOf,
  ROUTE_SCOPES,
  type RouteName,
  type Scope,
  scopesOf,
} from '../../src/http/routes/scopes.ts';
import { SsePool } from '../../src/http/sse-pool.ts';
import { randomIds } from '../../src/ids.ts';
import { createVirtualClock } from '../../src/testing/virtual-clock.ts';
import { FakeHandle } from '../support/fake-handle.ts';
import { HTTP_CONFIG } from '../support/http-world.ts';

/** What the authentication believes about a path must be what the router does with it. */

const silent = { debug: () => {}, info: () => {}, warn: () => {}, error: () => {} };

const router = createRoutes({
  handle: new FakeHandle(),
  config: HTTP_CONFIG,
  log: silent,
  clock: createVirtualClock(),
  ids: randomIds,
  pool: new SsePool({ streamsMax: 1 }),
  chat: () => {},
});

const names = Object.keys(ROUTE_SCOPES) as RouteName[];
const METHODS = ['GET', 'HEAD', 'POST', 'PUT', 'DELETE', 'OPTIONS'];

/** Paths that a router might take for one of its own. */
const PATHS = names.flatMap((name) => {
  const filled = ['x', 'a%2Fb', '%00', 'é', '..', 'x;y', 'x y', '{x}', ''].map((id) =>
    pathOf(name).replaceAll(/:\w+/g, id),
  );
  return filled.flatMap((path) => [path, `${path}/`, `/${path}`, path.toUpperCase(), `${path}/z`]);
});

describe('scopes of the routes', () => {
  it('are known for every route, and for nothing else', () => {
    const served = router.stack.flatMap(({ methods, path }) =>
      methods.filter((method) => method !== 'HEAD').map((method) => `${method} ${String(path)}`),
    );
    expect(served.toSorted()).toEqual(names.toSorted());
  });

  it('are found for exactly the requests that the router takes', () => {
    const wrong = METHODS.flatMap((method) =>
      PATHS.filter((path) => {
        const { route } = router.match(path, method);
        return route !== (scopesOf({ method, path, query: {} }) !== undefined);
      }).map((path) => `${method} ${path}`),
    );
    expect(wrong).toEqual([]);
  });

  it.each<[string, string, Scope | 'none' | undefined]>([
    ['GET', '/health', 'none'],
    ['GET', '/aura/info', 'none'],
    ['HEAD', '/v1/models/x', 'chat'],
    ['POST', '/v1/chat/completions', 'chat'],
    ['POST', '/v1/runs', 'runs:control'],
    ['GET', '/v1/runs', 'runs:read'],
    ['GET', '/v1/runs/x/chart', 'runs:read'],
    ['POST', '/v1/runs/x/cancel', 'runs:control'],
    ['POST', '/v1/runs/x/park', 'runs:control'],
    ['POST', '/v1/runs/x/resume', 'runs:control'],
    ['GET', '/v1/sessions/x/events', 'runs:read'],
    ['GET', '/v1/approvals', 'runs:read'],
    ['GET', '/v1/approvals/events', 'runs:read'],
    ['GET', '/v1/approvals/x', 'runs:read'],
    ['POST', '/v1/approvals/x', 'approvals:decide'],
    ['GET', '/nothing', undefined],
    ['GET', '/v1/chat/completions', undefined],
  ])('%s %s needs %s', (method, path, scope) => {
    const scopes = scope === undefined ? undefined : [scope].filter((one) => one !== 'none');
    expect(scopesOf({ method, path, query: {} })).toEqual(scopes);
  });

  it.each([
    [undefined, ['runs:read']],
    ['false', ['runs:read']],
    ['true', ['runs:read', 'runs:control']],
    [
      ['false', 'true'],
      ['runs:read', 'runs:control'],
    ],
  ])('of the events of a run under claim %j is %j', (claim, scopes) => {
    const path = '/v1/runs/x/events';
    expect(scopesOf({ method: 'GET', path, query: { claim } })).toEqual(scopes);
  });
});
