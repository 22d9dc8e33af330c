/** What to do about a session that is not there. */
export const SESSION_MISSING = 'See the sessions by "runwarden sessions ls".';
