import { resolve } from 'node:path';
import { OpenAI } from 'openai';
import { describe, expect, it } from 'vitest';
import { demoProcesses, type DemoProcess, readUntil, typed } from '../support/demo-process.ts';

/** Hazard: the first command that a newcomer types is the one that nobody tries again. */

const start = demoProcesses();
const demo = (): Promise<DemoProcess> =>
  start(process.execPath, [resolve('src/cli/main.ts'), 'demo']);

const printed = ({ commands }: DemoProcess, part: string): string | undefined =>
  commands.find((line) => line.includes(part));

/** What the answer says, from the deltas of a chat stream. */
const saidIn = (stream: string): string =>
  [...stream.matchAll(/"delta":\{"content":("(?:[^"\\]|\\.)*")/g)]
    .map(([, text = '""']) => String(JSON.parse(text)))
    .join('');

async function stop({ child, ended }: DemoProcess): Promise<void> {
  child.kill('SIGTERM');
  expect(await ended).toEqual([0, null]);
}

describe('the demo, from an empty directory, as it is printed', () => {
  it('answers whole and in a stream', async () => {
    const server = await demo();
    const whole = await typed(printed(server, 'add 2 and 3'));
    expect(whole.status).toBe(200);
    expect(await whole.json()).toMatchObject({
      choices: [{ message: { content: 'The tool add is done. It answered: 5' } }],
    });
    const stream = await typed(printed(server, 'count slowly'));
    expect(stream.headers.get('x-run-id')).not.toBeNull();
    server.child.kill('SIGTERM');
    const frames = await stream.text();
    expect(frames).toContain('slow_count');
    expect(frames.endsWith('data: [DONE]\n\n')).toBe(true);
    expect(await server.ended).toEqual([0, null]);
  });

  it('deletes the file once a person has approved it', async () => {
    const server = await demo();
    const asks = await typed(printed(server, 'delete notes.txt'));
    const runId = asks.headers.get('x-run-id') ?? '';
    const { text, rest } = await readUntil(asks, (seen) => /decision_id.*\n/.test(seen));
    const ids = { DECISION_ID: /"decision_id":"([^"]+)"/.exec(text)?.[1] ?? '' };
    expect((await typed(printed(server, '/v1/approvals/'), ids)).status).toBe(204);
    expect(saidIn(await rest())).toContain('delete_file is done. It answered: Deleted notes.txt.');
    const journal = await (await fetch(`${server.url}/v1/runs/${runId}/events`)).text();
    expect(journal).toMatch(/"type":"tool_complete",.*"tool_name":"delete_file",.*"success":true/);
    await stop(server);
  });

  it('cancels a run', async () => {
    const server = await demo();
    const stream = await typed(printed(server, 'count slowly'));
    const ids = { RUN_ID: stream.headers.get('x-run-id') ?? '' };
    expect((await typed(printed(server, '/cancel'), ids)).status).toBe(202);
    expect(await stream.text()).toContain('run_cancelled');
    await stop(server);
  });
});

describe('the default agent of the demo', () => {
  it('answers the first call of the openai package, and has every tool that harms nothing', async () => {
    const server = await demo();
    const client = new OpenAI({ baseURL: `${server.url}/v1`, apiKey: 'unused', maxRetries: 0 });
    const ask = async (content: string): Promise<string | null | undefined> => {
      const messages = [{ role: 'user' as const, content }];
      const { choices } = await client.chat.completions.create({ model: 'demo', messages });
      return choices[0]?.message.content;
    };
    expect(await ask('list the files')).toContain('notes.txt');
    expect(await ask('delete notes.txt')).toContain('The agent demo-approvals has delete_file');
    expect(await ask('list the files')).toContain('notes.txt');
    const info = await fetch(`${server.url}/aura/info?detail=tools`);
    const { agents }: { agents: { mcp_servers: { demo: { tools: { name: string }[] } } }[] } =
      JSON.parse(await info.text());
    const [open, gated] = agents.map(({ mcp_servers }) =>
      mcp_servers.demo.tools.map(({ name }) => name),
    );
    expect(gated).toContain('delete_file');
    const asking = ['delete_file', 'deploy'];
    expect(open).toEqual(gated?.filter((name) => !asking.includes(name)));
    await stop(server);
  });
});
