import { type Command, InvalidArgumentError, Option } from 'commander';
import { flagsOf } from './flags.ts';
import type { PerformOperator } from './operators.ts';

const HELP = `
Without --url a server of this package is started and tested. A server of yours must have the kit's
agents first: --print-config DIR writes their configuration, and says how to start it.

Exit codes:
  0    every path passed; what was skipped is named
  1    a path failed
  2    wrong usage
  5    the server cannot be reached, or lacks the kit's agents
  130  interrupted (143: terminated)
`;

/** Adds the command that tests a server over HTTP. */
export function addConformanceCommand(program: Command, perform: PerformOperator): void {
  const command = program
    .command('conformance')
    .description('test a server over HTTP against what the charts promise')
    .addHelpText('after', HELP);
  for (const option of OPTIONS) command.addOption(option);
  const load = async () => (await import('./conformance.ts')).conformance;
  command.action(async () => perform(load, { args: [], flags: flagsOf(command) }));
}

const OPTIONS: readonly Option[] = [
  new Option('--url <url>', 'server to test (default: one that is started for it)'),
  new Option('--api-key-file <path>', 'file that holds the API key (env: RUNWARDEN_API_KEY)'),
  new Option('--serve', 'test a server of this package, as without --url'),
  new Option('--only <features>', 'only these features, with commas between').argParser(
    (value: string, before: string | undefined) =>
      before === undefined ? value : `${before},${value}`,
  ),
  new Option('--json <file>', 'write the report as JSON too; "-" is the output'),
  new Option('--print-config [folder]', 'write the configuration of a server to test'),
  new Option('--model-port <port>', 'port of the scripted model').argParser(port),
  new Option('--mcp-port <port>', 'port of the scripted MCP server and webhook').argParser(port),
  // Known so that it is refused without being shown.
  new Option('--api-key [key]').hideHelp(),
];

/** The port as it was typed, once it is one. */
function port(text: string): string {
  if (/^\d{1,5}$/.test(text) && Number(text) <= 65_535) return text;
  throw new InvalidArgumentError('It is a port from 0 to 65535.');
}
