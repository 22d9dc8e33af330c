import { createHash } from 'node:crypto';
import type { Asked, Exchange } from './system-client.ts';
import type { Api } from './api-kit.ts';

/** Tenants of a real server, each with a key that may do all and one for each scope. */

export const TENANTS = ['acme', 'globex'] as const;
export const SCOPES = ['chat', 'runs:read', 'runs:control', 'approvals:decide'] as const;

/** What a client of this name sends as its key. */
export const secretOf = (name: string): string => `rw-${name}-0123456789abcdef`;

export const bearer = (name: string): Record<string, string> => ({
  Authorization: `Bearer ${secretOf(name)}`,
});

const keyLines = (name: string, tenant: string, scope: string): string => `[[auth.keys]]
name = "${name}"
hash = "sha256:${createHash('sha256').update(secretOf(name)).digest('hex')}"
tenant = "${tenant}"
scopes = ["${scope}"]`;

/** `[auth]` with keys named by their tenant, and by tenant and scope. `limits` are lines. */
export function authToml(limits = ''): string {
  const keys = TENANTS.flatMap((tenant) => [
    keyLines(tenant, tenant, 'admin'),
    ...SCOPES.map((scope) => keyLines(`${tenant}-${scope}`, tenant, scope)),
  ]);
  return [`[auth]`, ...keys, `[auth.limits]`, limits, ''].join('\n');
}

/** The server as whoever has this key sees it. */
export function as(api: Api, name: string): Api {
  return {
    ask: (path: string, asked: Asked = {}): Exchange =>
      api.ask(path, { ...asked, headers: { ...asked.headers, ...bearer(name) } }),
  };
}
