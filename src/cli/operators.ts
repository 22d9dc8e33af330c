import { type Command, InvalidArgumentError, Option } from 'commander';
import { EXIT_HELP } from './client/exit-codes.ts';
import { PAGE_RECORDS_MAX } from './client/limits.ts';
import { flagsOf } from './flags.ts';
import type { OperatorAction, Typed } from './operator.ts';

/** Runs a command that was typed; its code is loaded by `load`. */
export type PerformOperator = (load: () => Promise<OperatorAction>, typed: Typed) => Promise<void>;

interface OperatorSpec {
  readonly name: string;
  /** Another name that is taken as well. */
  readonly alias?: string;
  readonly description: string;
  readonly argument?: string;
  readonly options?: readonly Option[];
  load(): Promise<OperatorAction>;
}

interface GroupSpec {
  readonly name: string;
  readonly description: string;
  readonly commands: readonly OperatorSpec[];
}

/** Adds the commands that look after the runs of a server. */
export function addOperatorCommands(program: Command, perform: PerformOperator): void {
  for (const { name, description, commands } of GROUPS) {
    const group = program.command(name).description(description).addHelpText('after', EXIT_HELP);
    for (const spec of commands) addOperator(group, spec, perform);
  }
  addOperator(program, EXPLAIN, perform);
}

function addOperator(
  parent: Command,
  { name, alias, description, argument, options = [], load }: OperatorSpec,
  perform: PerformOperator,
): void {
  const command = parent.command(name).description(description).addHelpText('after', EXIT_HELP);
  if (alias !== undefined) command.alias(alias);
  if (argument !== undefined) command.argument(`<${argument}>`);
  for (const option of [...options, ...COMMON]) command.addOption(option);
  command.action(async () => perform(load, { args: command.args, flags: flagsOf(command) }));
}

const COMMON: readonly Option[] = [
  new Option('--url <url>', 'server (env: RUNWARDEN_URL, default: http://127.0.0.1:8080)'),
  new Option('--api-key-file <path>', 'file that holds the API key (env: RUNWARDEN_API_KEY)'),
  new Option('--json', 'print what the server sent, for programs'),
  // Known so that it is refused without being shown.
  new Option('--api-key [key]').hideHelp(),
];

const PAGE: readonly Option[] = [
  new Option('--limit <count>', `records at once, 1 to ${PAGE_RECORDS_MAX}`).argParser(
    wholeNumber(1, PAGE_RECORDS_MAX),
  ),
  new Option('--all', 'all records, however many pages they are'),
];

const STATES = [
  'queued',
  'preparing',
  'running',
  'waiting',
  'stopping',
  'finished',
  'cancelled',
  'failed',
  'parked',
];

const WATCH: readonly Option[] = [
  new Option('--from <seq>', 'begin at this entry').argParser(wholeNumber(0, 999_999_999_999_999)),
  new Option('--lifecycle', 'only what befalls the run, not what its agent does'),
];

const REASON = [new Option('--reason <text>', 'kept in the journal and told to the model')];

const FOR_SESSION =
  'approve also later calls of this tool by this agent in this session that the same rule or pattern ' +
  'holds back, with any arguments';

const SIGNS = 'signed where AURA_HITL_WEBHOOK_SECRET is set';

const APPROVALS: readonly Option[] = [
  new Option(
    '--state <state>',
    'only approvals in this state, or "all" (default: pending)',
  ).choices(['pending', 'approved', 'denied', 'timed_out', 'cancelled', 'errored', 'all']),
  new Option('--agent <agent>', 'only approvals of this agent'),
  new Option('--session <id>', 'only approvals of this session'),
  new Option('--run <id>', 'only approvals of this run'),
  new Option('--tool <name>', 'only approvals of this tool'),
  new Option('--origin <origin>', 'only approvals that were asked for by this').choices([
    'config_gate',
    'agent_requested',
    'elicitation',
  ]),
];

