import { runMachine } from '../../machines/run.machine.ts';
import { toolCallMachine } from '../../machines/tool-call.machine.ts';
import { turnMachine } from '../../machines/turn.machine.ts';
import type { Journal } from '../journal/journal.ts';
import { closeWorkPort } from './close-work.ts';
import { awaitStopNoticePort, awaitToolStopPort, executeToolPort } from './execute-tool.ts';
import { prepareRunPort } from './prepare-run.ts';
import { releaseRunPort } from './release-run.ts';
import { settleRunPort } from './settle-run.ts';
import { type StreamTurnDeps, streamTurnPort } from './stream-turn.ts';
import { watchDeadlinePort } from './watch-deadline.ts';

export interface RunPortDeps extends StreamTurnDeps {
  readonly journal: Journal;
}

/** The run chart with every port it and its children name. */
export function provideRunPorts(deps: RunPortDeps) {
  const { scopes } = deps;
  const watchDeadline = watchDeadlinePort(scopes);
  const turn = turnMachine.provide({
    actors: { streamTurn: streamTurnPort(deps), watchDeadline },
  });
  const toolCall = toolCallMachine.provide({
    actors: {
      executeTool: executeToolPort(scopes),
      awaitToolStop: awaitToolStopPort(scopes),
      awaitStopNotice: awaitStopNoticePort(scopes),
    },
  });
  return runMachine.provide({
    actors: {
      turn,
      toolCall,
      watchDeadline,
      prepareRun: prepareRunPort(scopes),
      closeWork: closeWorkPort(scopes),
      settleRun: settleRunPort(scopes, deps.journal),
      releaseRun: releaseRunPort(scopes),
    },
  });
}
