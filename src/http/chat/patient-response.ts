import type Koa from 'koa';
import type { Clock, TimerHandle } from '../../clock.ts';

/** Clients give up on a response without headers after 300 s and send the request again. */
const HEADERS_AFTER_MS = 60_000;

/** They do the same for a body that is silent; white space before JSON means nothing. */
const SPACE_EVERY_MS = 15_000;

/**
 * A JSON response that may take long. Nothing is sent until {@link HEADERS_AFTER_MS} have passed,
 * so that an error keeps its status; then headers with status 200 go out, and spaces until the end.
 */
export class PatientResponse {
  readonly #ctx: Koa.Context;
  readonly #clock: Clock;
  #timer: TimerHandle;
  #begun = false;

  constructor(ctx: Koa.Context, clock: Clock) {
    this.#ctx = ctx;
    this.#clock = clock;
    this.#timer = clock.setTimeout(() => this.#begin(), HEADERS_AFTER_MS);
  }

  /** Once true, the status is 200 whatever the body says. */
  get begun(): boolean {
    return this.#begun;
  }

  end(json: string): void {
    this.stop();
    if (this.#begun) {
      this.#ctx.res.end(json);
      return;
    }
    this.#ctx.type = 'application/json';
    this.#ctx.body = json;
  }

  /** Sends nothing more by itself; for a caller that has left, or an error that is thrown. */
  stop(): void {
    this.#clock.clearTimeout(this.#timer);
  }

  #begin(): void {
    const ctx = this.#ctx;
    this.#begun = true;
    ctx.status = 200;
    ctx.type = 'application/json';
    ctx.res.flushHeaders();
    this.#breathe();
  }

  #breathe(): void {
    this.#timer = this.#clock.setTimeout(() => {
      this.#ctx.res.write(' ');
      this.#breathe();
    }, SPACE_EVERY_MS);
  }
}
