import { describe, expect, it } from 'vitest';
import { issuesOf, keyText, MINIMAL, warningsOf } from '../support/config-kit.ts';

describe('configuration: what is only warned of', () => {
  it('names an unknown table at the top and goes on', () => {
    expect(warningsOf(`${MINIMAL}[runtim]\nx = 1\n[[other]]\ny = 1`)).toEqual([
      'a.toml:6: runtim is an unknown table and has no effect. Did you mean "runtime"?',
      'a.toml:8: other is an unknown table and has no effect. Known tables: [agent], [mcp], [hitl], [runtime], [auth], [tools], [orchestration].',
    ]);
  });

  it.each(['mpc', 'agnt', 'toolz', 'other', 'hit_list'])('goes on with the table %s', (table) => {
    expect(warningsOf(`${MINIMAL}[${table}]\nx = 1`)).toHaveLength(1);
  });

  // A slip of the pen must not switch approvals or access off in silence.
  it.each([
    ['hitll', 'hitl'],
    ['HITL', 'hitl'],
    ['hilt', 'hitl'],
    ['htil.route', 'hitl'],
    ['auht', 'auth'],
    ['Auth', 'auth'],
    ['[auths]', 'auth'],
  ])('does not go on with [%s], which is hardly meant', (table, meant) => {
    const key = table.replaceAll(/[[\]]|\.route/g, '');
    expect(() => warningsOf(`${MINIMAL}[${table}]\nx = 1`)).toThrow(
      expect.objectContaining({ warnings: [] }),
    );
    expect(issuesOf(`${MINIMAL}[${table}]\nx = 1`)).toEqual([
      `a.toml:6: ${key} is not a known table. Did you mean "${meant}"? If it is another program's, rename it.`,
    ]);
  });

  it('names limits that another one always ends first', () => {
    const text = `${MINIMAL}[runtime]
timeouts = { step_secs = 1000, tool_secs = 2000, setup_secs = 5 }
[runtime.tools]
slow = { timeout_secs = 3000 }`;
    expect(warningsOf(text)).toEqual([
      'timeouts: mcp_connect (10 s) is never reached: setup (5 s) ends first. Raise setup as well.',
      'timeouts: step (1000 s) is never reached: total (900 s) ends first. Raise total as well.',
      'timeouts: tool (2000 s) is never reached: step (1000 s) ends first. Raise step as well.',
      'timeouts: "slow" (3000 s) is never reached: step (1000 s) ends first. Raise step as well.',
    ]);
  });

  it('does not warn of an outer limit that is off', () => {
    expect(
      warningsOf(`${MINIMAL}[runtime.timeouts]\nstep_secs = 0\ntotal_secs = 0\ntool_secs = 9000`),
    ).toEqual([]);
  });

  it('names approvals that a run cannot wait for', () => {
    const text = `${MINIMAL}[hitl]\nroute = { mode = "conversational", timeout_secs = 900 }`;
    expect(warningsOf(text)).toEqual([
      'a.toml:7: hitl.route.timeout_secs is not below the total of a run (900 s), which ends first. Lower it, raise the total, or set hitl.pause_total = true.',
    ]);
  });

  it('names filters that can match no tool', () => {
    expect(warningsOf(MINIMAL.replace('name', 'mcp_filter = ["ok_*", "[ab]"]\nname'))).toEqual([
      'a.toml:2: agent.mcp_filter[1] matches no tool. Only * and ? are special here.',
    ]);
  });

  it('says what is open to others who can reach the server, unless keys are asked for', () => {
    const env = { HOST: '0.0.0.0' };
    expect(warningsOf(MINIMAL, { env })).toEqual([
      'server: host 0.0.0.0 is reachable from other machines, and whoever reaches it can start and stop runs, read every conversation and decide approvals. Add [auth] with keys, or put a proxy that authenticates in front of it.',
    ]);
    expect(warningsOf(MINIMAL, { env: { HOST: 'localhost' } })).toEqual([]);
    expect(warningsOf(`${MINIMAL}${keyText()}`, { env })).toEqual([]);
  });

  it('names what a journal in memory cannot do', () => {
    const env = {
      RUNWARDEN_STORE: 'memory',
      RUNWARDEN_RECOVER: 'resume',
      RUNWARDEN_RESUME_ON_START: 'true',
    };
    const rest =
      'has no effect: a journal in memory is gone with its process. Use journal.store = "sqlite".';
    expect(warningsOf(MINIMAL, { env })).toEqual([
      `runtime: crash.recover = "resume" ${rest}`,
      `runtime: park.resume_on_start ${rest}`,
    ]);
    expect(warningsOf(MINIMAL, { env: { ...env, RUNWARDEN_STORE: 'sqlite' } })).toEqual([]);
    expect(warningsOf(MINIMAL, { env: { RUNWARDEN_STORE: 'memory' } })).toEqual([]);
  });

  it('names a size of sessions that the size of all is below', () => {
    const sizes = (session: number, total: number): readonly string[] =>
      warningsOf(
        `${MINIMAL}[runtime.journal]\nsession_max_bytes = ${session}\ntotal_max_bytes = ${total}`,
      );
    expect(sizes(11, 10)).toEqual([
      'runtime: journal.session_max_bytes is never reached: journal.total_max_bytes (10) is smaller. Lower it or raise the total.',
    ]);
    expect(sizes(10, 10)).toEqual([]);
    expect(sizes(11, 0)).toEqual([]);
  });
});
