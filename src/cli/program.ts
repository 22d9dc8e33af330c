import { Command, CommanderError } from 'commander';
import { packageVersion } from '../config/version.ts';
import { EXIT } from './client/exit-codes.ts';
import { addConformanceCommand } from './conformance-command.ts';
import { addConfigOptions, type CliFlags, CONFIG_NOTE, flagsOf } from './flags.ts';
import type { CliIo } from './io.ts';
import { addOperatorCommands, type PerformOperator } from './operators.ts';

type Action = (flags: CliFlags, io: CliIo) => Promise<number>;

/** Runs one command line and gives its exit code. Never rejects for what a person may type. */
export async function runCli(argv: readonly string[], io: CliIo): Promise<number> {
  let exitCode = 0;
  const program = createProgram(io, async (action, flags) => {
    exitCode = await action(flags, io);
  });
  const perform: PerformOperator = async (load, typed) => {
    const [{ runOperator }, action] = await Promise.all([import('./operator.ts'), load()]);
    exitCode = await runOperator(action, typed, io);
  };
  addOperatorCommands(program, perform);
  addConformanceCommand(program, perform);
  try {
    await program.parseAsync([...argv], { from: 'user' });
    return exitCode;
  } catch (error) {
    // The message was printed by commander; help and version end this way too, with 0.
    if (error instanceof CommanderError) return error.exitCode === 0 ? EXIT.done : EXIT.usage;
    throw error;
  }
}

type Perform = (action: Action, flags: CliFlags) => Promise<void>;

/** Each command's code is loaded when it is called. */
function createProgram(io: CliIo, perform: Perform): Command {
  const program = new Command('runwarden')
    .description('Supervises LLM-agent runs and serves them to OpenAI-compatible chat clients.')
    .version(packageVersion(), '-V, --version')
    .exitOverride()
    .configureOutput({ writeOut: (text) => io.out(text), writeErr: (text) => io.err(text) });
  const add = (name: string, spec: CommandSpec) => addCommand(program, { name, ...spec }, perform);
  add('serve', {
    description: 'serve the configured agents',
    load: async () => (await import('./serve.ts')).serve,
  });
  add('check-config', {
    description: 'check the configuration and say what it comes to',
    load: async () => (await import('./check-config.ts')).checkConfig,
  });
  add('demo', {
    description: 'serve demo agents; needs no configuration and no key',
    configNote: 'replaces the demo agents',
    load: async () => (await import('./demo.ts')).demo,
  });
  return program;
}

interface CommandSpec {
  readonly description: string;
  readonly configNote?: string;
  load(): Promise<Action>;
}

function addCommand(
  program: Command,
  { name, description, load, configNote = CONFIG_NOTE }: CommandSpec & { name: string },
  perform: Perform,
): void {
  const command = program.command(name).description(description);
  addConfigOptions(command, configNote);
  command.action(async () => perform(await load(), flagsOf(command)));
}
