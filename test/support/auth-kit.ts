import { createHash } from 'node:crypto';
import type Koa from 'koa';
import type { AuthConfig, AuthKeyConfig, AuthScope } from '../../src/auth.ts';
import type { SupervisorHandle, TenantLimits } from '../../src/handle.ts';
import { createApp } from '../../src/http/app.ts';
import { createChatRoutes } from '../../src/http/chat/routes.ts';
import type { HttpConfig } from '../../src/http/config.ts';
import { listen } from '../../src/http/server.ts';
import { SsePool } from '../../src/http/sse-pool.ts';
import { randomIds } from '../../src/ids.ts';
import type { Redact } from '../../src/redact-secrets.ts';
import { createVirtualClock, type VirtualClock } from '../../src/testing/virtual-clock.ts';
import { FakeHandle } from './fake-handle.ts';
import { HTTP_CONFIG } from './http-world.ts';
import { type Answer, type Asked, ask } from './raw-client.ts';

const SCOPES: readonly AuthScope[] = [
  'chat',
  'runs:read',
  'runs:control',
  'approvals:decide',
  'admin',
];

/** The key itself: what a client sends. */
export const secretOf = (name: string): string => `rw-${name}-0123456789abcdef`;

export function authKey(name: string, tenant: string, scopes: readonly AuthScope[]): AuthKeyConfig {
  const hash = createHash('sha256').update(secretOf(name)).digest('hex');
  return { name, hash, tenant, scopes };
}

/** Keys `acme-chat`, `acme-admin`, …, one a scope, and the same for `globex`; and one with two. */
const KEYS = [
  ...['acme', 'globex'].flatMap((tenant) =>
    SCOPES.map((scope) => authKey(`${tenant}-${scope}`, tenant, [scope])),
  ),
  authKey('acme-reader-controller', 'acme', ['runs:read', 'runs:control']),
];

export const AUTH: AuthConfig = {
  keys: KEYS,
  tenants: { liveRunsMax: 3, requestsPerMinuteMax: 0, storedBytesMax: 1_000 },
};

export const bearer = (name: string): Record<string, string> => ({
  Authorization: `Bearer ${secretOf(name)}`,
});

/** A supervisor whose tenants have nothing in common; `views` has the one of each. */
export class TenantsHandle extends FakeHandle {
  readonly views = new Map<string, FakeHandle>();
  /** What the views were asked for with. */
  readonly limits: TenantLimits[] = [];

  override forTenant(limits: TenantLimits): SupervisorHandle {
    const view = new FakeHandle();
    this.limits.push(limits);
    this.views.set(limits.tenant, view);
    return view;
  }

  view(tenant: string): FakeHandle {
    const found = this.views.get(tenant);
    if (found === undefined) throw new Error(`Nobody asked for the view of ${tenant}.`);
    return found;
  }
}

export interface AuthWorld {
  readonly handle: TenantsHandle;
  readonly clock: VirtualClock;
  /** Every line of the log, as one text. */
  readonly logged: () => string;
  ask(asked: Omit<Asked, 'port'>): Promise<Answer>;
  readonly port: number;
  close(): Promise<void>;
}

export interface AuthWorldOptions {
  readonly config?: Partial<HttpConfig>;
  /** Asks nobody for a key. */
  readonly open?: boolean;
  /** Instead of the real route. */
  readonly chat?: Koa.Middleware;
  readonly redact?: Redact;
}

/** A listening server that asks for the keys of {@link AUTH}. */
export async function authWorld(options: AuthWorldOptions = {}): Promise<AuthWorld> {
  const { config: change = {}, open = false, redact } = options;
  const config = { ...HTTP_CONFIG, ...(open ? {} : { auth: AUTH }), ...change };
  const handle = new TenantsHandle();
  const clock = createVirtualClock(1_700_000_000_000);
  const pool = new SsePool({ streamsMax: 100 });
  const lines: string[] = [];
  const keep = (fields: object, message: string) => {
    lines.push(JSON.stringify({ ...fields, message }));
  };
  const log = { debug: keep, info: keep, warn: keep, error: keep };
  const deps = { handle, config, log, clock, ids: randomIds, pool };
  const chat = options.chat ?? createChatRoutes(deps);
  const app = createApp({ ...deps, chat, ...(redact === undefined ? {} : { redact }) });
  const server = await listen(app, { host: '127.0.0.1', port: 0 }, clock);
  const { port } = server;
  return {
    handle,
    clock,
    port,
    logged: () => lines.join('\n'),
    ask: (asked) => ask({ ...asked, port }),
    close: () => server.close(),
  };
}

export const errorOf = ({ text }: Answer): Record<string, unknown> => JSON.parse(text).error;
