/** The most records that the server gives at once. */
export const PAGE_RECORDS_MAX = 200;
