import {
  type FakeUpstream,
  startFakeUpstream,
  type UpstreamAnswer,
  type UpstreamRequest,
} from '../../fake-upstream.ts';
import {
  delta,
  reply,
  type UpstreamStep,
  type UpstreamToolCall,
} from '../../fake-upstream-steps.ts';
import { Mailboxes } from './mailbox.ts';

/** Names the path and the run that a prompt belongs to; it goes into the prompt as it is. */
export const markOf = (path: string, run: string): string => `[[${path}.${run}]]`;

/** The last mark counts: a session's later runs have the marks of earlier ones in their history. */
const MARKS = /\[\[([\w-]+)\.(\w+)\]\]/g;

const TEXT = 'Done.';
const DRIP_MS = 1_000;
/** Half a minute, far beyond any deadline that a path waits for. */
const DRIPS = 30;
const USAGE = { prompt_tokens: 7, completion_tokens: 3, total_tokens: 10 };

/** One request of the server to the model, which its path answers. */
export class ModelCall {
  readonly #settle: (answer: UpstreamAnswer) => void;
  readonly #rest = Promise.withResolvers<readonly UpstreamStep[]>();
  readonly answered: Promise<UpstreamAnswer>;
  #hasSpoken = false;

  constructor() {
    const { promise, resolve } = Promise.withResolvers<UpstreamAnswer>();
    this.answered = promise;
    this.#settle = resolve;
  }

  /** Says the first word and holds the rest back. */
  speak(): void {
    this.#hasSpoken = true;
    this.#settle({ steps: this.#spoken() });
  }

  /** Says the first word and then one a second, so that only a deadline of more than that ends it. */
  drip(): void {
    this.speak();
    const pause: UpstreamStep = { kind: 'delay', ms: DRIP_MS };
    this.#rest.resolve(
      Array.from({ length: DRIPS }, () => [pause, delta({ content: '. ' })]).flat(),
    );
  }

  say(text = TEXT): void {
    this.#go(reply({ text: [text], usage: USAGE }));
  }

  call(...toolCalls: readonly UpstreamToolCall[]): void {
    this.#go(reply({ toolCalls, usage: USAGE }));
  }

  /** Answers with this status where nothing was said, else breaks the connection. */
  fail(status: number, headers: Readonly<Record<string, string>> = {}): void {
    if (this.#hasSpoken) return this.#rest.resolve([{ kind: 'cut' }]);
    const error = { message: `The scripted model answers ${status}.`, type: 'scripted' };
    this.#settle({ status, headers, body: { error } });
  }

  #go(steps: readonly UpstreamStep[]): void {
    if (!this.#hasSpoken) return this.#settle({ steps });
    // The role was said with the first word.
    this.#rest.resolve(steps.slice(1));
  }

  async *#spoken(): AsyncGenerator<UpstreamStep> {
    yield delta({ role: 'assistant', content: 'Well. ' });
    yield { kind: 'gate', open: this.#rest.promise };
    yield* await this.#rest.promise;
  }
}

/** The model that the server under test must use. It does what the path of a request says. */
export class ScriptedModel {
  readonly #upstream: FakeUpstream;
  readonly #rooms: Map<string, ModelRoom>;

  private constructor(upstream: FakeUpstream, rooms: Map<string, ModelRoom>) {
    this.#upstream = upstream;
    this.#rooms = rooms;
  }

  /** Listens on loopback; port 0 lets the system choose. */
  static async start(port: number): Promise<ScriptedModel> {
    const rooms = new Map<string, ModelRoom>();
    const upstream = await startFakeUpstream({
      port,
      respond: (request) => respond(request, rooms),
    });
    return new ScriptedModel(upstream, rooms);
  }

  get url(): string {
    return this.#upstream.url;
  }

  /** What the server sent that no model would take. */
  get faults(): readonly string[] {
    return this.#upstream.faults;
  }

  room(path: string): ModelRoom {
    const room = this.#rooms.get(path) ?? new ModelRoom();
    this.#rooms.set(path, room);
    return room;
  }

  close(): Promise<void> {
    return this.#upstream.close();
  }
}

/** The model's part in one path. */
export class ModelRoom {
  readonly #calls = new Mailboxes<ModelCall>();
  #onItsOwn: ((call: ModelCall) => void) | undefined;
  #count = 0;

  /** Requests so far, of all runs of the path. */
  get count(): number {
    return this.#count;
  }

  take(run: string, call: ModelCall): void {
    this.#count += 1;
    if (this.#onItsOwn === undefined) this.#calls.of(run).put(call);
    else this.#onItsOwn(call);
  }

  next(run: string): Promise<ModelCall> {
    return this.#calls.of(run).next();
  }

  /** From now on every request is answered like this, those that wait included. */
  answerAll(answer: (call: ModelCall) => void, runs: readonly string[]): void {
    this.#onItsOwn = answer;
    for (const run of runs) void this.#calls.of(run).next().then(answer);
  }
}

function respond(
  { body }: UpstreamRequest,
  rooms: ReadonlyMap<string, ModelRoom>,
): Promise<UpstreamAnswer> | UpstreamAnswer {
  const [, path = '', run = ''] =
    [...JSON.stringify(body['messages']).matchAll(MARKS)].at(-1) ?? [];
  const room = rooms.get(path);
  if (room === undefined) return { steps: reply({ text: ['No path of the kit asked this.'] }) };
  const call = new ModelCall();
  room.take(run, call);
  return call.answered;
}
