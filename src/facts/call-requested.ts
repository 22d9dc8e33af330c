import type { CallRecord, RunScope } from '../ports/run-scope.ts';
import { parseArguments } from '../ports/parse-arguments.ts';

/** Tells that the model asked for a call; a resumed run tells it again of those it goes on with. */
export function tellCallRequested(scope: RunScope, { call, client }: CallRecord): void {
  scope.journal.append('agent', {
    type: 'tool_requested',
    tool_id: call.id,
    tool_name: call.name,
    arguments: parseArguments(call.argumentsText) ?? {},
    arguments_text: call.argumentsText,
    ...(client && { client }),
  });
}
