import { resolve } from 'node:path';
import { describe, expect, it } from 'vitest';
import { type Api, decide, refusal } from '../support/api-kit.ts';
import { demoProcesses } from '../support/demo-process.ts';
import { Exchange } from '../support/system-client.ts';

/** What a newcomer sees of approvals: the demo's agent that asks people, over plain HTTP. */

const start = demoProcesses();

async function demo() {
  const { url, child, ended } = await start(process.execPath, [resolve('src/cli/main.ts'), 'demo']);
  const api: Api = { ask: (path, asked) => new Exchange(url + path, asked) };
  const chat = (content: string): Exchange =>
    api.ask('/v1/chat/completions', {
      method: 'POST',
      body: { model: 'demo-approvals', stream: true, messages: [{ role: 'user', content }] },
    });
  const stop = async () => {
    child.kill('SIGTERM');
    expect(await ended).toEqual([0, null]);
  };
  return { api, chat, stop };
}

/** The approval that a chat waits for. */
async function pendingOf(chat: Exchange): Promise<string> {
  await chat.until((so) => so.data('aura.approval_pending').length > 0);
  return String(chat.data('aura.approval_pending')[0]?.['decision_id']);
}

describe('the demo', () => {
  it('asks before it deletes, and keeps the file that a person wants to keep', async () => {
    const { api, chat, stop } = await demo();
    const deletes = chat('delete notes.txt');
    const id = await pendingOf(deletes);
    expect(await api.ask('/v1/approvals').json()).toMatchObject({
      data: [{ decision_id: id, tool_name: 'delete_file', state: 'pending' }],
    });
    expect(await decide(api, id, { approved: false, reason: 'I need it' }).status()).toBe(204);
    await deletes.all();
    expect(deletes.text).toContain('You did not approve delete_file');
    const lists = chat('list the files');
    await lists.all();
    expect(lists.text).toContain('notes.txt');
    await stop();
  });

  it('has a tool whose server asks, and takes the answer that its form allows', async () => {
    const { api, chat, stop } = await demo();
    const deploys = chat('deploy billing');
    const id = await pendingOf(deploys);
    const item = await api.ask(`/v1/approvals/${id}`).json();
    expect(item).toMatchObject({
      origin: { kind: 'elicitation', server: 'demo', schema: { required: expect.any(Array) } },
    });
    const wrong = { approved: true, content: { reason: 'release', environment: 'nowhere' } };
    expect(await refusal(decide(api, id, wrong))).toEqual([422, 'invalid_content', 'content']);
    const right = { approved: true, content: { reason: 'release', environment: 'staging' } };
    expect(await decide(api, id, right).status()).toBe(204);
    await deploys.all();
    expect(deploys.text).toMatch(/deploy is done.*billing.*staging/);
    await stop();
  });
});