const GROUPS: readonly GroupSpec[] = [
  {
    name: 'runs',
    description: 'list, show, watch, cancel, park and resume the runs of a server',
    commands: [
      {
        name: 'ls',
        description: 'list the runs, newest first',
        options: [
          new Option('--state <state>', 'only runs in this state').choices(STATES),
          new Option('--session <id>', 'only runs of this session'),
          new Option('--agent <agent>', 'only runs of this agent'),
          ...PAGE,
        ],
        load: async () => (await import('./runs/ls.ts')).listRuns,
      },
      {
        name: 'show',
        description: 'show the record of a run',
        argument: 'run',
        load: async () => (await import('./runs/show.ts')).showRun,
      },
      {
        name: 'watch',
        description: 'print the entries of a run as they come; leaving it changes nothing',
        argument: 'run',
        options: WATCH,
        load: async () => (await import('./runs/watch.ts')).watchRun,
      },
      {
        name: 'cancel',
        description: 'stop a run',
        argument: 'run',
        options: [
          new Option('--message <text>', 'why; kept in the journal'),
          new Option('--wait', 'until the run has ended'),
        ],
        load: async () => (await import('./runs/cancel.ts')).cancelRun,
      },
      {
        name: 'park',
        description: 'end a run resumable, at its next checkpoint',
        argument: 'run',
        load: async () => (await import('./runs/park.ts')).parkRun,
      },
      {
        name: 'resume',
        description: 'start a run that goes on with a parked one',
        argument: 'run',
        load: async () => (await import('./runs/resume.ts')).resumeRun,
      },
    ],
  },
  {
    name: 'approvals',
    description: 'list, watch, show and decide what waits for a person',
    commands: [
      {
        name: 'list',
        alias: 'ls',
        description: 'list the approvals, newest first; those that wait, unless told otherwise',
        options: [...APPROVALS, ...PAGE],
        load: async () => (await import('./approvals/list.ts')).listApprovals,
      },
      {
        name: 'watch',
        description: 'print the approvals as they are asked for and decided',
        options: APPROVALS,
        load: async () => (await import('./approvals/watch.ts')).watchApprovals,
      },
      {
        name: 'show',
        description: 'show an approval with all that a person has to know',
        argument: 'approval',
        load: async () => (await import('./approvals/show.ts')).showApproval,
      },
      {
        name: 'approve',
        description: `let the tool call go on; ${SIGNS}`,
        argument: 'approval',
        options: [
          ...REASON,
          new Option('--arguments <json>', 'call the tool with this object instead'),
          new Option('--for-session', FOR_SESSION),
          new Option('--content <json>', 'answer a question of a server with this object'),
        ],
        load: async () => (await import('./approvals/approve.ts')).approve,
      },
      {
        name: 'deny',
        description: `refuse the tool call, which the model is told; ${SIGNS}`,
        argument: 'approval',
        options: REASON,
        load: async () => (await import('./approvals/deny.ts')).deny,
      },
    ],
  },
  {
    name: 'sessions',
    description: 'list, show and watch the sessions of a server',
    commands: [
      {
        name: 'ls',
        description: 'list the sessions, newest first',
        options: PAGE,
        load: async () => (await import('./sessions/ls.ts')).listSessions,
      },
      {
        name: 'show',
        description: 'show the record of a session',
        argument: 'session',
        load: async () => (await import('./sessions/show.ts')).showSession,
      },
      {
        name: 'watch',
        description: 'print the entries of a session as they come, also those of later runs',
        argument: 'session',
        options: WATCH,
        load: async () => (await import('./sessions/watch.ts')).watchSession,
      },
    ],
  },
];

const EXPLAIN: OperatorSpec = {
  name: 'explain',
  description: 'say why a run is in the state it is in',
  argument: 'run',
  load: async () => (await import('./explain.ts')).explain,
};

/** The number as it was typed, once it is one of the range. */
function wholeNumber(least: number, most: number): (text: string) => string {
  return (text) => {
    const isRight = /^\d{1,15}$/.test(text) && Number(text) >= least && Number(text) <= most;
    if (isRight) return text;
    throw new InvalidArgumentError(`It is a whole number from ${least} to ${most}.`);
  };
}
