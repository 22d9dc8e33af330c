/**
 * One execution of one tool, from its first to its last moment, which may lie after its tool call
 * has ended: a tool that ignores its signal goes on.
 */
export class Execution {
  readonly controller = new AbortController();
  /** Settles when the work has really ended. Never rejects. */
  readonly ended: Promise<void>;
  /** Settles when the executor was told to stop; rejects when it could not be told. */
  readonly noticed: Promise<void>;
  readonly #end: () => void;
  readonly #notice: PromiseWithResolvers<void>;

  constructor() {
    const end = Promise.withResolvers<void>();
    this.ended = end.promise;
    this.#end = end.resolve;
    this.#notice = Promise.withResolvers<void>();
    this.noticed = this.#notice.promise;
    this.noticed.catch(() => {}); // Nobody waits for it unless the run stops.
  }

  finish(): void {
    this.#end();
    // A tool that ended by itself needs no notice any more.
    this.#notice.resolve();
  }

  noticeSent({ confirmed }: { readonly confirmed: boolean }): void {
    if (confirmed) this.#notice.resolve();
    else this.#notice.reject(new Error('the notice could not be sent'));
  }
}
