/** What to do about a run that is not there. */
export const RUN_MISSING = 'See the runs by "runwarden runs ls".';
