import { describe, expect, it } from 'vitest';
import { Grants, type SessionGrant } from '../../src/hitl/grants.ts';
import { createLog } from '../../src/log.ts';

/**
 * Hazard: a grant lets a tool run without asking. One that is found for another session, agent, tool or
 * pattern is a bypass of the gate; one that is lost asks again, which is only a nuisance.
 */

const GRANT: SessionGrant = {
  sessionId: 's',
  agent: 'a',
  toolName: 'write',
  matchedPattern: 'w*',
  decisionId: 'd1',
  at: 1,
};
const QUERY = { sessionKey: 's', agent: 'a', toolName: 'write', matchedPattern: 'w*' };

function world() {
  const stored: SessionGrant[] = [];
  const lines: string[] = [];
  const state = { reads: 0, refuses: false, gate: Promise.resolve() };
  const grants = new Grants({
    index: {
      async listGrants(sessionKey) {
        state.reads += 1;
        await state.gate;
        if (state.refuses) throw new Error('no store');
        return stored.filter(({ sessionId }) => sessionId === sessionKey);
      },
      async putGrant(grant) {
        await state.gate;
        if (state.refuses) throw new Error('no store');
        stored.push(grant);
      },
    },
    log: createLog({ level: 'warn', destination: { write: (line) => void lines.push(line) } }),
  });
  return { grants, stored, state, lines };
}

describe('grants of sessions', () => {
  it('finds what the store had, for the same session, agent, tool and pattern alone', async () => {
    const { grants, stored } = world();
    stored.push(GRANT);
    await grants.load('s');

    expect(grants.find(QUERY)).toBe('d1');
    for (const change of [
      { sessionKey: 't' },
      { agent: 'b' },
      { toolName: 'wipe' },
      { matchedPattern: '*' },
    ]) {
      expect(grants.find({ ...QUERY, ...change })).toBeUndefined();
    }
  });

  it('finds nothing before the session is loaded', async () => {
    const { grants, stored } = world();
    stored.push(GRANT);
    const loading = grants.load('s');

    expect(grants.find(QUERY)).toBeUndefined();
    await loading;
    expect(grants.find(QUERY)).toBe('d1');
  });

  it('does not take the names of one for those of another', async () => {
    const { grants } = world();
    await grants.load('s');
    await grants.add({ ...GRANT, agent: 'a', toolName: 'b","c', matchedPattern: 'd' });

    const other = { ...QUERY, agent: 'a","b', toolName: 'c', matchedPattern: 'd' };
    expect(grants.find(other)).toBeUndefined();
  });

  it('reads a session once while its runs live, and again after that', async () => {
    const { grants, state } = world();
    await Promise.all([grants.load('s'), grants.load('s')]);
    await grants.load('s');
    expect(state.reads).toBe(1);

    grants.released('s');
    await grants.load('s');
    expect(state.reads).toBe(2);
  });

  it('forgets a session that has no live run', async () => {
    const { grants, stored } = world();
    stored.push(GRANT);
    await grants.load('s');
    stored.length = 0; // Its last entry has gone.
    grants.released('s');

    expect(grants.find(QUERY)).toBeUndefined();
    await grants.load('s');
    expect(grants.find(QUERY)).toBeUndefined();
  });

  it('holds a grant at once, and keeps the first of two', async () => {
    const { grants, stored } = world();
    await grants.load('s');
    const added = grants.add(GRANT);

    expect(grants.find(QUERY)).toBe('d1');
    await added;
    await grants.add({ ...GRANT, decisionId: 'd2' });
    expect(grants.find(QUERY)).toBe('d1');
    expect(stored[0]).toEqual(GRANT);
  });

  it('holds a grant that the store refuses, and says so without the arguments of anything', async () => {
    const { grants, state, lines } = world();
    await grants.load('s');
    state.refuses = true;
    await grants.add(GRANT);

    expect(grants.find(QUERY)).toBe('d1');
    expect(lines).toHaveLength(1);
    expect(JSON.parse(lines[0] as string)).toMatchObject({ decision_id: 'd1', tool_name: 'write' });
  });

  it('gives a grant to the store alone when no run of the session lives', async () => {
    const { grants, stored } = world();
    await grants.add(GRANT);

    expect(grants.find(QUERY)).toBeUndefined();
    expect(stored).toEqual([GRANT]);
  });

  it('holds a grant of a session that is loaded while the store takes it', async () => {
    const { grants, state, stored } = world();
    const gate = Promise.withResolvers<void>();
    state.gate = gate.promise;
    const added = grants.add(GRANT);
    state.gate = Promise.resolve();
    await grants.load('s'); // It reads before the grant is there.
    expect([stored, grants.find(QUERY)]).toEqual([[], undefined]);
    gate.resolve();
    await added;

    expect(grants.find(QUERY)).toBe('d1');
  });

  it('reads again after the store refused to be read', async () => {
    const { grants, state, stored } = world();
    state.refuses = true;
    await expect(grants.load('s')).rejects.toThrow('no store');
    state.refuses = false;
    stored.push(GRANT);
    await grants.load('s');

    expect(grants.find(QUERY)).toBe('d1');
  });
});
