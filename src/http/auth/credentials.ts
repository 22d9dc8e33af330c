import type { IncomingMessage } from 'node:http';

/** A key as a request brings it, and the header that it stands in. */
export interface Credential {
  readonly secret: string;
  readonly header: 'authorization' | 'x-api-key';
}

const BEARER = /^bearer +(\S+) *$/i;

/**
 * What may be a key of ours, in the order in which it counts: a bearer token, then `X-Api-Key`.
 * The URL is never looked at: it ends up in histories and in the logs of proxies.
 */
export function credentialsIn({ headers }: IncomingMessage): readonly Credential[] {
  const found: Credential[] = [];
  const bearer = BEARER.exec(headers.authorization ?? '')?.[1];
  if (bearer !== undefined) found.push({ secret: bearer, header: 'authorization' });
  const plain = headers['x-api-key'];
  if (typeof plain === 'string') found.push({ secret: plain, header: 'x-api-key' });
  return found;
}

/**
 * Takes a key that was right out of its request. Headers travel on, to MCP servers that are told
 * to have some of them, and a key of ours is for nobody else, in whatever header it stands.
 */
export function withdraw({ headers }: IncomingMessage, { secret }: Credential): void {
  for (const [name, value] of Object.entries(headers)) {
    if ([value ?? []].flat().some((text) => text.includes(secret))) delete headers[name];
  }
}
