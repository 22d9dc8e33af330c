import { afterEach } from 'vitest';
import type { StartRun } from '../../src/handle.ts';
import { startCommand } from './fake-handle.ts';
import type { FakeRun } from './fake-run.ts';
import { type HttpWorld, type HttpWorldOptions, httpWorld } from './http-world.ts';
import { type Answer, ask, post, RawConnection } from './raw-client.ts';

export interface RunsWorld extends HttpWorld {
  /** Starts a run past HTTP. */
  run(change?: Partial<StartRun>): Promise<FakeRun>;
  get(path: string, headers?: Readonly<Record<string, string>>): Promise<Answer>;
  post(path: string, body?: unknown, headers?: Readonly<Record<string, string>>): Promise<Answer>;
  /** A connection that reads the stream at `path`. */
  reader(path: string, headers?: readonly string[]): Promise<RawConnection>;
}

/** Gives a function that makes servers over a fake supervisor; they are closed after each test. */
export function runsWorlds(): (options?: HttpWorldOptions) => Promise<RunsWorld> {
  const opened: HttpWorld[] = [];
  afterEach(async () => {
    await Promise.all(opened.splice(0).map((made) => made.close()));
  });
  return async (options = {}) => {
    const made = await httpWorld(options);
    opened.push(made);
    return runsWorld(made);
  };
}

function runsWorld(made: HttpWorld): RunsWorld {
  const { handle, port } = made;
  return {
    ...made,
    run: async (change) => {
      const { runId } = await handle.start(startCommand(change));
      const run = handle.runs.get(runId);
      if (run === undefined) throw new Error('invariant: the fake keeps what it starts');
      return run;
    },
    get: (path, headers = {}) => ask({ port, path, headers }),
    post: (path, body = {}, headers) => {
      if (headers === undefined) return post(port, path, body);
      const sent = { 'Content-Type': 'application/json', ...headers };
      return ask({ port, method: 'POST', path, headers: sent, body: JSON.stringify(body) });
    },
    reader: async (path, headers = []) => {
      const client = await RawConnection.open(port);
      client.get(path, headers);
      return client;
    },
  };
}

export const json = ({ text }: Answer) => JSON.parse(text) as Record<string, unknown>;

export const errorOf = (answer: Answer) => json(answer)['error'] as Record<string, unknown>;

/** Status, code and the field at fault: what a client's program looks at. */
export const refusal = (answer: Answer): readonly unknown[] => {
  const { code, param } = errorOf(answer);
  return param === undefined ? [answer.status, code] : [answer.status, code, param];
};

/** The `id:` of each frame, in order. */
export const seqs = (body: string): number[] =>
  [...body.matchAll(/^id: (\d+)$/gm)].map(([, id]) => Number(id));

/** The response is whole. */
export const ended = ({ body }: RawConnection): boolean => body.endsWith('0\r\n\r\n');

export const nextTurn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));
