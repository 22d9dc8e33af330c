/** What a key must be allowed to do before a route serves it. */
export type Scope = 'chat' | 'runs:read' | 'runs:control' | 'approvals:decide';

/**
 * Every route, as its method and the router's pattern, with the scope it needs; `none` needs no
 * scope. The router is built from these names, so no route can be without one.
 */
export const ROUTE_SCOPES = {
  'GET /health': 'none',
  'GET /aura/info': 'none',
  'GET /v1/models': 'chat',
  'GET /v1/models/:id': 'chat',
  'POST /v1/chat/completions': 'chat',
  'POST /v1/runs': 'runs:control',
  'GET /v1/runs': 'runs:read',
  'GET /v1/runs/:id': 'runs:read',
  'GET /v1/runs/:id/events': 'runs:read',
  'GET /v1/runs/:id/explain': 'runs:read',
  'GET /v1/runs/:id/chart': 'runs:read',
  'POST /v1/runs/:id/cancel': 'runs:control',
  'POST /v1/runs/:id/park': 'runs:control',
  'POST /v1/runs/:id/resume': 'runs:control',
  'GET /v1/sessions': 'runs:read',
  'GET /v1/sessions/:id': 'runs:read',
  'GET /v1/sessions/:id/events': 'runs:read',
  'GET /v1/approvals': 'runs:read',
  'GET /v1/approvals/events': 'runs:read',
  'GET /v1/approvals/:decision_id': 'runs:read',
  'POST /v1/approvals/:decision_id': 'approvals:decide',
} as const satisfies Readonly<Record<string, Scope | 'none'>>;

export type RouteName = keyof typeof ROUTE_SCOPES;

/** The path of a route, as the router takes it. */
export const pathOf = (route: RouteName): string => route.slice(route.indexOf(' ') + 1);

export interface ScopedRequest {
  readonly method: string;
  /** As it was sent: percent-encoding stays. */
  readonly path: string;
  /** The parsed query; Koa's will do. */
  readonly query: Readonly<Record<string, string | readonly string[] | undefined>>;
}

/**
 * The scopes that a request needs, all of them. Undefined where no route takes it: it is answered 404
 * or 405, and has nothing to guard.
 */
export function scopesOf({ method, path, query }: ScopedRequest): readonly Scope[] | undefined {
  const verb = method === 'HEAD' ? 'GET' : method;
  const found = MATCHERS.find((route) => route.method === verb && route.pattern.test(path));
  if (found === undefined) return undefined;
  const scope = ROUTE_SCOPES[found.name];
  if (scope === 'none') return [];
  // A claim keeps a run alive, which is more than to read of it.
  const claims = found.name === 'GET /v1/runs/:id/events' && asksForClaim(query);
  return claims ? [scope, 'runs:control'] : [scope];
}

/** The path segment that names the approval of a decision, as it was sent; undefined for other requests. */
export function decisionSegment({
  method,
  path,
}: Omit<ScopedRequest, 'query'>): string | undefined {
  return method === 'POST' ? DECISION.exec(path)?.[1] : undefined;
}

const asksForClaim = ({ claim }: ScopedRequest['query']): boolean =>
  [claim ?? []].flat().includes('true');

// The keys of a constant object are what its type says.
const MATCHERS = (Object.keys(ROUTE_SCOPES) as RouteName[]).map((name) => ({
  name,
  method: name.slice(0, name.indexOf(' ')),
  pattern: new RegExp(`^${pathOf(name).replaceAll(/:\w+/g, '[^/]+')}$`),
}));

const DECISION = /^\/v1\/approvals\/([^/]+)$/;
