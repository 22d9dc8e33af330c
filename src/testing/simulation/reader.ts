import type { IncomingMessage } from 'node:http';
import { createParser } from 'eventsource-parser';
import type { MemorySocket } from './memory-socket.ts';
import { type Asked, send } from './request.ts';

/** What a reader reads: the entries of a run or a session, or the answer of a chat. */
export interface ReaderOf {
  readonly kind: 'run' | 'session' | 'chat';
  /** The run or the session; a chat's run is known when its headers are there. */
  id: string;
}

export interface SeenEntry {
  readonly seq: number;
  readonly json: string;
}

/**
 * A client that reads a stream, over as many connections as it takes.
 *
 * It keeps what it was given as it came, and goes on behind that when it comes back.
 */
export class SimReader {
  readonly of: ReaderOf;
  /** Entries, of a stream of entries. */
  readonly seen: SeenEntry[] = [];
  /** Data of frames without an id: those of a chat, gaps. */
  readonly unnumbered: string[] = [];
  /** The status of its last answer. */
  status: number | undefined;
  /** The server ended its stream in order. */
  complete = false;
  /** The server cut its stream, and the reader had not left. */
  wasCut = false;
  #socket: MemorySocket | undefined;
  #response: IncomingMessage | undefined;
  /** Connections that it ended itself. */
  readonly #left = new WeakSet<MemorySocket>();
  #isSlow = false;

  constructor(of: ReaderOf) {
    this.of = of;
  }

  get reading(): boolean {
    return this.#socket !== undefined;
  }

  /** Opens a connection's stream; `onHeaders` hears what it was answered. */
  open(socket: MemorySocket, asked: Asked, onHeaders?: (response: IncomingMessage) => void): void {
    this.#socket = socket;
    const lastEventId = this.seen.at(-1)?.seq;
    const headers = {
      ...asked.headers,
      ...(lastEventId !== undefined && { 'last-event-id': String(lastEventId) }),
    };
    const gone = (): void => {
      if (this.#socket === socket) this.#socket = undefined;
    };
    const answered = (response: IncomingMessage): void => {
      onHeaders?.(response);
      this.status = response.statusCode ?? 0;
      if (this.#socket === socket) this.#read(response);
      response.on('close', () => {
        this.wasCut = !this.#left.has(socket) && !response.complete;
        gone();
      });
    };
    send(socket, { ...asked, headers }, { answered, failed: gone });
  }

  leave(): void {
    const socket = this.#socket;
    this.#forget();
    socket?.destroy();
  }

  /** Its machine is gone, and nobody tells the server. */
  vanish(): void {
    this.#response?.removeAllListeners('data');
    this.#response?.pause();
    this.#socket?.vanish();
    this.#forget();
  }

  stopReading(): void {
    this.#isSlow = true;
    this.#response?.pause();
  }

  readOn(): void {
    this.#isSlow = false;
    this.#response?.resume();
  }

  #forget(): void {
    if (this.#socket !== undefined) this.#left.add(this.#socket);
    this.#socket = undefined;
    this.#response = undefined;
  }

  #read(response: IncomingMessage): void {
    this.#response = response;
    const parser = createParser({ onEvent: ({ id, data }) => this.#event(id, data) });
    response.setEncoding('utf8');
    response.on('data', (part: string) => parser.feed(part));
    response.on('end', () => {
      this.complete = true;
    });
    response.on('error', () => {});
    if (this.#isSlow) response.pause();
  }

  #event(id: string | undefined, data: string): void {
    if (id === undefined) this.unnumbered.push(data);
    else this.seen.push({ seq: Number(id), json: data });
  }
}
