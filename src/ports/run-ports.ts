import type { AnyStateMachine } from 'xstate';
import { approvalMachine } from '../../machines/approval.machine.ts';
import { claimsMachine } from '../../machines/claims.machine.ts';
import { runMachine } from '../../machines/run.machine.ts';
import { toolCallMachine } from '../../machines/tool-call.machine.ts';
import { turnMachine } from '../../machines/turn.machine.ts';
import type { Journal } from '../journal/journal.ts';
import { type GuardNotes, watchGuards } from '../transitions/guard-notes.ts';
import { postApprovalPort, withdrawApprovalPort } from './ask-webhook.ts';
import { closeWorkPort } from './close-work.ts';
import { awaitStopNoticePort, awaitToolStopPort, executeToolPort } from './execute-tool.ts';
import { prepareRunPort } from './prepare-run.ts';
import { releaseRunPort } from './release-run.ts';
import { settleRunPort } from './settle-run.ts';
import { type StreamTurnDeps, streamTurnPort } from './stream-turn.ts';
import { watchDeadlinePort } from './watch-deadline.ts';

export interface RunPortDeps extends StreamTurnDeps {
  readonly journal: Journal;
  /** Where the charts' guards note that they said no. */
  readonly guardNotes: GuardNotes;
}

/** The run chart with every port it and its children name. */
export function provideRunPorts(deps: RunPortDeps) {
  const { scopes } = deps;
  const watchDeadline = watchDeadlinePort(scopes);
  const watch = <Machine extends AnyStateMachine>(machine: Machine) =>
    watchGuards(machine, deps.guardNotes);
  const turn = watch(turnMachine).provide({
    actors: { streamTurn: streamTurnPort(deps), watchDeadline },
  });
  const toolCall = watch(toolCallMachine).provide({
    actors: {
      approval: watch(approvalMachine).provide({
        actors: { postApproval: postApprovalPort(scopes, deps.random) },
      }),
      withdrawApproval: withdrawApprovalPort(scopes),
      executeTool: executeToolPort(scopes, deps.ids),
      awaitToolStop: awaitToolStopPort(scopes),
      awaitStopNotice: awaitStopNoticePort(scopes),
    },
  });
  return watch(runMachine).provide({
    actors: {
      claims: watch(claimsMachine),
      turn,
      toolCall,
      watchDeadline,
      prepareRun: prepareRunPort(scopes, deps.journal.index),
      closeWork: closeWorkPort(scopes),
      settleRun: settleRunPort(scopes, deps.journal),
      releaseRun: releaseRunPort(scopes),
    },
  });
}
