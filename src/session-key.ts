/** Never in a session id of a caller: control characters are refused there. */
const SEPARATOR = '\u001f';

/**
 * Where a session is stored. The same id is another session for each tenant, and the sessions of one
 * tenant are a realm of the store. Without tenants the key is the id itself.
 */
export const sessionKey = (tenant: string, sessionId: string): string =>
  tenant === '' ? sessionId : `${tenant}${SEPARATOR}${sessionId}`;

/**
 * The realm of the store that the tenant's sessions are, and what its keys begin with. Without a
 * tenant `''`, which is a realm of its own and not all sessions.
 */
export const tenantRealm = (tenant: string): string =>
  tenant === '' ? '' : `${tenant}${SEPARATOR}`;

/** The session's id as its tenant knows it. */
export const publicSessionId = (key: string): string => key.slice(key.indexOf(SEPARATOR) + 1);

/** The tenant that the key is of; `''` where there are no tenants. */
export const tenantOfKey = (key: string): string =>
  key.slice(0, Math.max(0, key.indexOf(SEPARATOR)));
