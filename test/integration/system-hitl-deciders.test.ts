import { describe, expect, it } from 'vitest';
import { signedHeaders, decisionContext } from '../../src/hitl/webhook/signing.ts';
import {
  type Api,
  begin,
  decide,
  post,
  says,
  story,
  calls,
  ECHO,
  refusal,
} from '../support/api-kit.ts';
import { as, authToml } from '../support/api-tenants.ts';
import { eventsIn, hitlWorlds, inboxToml, SECRET, signature, SIGNS } from '../support/hitl-kit.ts';
import type { SystemOptions, SystemWorld } from '../support/system-world.ts';

/** Who decided is on record: the name from the trusted header, else the key, else the signature. */

const { start } = hitlWorlds();
const SECOND = 'rw-second-secret-0123456789abcdef01234';
const YES = { approved: true };
const HEADER = { RUNWARDEN_DECIDER_HEADER: 'X-Forwarded-User' };

const secondSignature = (id: string): Record<string, string> => {
  const context = decisionContext(id);
  const body = JSON.stringify(YES);
  return { ...signedHeaders({ secret: SECOND, nowMs: Date.now(), context, body }) };
};

interface Deciding {
  readonly how: string;
  readonly env: Readonly<Record<string, string>>;
  readonly auth?: true;
  /** The key of whoever decides. */
  readonly key?: string;
  readonly headers?: (id: string) => Record<string, string>;
  readonly by: string | undefined;
}

const WAYS: readonly Deciding[] = [
  { how: 'nobody in particular', env: {}, by: undefined },
  {
    how: 'a header that nobody trusts',
    env: {},
    headers: () => ({ 'X-Forwarded-User': 'eve' }),
    by: undefined,
  },
  {
    how: 'the trusted header',
    env: HEADER,
    headers: () => ({ 'X-Forwarded-User': 'Zoë' }),
    by: 'Zoë',
  },
  {
    how: 'a key',
    env: {},
    auth: true,
    key: 'acme-approvals:decide',
    by: 'key:acme-approvals:decide',
  },
  {
    how: 'the trusted header beside a key',
    env: HEADER,
    auth: true,
    key: 'acme-approvals:decide',
    headers: () => ({ 'X-Forwarded-User': 'ann' }),
    by: 'ann',
  },
  {
    how: 'the first secret',
    env: SIGNS,
    headers: (id) => signature(id, YES),
    by: 'signature:primary',
  },
  {
    how: 'the second secret',
    env: { ...SIGNS, AURA_HITL_WEBHOOK_SECRET_SECONDARY: SECOND },
    headers: secondSignature,
    by: 'signature:secondary',
  },
];

/** A run of whoever the API is, and the approval that it waits for. */
async function asked(world: SystemWorld, api: Api): Promise<{ runId: string; id: string }> {
  world.answer(calls(ECHO), says('Done.'));
  const { run_id: runId } = await begin(api);
  const reader = api.ask(`/v1/runs/${runId}/events`);
  await reader.until(({ body }) => body.includes('"approval_pending"'));
  const list = await api.ask('/v1/approvals').json();
  const [item] = list['data'] as { decision_id: string }[];
  return { runId, id: String(item?.decision_id) };
}

describe('an approval that is given', () => {
  it.each(WAYS)('by $how is kept under $by', async ({ env, auth, key, headers, by }) => {
    const toml = (auth ? authToml() : '') + inboxToml();
    const options: SystemOptions = { mcp: ['web'], toml, env };
    const world = await start(options);
    const api: Api = auth ? as(world, 'acme') : world;
    const { runId, id } = await asked(world, api);
    const decider = key === undefined ? world : as(world, key);
    expect(await decide(decider, id, YES, headers?.(id)).status()).toBe(204);
    const item = await api.ask(`/v1/approvals/${id}`).json();
    expect(item).toMatchObject({ state: 'approved', decided_by: by ?? null });
    const [completed] = eventsIn(await story(api, runId), 'approval_completed');
    expect(completed?.decided_by).toBe(by);
    expect(JSON.stringify(world.log)).not.toContain(SECRET);
  });

  it('cannot be given without a signature where one is asked for, and stays pending', async () => {
    const world = await start({ mcp: ['web'], toml: inboxToml(), env: SIGNS });
    const { runId, id } = await asked(world, world);
    for (const headers of [{}, secondSignature(id), signature(id, { approved: false })]) {
      const answer = decide(world, id, YES, headers);
      expect(await refusal(answer)).toEqual([401, 'unauthorized']);
    }
    expect(await world.ask(`/v1/approvals/${id}`).json()).toMatchObject({ state: 'pending' });
    expect(await post(world, `/v1/runs/${runId}/cancel`).status()).toBe(202);
    await story(world, runId);
  });
});
