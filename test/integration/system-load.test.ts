import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { JournalEvent } from '../../src/journal/events.ts';
import type { UpstreamAnswer, UpstreamRequest } from '../../src/testing/fake-upstream.ts';
import { delta, reply, type UpstreamStep } from '../../src/testing/fake-upstream-steps.ts';
import type { Exchange } from '../support/system-client.ts';
import { type SystemWorld, systemWorlds } from '../support/system-world.ts';

/** Many callers at once, of whom some leave at any moment. */

const start = systemWorlds();
const CHATS = 200;
/** Fewer than chats, so that runs live beside each other in one session. */
const SESSIONS = 20;
const WORDS = Array.from({ length: 20 }, (_, at) => `${at} `);
const WHOLE = WORDS.join('');

type Kind = 'text' | 'tool' | 'waits' | 'stalls' | 'fails' | 'cut';

interface Plan {
  readonly kind: Kind;
  readonly stream: boolean;
  /** Leaves after so many turns of the event loop; undefined stays to the end. */
  readonly leavesAfter: number | undefined;
}

/** What never ends by itself is left; anything else may be. */
const planOf = ({ kind, stream, leaves, turns }: Drawn): Plan => ({
  kind,
  stream,
  leavesAfter: leaves || kind === 'waits' || kind === 'stalls' ? turns : undefined,
});

const drawn = fc.record({
  kind: fc.constantFrom<Kind>('text', 'text', 'tool', 'waits', 'stalls', 'fails', 'cut'),
  stream: fc.boolean(),
  leaves: fc.boolean(),
  turns: fc.integer({ min: 0, max: 400 }),
});
type Drawn = typeof drawn extends fc.Arbitrary<infer Value> ? Value : never;

const plans = fc.array(drawn.map(planOf), { minLength: CHATS, maxLength: CHATS });

const STEPS: Readonly<Record<'text' | 'stalls' | 'cut', readonly UpstreamStep[]>> = {
  text: reply({ text: WORDS }),
  stalls: [delta({ content: 'Half' }), { kind: 'stall' }],
  cut: [delta({ content: 'Half' }), { kind: 'cut' }],
};

/** The prompt of a chat is its kind. */
function respond({ body }: UpstreamRequest): UpstreamAnswer {
  const messages = body['messages'] as readonly { role: string; content: string }[];
  const kind = messages.find(({ role }) => role === 'user')?.content as Kind;
  if (kind === 'fails') return { status: 400, body: { error: { message: 'No.' } } };
  if (kind !== 'tool' && kind !== 'waits') return { steps: STEPS[kind] };
  if (messages.at(-1)?.role === 'tool') return { steps: STEPS.text };
  const call =
    kind === 'tool'
      ? { id: 'call_1', name: 'echo', arguments: { said: 'x' } }
      : { id: 'call_1', name: 'waits', arguments: {} };
  return { steps: reply({ toolCalls: [call] }) };
}

async function play(world: SystemWorld, plan: Plan, sessionId: string): Promise<Exchange> {
  const messages = [{ role: 'user', content: plan.kind }];
  const chat = world.chat({ messages, stream: plan.stream }, { 'X-Chat-Session-Id': sessionId });
  if (plan.leavesAfter === undefined) {
    await chat.all();
    return chat;
  }
  for (let turn = 0; turn < plan.leavesAfter; turn += 1) await new Promise(setImmediate);
  await chat.leave();
  return chat;
}

/** What somebody who stayed must have got. */
async function expectServed(chat: Exchange, { kind, stream }: Plan): Promise<void> {
  const isAnswer = kind === 'text' || kind === 'tool';
  expect(chat.complete).toBe(true);
  if (!stream) {
    expect(await chat.status()).toBe(isAnswer ? 200 : 502);
    return;
  }
  expect(chat.body.endsWith('data: [DONE]\n\n')).toBe(true);
  expect(chat.finishReasons).toEqual(isAnswer ? ['stop'] : []);
  if (isAnswer) expect(chat.text.trimStart()).toBe(WHOLE);
  else expect(chat.error).toMatchObject({ code: 'provider_error' });
}

describe(`${CHATS} chats at once`, () => {
  it('are all served or all ended, whoever leaves and when', async () => {
    const property = fc.asyncProperty(plans, async (all) => {
      const world = await start({ mcp: ['web'] });
      world.respond = respond;
      const chats = await Promise.all(
        all.map((plan, at) => play(world, plan, `s${at % SESSIONS}`)),
      );
      for (const [at, plan] of all.entries()) {
        if (plan.leavesAfter === undefined) await expectServed(chats[at] as Exchange, plan);
      }
      await expectAllEnded(world);
      // An evicted connection is closed; at most the one that the next run gets is left.
      await world.web.until(() => world.mcpSessions.length <= 1);
      await expectPooled(world);
    });
    // What shrinks takes as long each time; the seed alone brings the case back.
    await fc.assert(property, { numRuns: 1, endOnFailure: true });
  }, 60_000);
});

/** What began has ended; a caller may have left before its run began. */
async function expectAllEnded(world: SystemWorld): Promise<void> {
  for (let at = 0; at < SESSIONS; at += 1) {
    const journal = await world.journal(`s${at}`);
    const started = journal.filter(({ type }) => type === 'started').length;
    let ended = 0;
    const isLastEnd = (event: JournalEvent) => 'end' in event && (ended += 1) === started;
    if (started > 0) await world.entry(`s${at}`, isLastEnd);
  }
}

/** Two runs one after the other share a connection, so none is held by a run that is gone. */
async function expectPooled(world: SystemWorld): Promise<void> {
  const opened = () => world.web.seen.filter(({ rpc }) => rpc === 'initialize').length;
  const tool = { messages: [{ role: 'user', content: 'tool' }] };
  await world.chat(tool).all();
  const before = opened();
  const next = world.chat(tool);
  await next.all();
  expect(next.text.trimStart()).toBe(WHOLE);
  expect(opened()).toBe(before);
}
