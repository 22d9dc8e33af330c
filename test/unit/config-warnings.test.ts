import { describe, expect, it } from 'vitest';
import { MINIMAL, warningsOf } from '../support/config-kit.ts';

describe('configuration: what is only warned of', () => {
  it('names an unknown table at the top and goes on', () => {
    expect(warningsOf(`${MINIMAL}[runtim]\nx = 1\n[[other]]\ny = 1`)).toEqual([
      'a.toml:6: runtim is an unknown table and has no effect. Did you mean "runtime"?',
      'a.toml:8: other is an unknown table and has no effect. Known tables: [agent], [mcp], [hitl], [runtime], [tools], [orchestration].',
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
      'a.toml:7: hitl.route.timeout_secs is not below the total of a run (900 s), which ends first. Lower it or raise the total.',
    ]);
  });

  it('names filters that can match no tool', () => {
    expect(warningsOf(MINIMAL.replace('name', 'mcp_filter = ["ok_*", "[ab]"]\nname'))).toEqual([
      'a.toml:2: agent.mcp_filter[1] matches no tool. Only * and ? are special here.',
    ]);
  });

  it('says that others can reach the server', () => {
    expect(warningsOf(MINIMAL, { env: { HOST: '0.0.0.0' } })).toHaveLength(1);
    expect(warningsOf(MINIMAL, { env: { HOST: 'localhost' } })).toEqual([]);
  });
});
