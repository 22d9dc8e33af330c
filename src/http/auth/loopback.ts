import { isIPv6 } from 'node:net';

/** Addresses of IPv4's loopback network as IPv6 writes them. */
const MAPPED_LOOPBACK = /^\[::ffff:7f[\da-f]{2}:[\da-f]{1,4}\]$/;

/** Whether a host, by name or by address in any of its spellings, is this machine alone. */
export function isLoopback(host: string): boolean {
  const bare = host.replaceAll(/^\[|\]$/g, '');
  const name = plainHost(isIPv6(bare) ? `[${bare}]` : bare);
  if (name === undefined) return false;
  if (name.startsWith('[')) return name === '[::1]' || MAPPED_LOOPBACK.test(name);
  return /^127(?:\.\d+){3}$/.test(name) || name === 'localhost' || name.endsWith('.localhost');
}

/**
 * The host name of an authority (`Host` header, or what follows `//` in an origin), in lower case,
 * without its port and without the dot that may close it; undefined when it is none.
 */
export function plainHost(authority: string): string | undefined {
  // What stands before an `@` would not be part of the name.
  const hostname = authority.includes('@') ? undefined : URL.parse(`http://${authority}`)?.hostname;
  return hostname === undefined ? undefined : hostname.replace(/\.$/, '');
}
