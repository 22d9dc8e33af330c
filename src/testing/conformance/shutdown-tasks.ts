import { Api, type ApiDeps, type EventReader } from './acts/api.ts';
import { expectSame, Mismatch, shown, Skip } from './acts/mismatch.ts';
import { Stage, type StageOptions } from './acts/stage.ts';
import type { ChildServer } from './child-server.ts';
import type { ClientPath } from './paths/scenario.ts';
import { shutdownScenario } from './paths/shutdown.ts';
import { STEPS } from './paths/steps.ts';
import type { Task } from './run-tasks.ts';
import { openChat } from './acts/begin.ts';

/** The signal is what makes a run in flight late; short, so that a path can wait for it. */
export const GRACE_SECS = 3;

/** Starts a server that a path may signal; undefined where the server is not ours. */
export type StartServer = (() => Promise<ChildServer>) | undefined;

type TasksOptions = Pick<StageOptions, 'model' | 'tools'> & Pick<ApiDeps, 'fetch' | 'timers'>;

/** The paths of a process that leaves, each on a server of its own. */
export const shutdownTasks = (startServer: StartServer, options: TasksOptions): readonly Task[] =>
  shutdownScenario().paths.map((path) => ({
    feature: path.feature,
    path: `${path.steps.join(', ')}: ${path.expected[0]?.terminal}`,
    ...(startServer !== undefined && { alone: true as const }),
    take: async ({ id }, signal) => {
      if (startServer === undefined) throw new Skip('it needs a server that the kit may signal');
      const server = await startServer();
      try {
        const api = new Api({ base: server.url }, { ...options, signal });
        await takeOn(server, new Stage({ ...options, id, api, signal }), path);
      } finally {
        await server.close();
      }
    },
  }));

async function takeOn(server: ChildServer, stage: Stage, path: ClientPath): Promise<void> {
  let chat: EventReader | undefined;
  for (const step of path.steps) {
    if (step === STEPS.chatBegins) chat = await beginChat(stage);
    else if (step === STEPS.answers) await answer(stage, chat);
    else if (step === STEPS.terminate) await terminate(server, stage, chat);
    else if (step === STEPS.interrupt) server.signal('SIGINT');
    else await expectToldToStop(stage, chat);
  }
  const code = await stage.bounded(server.exit(), 'the end of the process', EXIT_MS);
  expectSame('the end', `exit code ${code}`, path.expected[0]?.terminal);
}

/** Grace, drain and abort together. */
const EXIT_MS = 20_000;

async function beginChat(stage: Stage): Promise<EventReader> {
  const chat = await openChat(stage);
  (await stage.modelCall()).speak();
  return chat;
}

async function answer(stage: Stage, chat: EventReader | undefined): Promise<void> {
  (await stage.answering()).say();
  if (chat !== undefined) await expectDone(stage, chat);
}

/** With a run in flight the server is still there, and admits nothing. */
async function terminate(
  server: ChildServer,
  stage: Stage,
  chat: EventReader | undefined,
): Promise<void> {
  server.signal('SIGTERM');
  if (chat === undefined || chat.isOver) return;
  const isGated = async (): Promise<boolean> => (await stage.api.ask('/health')).status === 503;
  for (let tries = 0; tries < GATE_TRIES; tries += 1) {
    if (chat.isOver || (await isGated().catch(() => true))) return;
  }
  throw new Mismatch('503 after a signal', 'a server that goes on as before');
}

const GATE_TRIES = 200;

async function expectToldToStop(stage: Stage, chat: EventReader | undefined): Promise<void> {
  if (chat === undefined) return;
  await expectDone(stage, chat, (GRACE_SECS + 10) * 1_000);
  const codes = chat.frames
    .filter(({ event }) => event === 'error')
    .map(({ data }) => (JSON.parse(data) as { error?: { code?: string } }).error?.code);
  expectSame('the codes of the error frames', codes, ['shutdown']);
}

async function expectDone(stage: Stage, chat: EventReader, withinMs?: number): Promise<void> {
  await stage.bounded(chat.over, 'the end of the stream', withinMs);
  if (chat.frames.at(-1)?.data === '[DONE]') return;
  throw new Mismatch('a last frame [DONE]', shown(chat.frames.slice(-2)));
}
