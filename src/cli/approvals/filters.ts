import type { Query } from '../client/client.ts';
import { wrongUsage } from '../client/errors.ts';
import { argument, type OperatorCall, option } from '../operator.ts';

/** The filters that were typed, as the server takes them; what waits, unless told otherwise. */
export function filtersOf(call: OperatorCall): Query {
  const state = option(call, 'state') ?? 'pending';
  return {
    state: state === 'all' ? undefined : state,
    agent: option(call, 'agent'),
    session_id: option(call, 'session'),
    run_id: option(call, 'run'),
    tool_name: option(call, 'tool'),
    origin: option(call, 'origin'),
  };
}

/** Whether only what waits is asked for. */
export const asksForPending = (call: OperatorCall): boolean =>
  (option(call, 'state') ?? 'pending') === 'pending';

/** What to do about an approval that is not there. */
export const APPROVAL_MISSING =
  'Approvals leave the inbox when their run has ended: "runwarden explain RUN_ID" tells then what ' +
  'became of them, and "runwarden runs watch RUN_ID" prints each entry.';

const UUID = /^[\da-f]{8}(?:-[\da-f]{4}){3}-[\da-f]{12}$/i;

/** The approval that was typed. Throws wrong usage for what is no id of one. */
export function approvalIdOf(call: OperatorCall): string {
  const id = argument(call);
  if (UUID.test(id)) return id;
  throw wrongUsage('An approval is named by its UUID; "runwarden approvals list" lists them.');
}
