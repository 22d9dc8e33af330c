import { Command, CommanderError } from 'commander';
import { packageVersion } from '../config/version.ts';
import { addConfigOptions, type CliFlags, flagsOf } from './flags.ts';
import type { CliIo } from './io.ts';

type Action = (flags: CliFlags, io: CliIo) => Promise<number>;

/** Runs one command line and gives its exit code. Never rejects for what a person may type. */
export async function runCli(argv: readonly string[], io: CliIo): Promise<number> {
  let exitCode = 0;
  const program = createProgram(io, async (action, flags) => {
    exitCode = await action(flags, io);
  });
  try {
    await program.parseAsync([...argv], { from: 'user' });
    return exitCode;
  } catch (error) {
    // The message was printed by commander; help and version end this way too, with 0.
    if (error instanceof CommanderError) return error.exitCode;
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
  addCommand(program, 'serve', 'serve the configured agents', perform, async () => {
    const { serve } = await import('./serve.ts');
    return serve;
  });
  addCommand(
    program,
    'check-config',
    'check the configuration and say what it comes to',
    perform,
    async () => {
      const { checkConfig } = await import('./check-config.ts');
      return checkConfig;
    },
  );
  addCommand(
    program,
    'demo',
    'serve a demo agent; needs no configuration and no key',
    perform,
    async () => {
      const { demo } = await import('./demo.ts');
      return demo;
    },
  );
  return program;
}

function addCommand(
  program: Command,
  name: string,
  description: string,
  perform: Perform,
  load: () => Promise<Action>,
): void {
  const command = program.command(name).description(description);
  addConfigOptions(command);
  command.action(async () => perform(await load(), flagsOf(command)));
}
