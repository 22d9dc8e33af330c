import { ServerClient } from './client/client.ts';
import { OperatorError } from './client/errors.ts';
import { EXIT, type ExitCode } from './client/exit-codes.ts';
import { type Target, targetOf } from './client/target.ts';
import type { CliFlags } from './flags.ts';
import type { CliIo, StopSignal } from './io.ts';
import { plain, plainJson } from './print/plain.ts';

/** One command of an operator as it was called. */
export interface OperatorCall {
  readonly client: ServerClient;
  readonly io: CliIo;
  /** What stands after the command; the program has counted it. */
  readonly args: readonly string[];
  readonly flags: CliFlags;
  /** For a program: what the server sent, instead of text. */
  readonly json: boolean;
  /** Aborts when the command is interrupted, or when nobody reads its output any more. */
  readonly signal: AbortSignal;
}

/** Resolves when all is printed. Rejects with {@link OperatorError}. */
export type OperatorAction = (call: OperatorCall) => Promise<void>;

export interface Typed {
  readonly args: readonly string[];
  readonly flags: CliFlags;
}

/** Runs a command against its server and gives its exit code; its error is told on `err`. */
export async function runOperator(
  action: OperatorAction,
  { args, flags }: Typed,
  io: CliIo,
): Promise<number> {
  const stop = stopOf(io);
  let target: Target | undefined;
  try {
    target = targetOf(flags, io);
    const { signal } = stop;
    const client = new ServerClient(target, { ...io, signal });
    await action({ client, io, args, flags, json: flags['json'] === true, signal });
    return EXIT.done;
  } catch (error) {
    if (!(error instanceof OperatorError)) throw error;
    if (error.message !== '') io.err(`error: ${told(error.message, target)}\n`);
    return error.exitCode;
  } finally {
    stop.close();
  }
}

/** A server may say back what it was sent; the key is not shown all the same. */
function told(message: string, target: Target | undefined): string {
  const key = target?.key;
  return plain(key === undefined ? message : message.replaceAll(key, '[redacted]'));
}

/** Prints what the server sent. A terminal gets the same JSON without characters it would obey. */
export function printJson({ io }: Pick<OperatorCall, 'io'>, text: string): void {
  if (text === '') return;
  const shown = io.columns() === undefined ? text : plainJson(text);
  io.out(shown.endsWith('\n') ? shown : `${shown}\n`);
}

/** The argument at this place; the program refuses a command that lacks one. */
export const argument = ({ args }: Pick<OperatorCall, 'args'>, index = 0): string =>
  args[index] ?? '';

/** The value of an option that takes one. */
export function option({ flags }: Pick<OperatorCall, 'flags'>, name: string): string | undefined {
  const value = flags[name];
  return typeof value === 'string' ? value : undefined;
}

const quietly = (code: string, exitCode: ExitCode): OperatorError =>
  new OperatorError({ code, message: '', exitCode });

const ENDS: Readonly<Record<StopSignal, ExitCode>> = {
  SIGINT: EXIT.interrupted,
  SIGTERM: EXIT.terminated,
};

/** One signal for all that may end a command early. `close` gives the process's signals back. */
function stopOf({ signals, outClosed }: CliIo): { signal: AbortSignal; close: () => void } {
  const controller = new AbortController();
  const onInterrupt = (): void => controller.abort(quietly('interrupted', ENDS.SIGINT));
  const onTerminate = (): void => controller.abort(quietly('terminated', ENDS.SIGTERM));
  const onClosed = (): void => controller.abort(quietly('output_closed', EXIT.done));
  signals.on('SIGINT', onInterrupt);
  signals.on('SIGTERM', onTerminate);
  if (outClosed.aborted) onClosed();
  else outClosed.addEventListener('abort', onClosed, { once: true });
  return {
    signal: controller.signal,
    close: () => {
      signals.off('SIGINT', onInterrupt);
      signals.off('SIGTERM', onTerminate);
      outClosed.removeEventListener('abort', onClosed);
    },
  };
}
