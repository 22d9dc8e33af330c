import { type ChildProcess, spawn } from 'node:child_process';
import { getDefaultEnvironment } from '@modelcontextprotocol/sdk/client/stdio.js';
import type { Transport } from '@modelcontextprotocol/sdk/shared/transport.js';
import { type JSONRPCMessage, JSONRPCMessageSchema } from '@modelcontextprotocol/sdk/types.js';
import type { McpDeps } from './deps.ts';
import {
  describeSpawnError,
  McpConnectionError,
  OversizedMessageError,
  ProcessGoneError,
} from './failures.ts';
import { LineSplitter, LineTooLongError } from './line-splitter.ts';
import { ProcessGroup } from './process-group.ts';
import type { Redact } from './redact.ts';
import type { StdioServerConfig } from './server-config.ts';
import { logStderr } from './stderr-log.ts';

/**
 * MCP over the standard streams of a child process. The SDK's own transport ends the child alone;
 * this one gives it a process group, so that what the child started goes with it.
 */
export class StdioTransport implements Transport {
  onclose?: () => void;
  onerror?: (error: Error) => void;
  onmessage?: Transport['onmessage'];
  readonly #config: StdioServerConfig;
  readonly #redact: Redact;
  readonly #deps: McpDeps;
  readonly #lines: LineSplitter;
  #child: ChildProcess | undefined;
  #group: ProcessGroup | undefined;
  #closed = false;

  constructor(config: StdioServerConfig, redact: Redact, deps: McpDeps) {
    this.#config = config;
    this.#redact = redact;
    this.#deps = deps;
    this.#lines = new LineSplitter(deps.limits.messageBytesMax);
  }

  /** Resolves when the process runs. Rejects with {@link McpConnectionError} when it cannot. */
  start(): Promise<void> {
    const [command = '', ...first] = this.#config.cmd;
    if (command === '') {
      throw new McpConnectionError('`cmd` of this server is empty; name the executable first');
    }
    const child = spawn(command, [...first, ...this.#config.args], {
      env: { ...getDefaultEnvironment(), ...this.#config.env },
      stdio: ['pipe', 'pipe', 'pipe'],
      detached: true,
      windowsHide: true,
    });
    this.#child = child;
    this.#group = new ProcessGroup(child, this.#deps.clock);
    this.#listen(child);
    return new Promise((resolve, reject) => {
      child.once('spawn', resolve);
      child.once('error', (error) => {
        const reason = describeSpawnError(error, command);
        reject(new McpConnectionError(reason, { cause: error }));
      });
    });
  }

  /**
   * Resolves when the message is in the pipe, not when it is in a buffer of ours. Rejects with
   * {@link ProcessGoneError} when the process had ended before the whole line was in the pipe.
   */
  send(message: JSONRPCMessage): Promise<void> {
    // Node destroys the input of a child whose end it has seen.
    const stdin = this.#child?.stdin;
    if (this.#closed || !stdin?.writable) return Promise.reject(new ProcessGoneError());
    if (stdin.writableLength > this.#deps.limits.writeBufferBytesMax) {
      return Promise.reject(new McpConnectionError('the server does not read what it is sent'));
    }
    return new Promise((resolve, reject) => {
      stdin.write(`${JSON.stringify(message)}\n`, (error) => {
        if (error) reject(hasNoReader(error) ? new ProcessGoneError({ cause: error }) : error);
        else resolve();
      });
    });
  }

  /** Settles when the group is gone, or when all that could be done was done. */
  async close(): Promise<void> {
    this.#announceClose();
    await this.#group?.end(this.#deps.limits);
  }

  /** Ends the group at once, without waiting: the last resort. */
  kill(): void {
    this.#announceClose();
    this.#group?.kill();
  }

  #listen(child: ChildProcess): void {
    child.stdout?.on('data', (chunk: Buffer) => this.#read(chunk));
    child.stdout?.on('error', (error) => this.onerror?.(error));
    child.stdin?.on('error', (error) => this.onerror?.(error));
    child.on('error', (error) => this.onerror?.(error));
    if (child.stderr !== null) {
      logStderr(child.stderr, this.#deps, {
        serverName: this.#config.name,
        redact: this.#redact,
      });
    }
    // `close` comes after the last output; `exit` may come before the last answer was read.
    child.once('close', () => this.#announceClose());
    // A server that cannot be told anything any more is of no use, even if it lives.
    child.stdin?.once('close', () => void this.#group?.end(this.#deps.limits));
    // Descendants that keep the pipes open would hold `close` back, so they are ended with it.
    child.once('exit', () => void this.#group?.end(this.#deps.limits));
  }

  #read(chunk: Buffer): void {
    try {
      this.#lines.push(chunk, (line) => this.#receive(line));
    } catch (error) {
      const isTooLong = error instanceof LineTooLongError;
      const { messageBytesMax } = this.#deps.limits;
      this.onerror?.(isTooLong ? new OversizedMessageError(messageBytesMax) : (error as Error));
      void this.close();
    }
  }

  #receive(line: string): void {
    if (this.#closed || line.trim() === '') return;
    let message: JSONRPCMessage;
    try {
      message = JSONRPCMessageSchema.parse(JSON.parse(line));
    } catch (error) {
      this.onerror?.(error as Error);
      return;
    }
    this.onmessage?.(message);
  }

  #announceClose(): void {
    if (this.#closed) return;
    this.#closed = true;
    this.onclose?.();
  }
}

/**
 * Whether the system refused a write because nobody can read it. Its last byte, the line break that
 * makes it a message, was not taken then. A stream that was destroyed may have taken it all.
 */
const hasNoReader = (error: NodeJS.ErrnoException): boolean =>
  error.code === 'EPIPE' || error.code === 'ECONNRESET';
