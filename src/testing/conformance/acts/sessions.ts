import { AGENTS } from '../kit/agents.ts';
import { expectError } from './api.ts';
import { expectSame, Mismatch } from './mismatch.ts';
import type { Act, Stage } from './stage.ts';

const ASK = /^run (\w) is started with on_busy (\w+)$/;
const LEFT = /^the model answers run (\w)$/;

/** The acts of a busy session name their run and strategy in the step. */
export function sessionAct(step: string): Act | undefined {
  const [, letter = '', strategy = ''] = ASK.exec(step) ?? [];
  if (letter !== '') return (stage) => start(stage, letter, strategy);
  const [, leaving] = LEFT.exec(step) ?? [];
  return leaving === undefined ? undefined : (stage) => finish(stage, leaving);
}

async function start(stage: Stage, letter: string, strategy: string): Promise<void> {
  const answer = await stage.api.post('/v1/runs', {
    agent: AGENTS.plain,
    prompt: stage.prompt(letter),
    session_id: stage.id,
    on_busy: strategy,
  });
  if (answer.status === 409) {
    expectError(answer, 409, 'session_busy');
    expectSame('x-should-retry', answer.headers.get('x-should-retry'), 'false');
    stage.refused.push(letter);
    return;
  }
  if (answer.status !== 202) throw new Mismatch('202 or 409 for a start', `${answer.status}`);
  await stage.joined(letter, String(answer.json['run_id']));
  const waits = answer.json['state'] === 'queued' && strategy !== 'interrupt';
  if (!waits) await stage.modelCall(letter);
}

async function finish(stage: Stage, letter: string): Promise<void> {
  (await stage.answering(letter)).say();
  await stage.ended(letter);
}
