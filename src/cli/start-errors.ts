import { accessSync, constants } from 'node:fs';
import { dirname } from 'node:path';
import type { Config } from '../config/config.ts';
import { errorCode } from '../config/sources.ts';
import { makeDirectory } from '../directories.ts';
import { SupervisorError } from '../errors.ts';

/**
 * Makes the data directory, or throws a {@link SupervisorError} that says why it cannot be used.
 * A journal in memory needs none.
 */
export function ensureDataDir({ journal, server }: Config): void {
  if (journal.store === 'memory') return;
  try {
    makeDirectory(server.dataDir);
    accessSync(server.dataDir, constants.W_OK | constants.X_OK);
  } catch (error) {
    const why = `The data directory ${server.dataDir} ${dataDirProblem(server.dataDir, error)}.`;
    const remedy = 'Choose another with --data-dir or RUNWARDEN_DATA_DIR.';
    throw new SupervisorError('data_dir_unusable', `${why} ${remedy}`, { cause: error });
  }
}

/** Goes on after the directory's name; the obstacle may lie above it. */
function dataDirProblem(dataDir: string, error: unknown): string {
  const code = errorCode(error);
  const at = error instanceof Error && 'path' in error ? String(error.path) : dataDir;
  if (code === 'ENOTDIR') {
    const what = `${at} is a file, not a directory`;
    return at === dataDir ? 'is a file, not a directory' : `cannot be made: ${what}`;
  }
  if (code === 'ENOENT') return `cannot be made: ${dirname(at)} takes no new directory`;
  return at === dataDir ? `cannot be written (${code})` : `cannot be made at ${at} (${code})`;
}

/** One clear sentence, or two, for an error that kept the server from starting. */
export function startFailure(error: unknown, { server }: Config): string {
  const address = `${server.host}:${server.port}`;
  switch (codes(error).find((code) => LISTEN_CODES.has(code))) {
    case 'EADDRINUSE':
      return `The address ${address} is already in use. Stop what uses it or choose another port with --port.`;
    case 'EACCES':
      return `This user may not listen on ${address}. Choose a port above 1023 with --port.`;
    case 'EADDRNOTAVAIL':
    case 'ENOTFOUND':
      return `This machine has no address "${server.host}". Choose another with --host.`;
    default:
      return plainMessage(error);
  }
}

const LISTEN_CODES: ReadonlySet<string> = new Set([
  'EADDRINUSE',
  'EACCES',
  'EADDRNOTAVAIL',
  'ENOTFOUND',
]);

/** The codes of an error and its causes, as far as listening and resolving go. */
function codes(error: unknown): string[] {
  if (!(error instanceof Error)) return [];
  const syscall = 'syscall' in error ? error.syscall : undefined;
  const own = syscall === 'listen' || syscall === 'getaddrinfo' ? [errorCode(error)] : [];
  return [...own, ...codes(error.cause)];
}

function plainMessage(error: unknown): string {
  if (error instanceof SupervisorError) return error.message;
  const [sentence = ''] = String(error instanceof Error ? error.message : error).split('\n');
  return `The server could not start: ${sentence}`;
}
