import { describe, expect, it } from 'vitest';
import { secretsOf } from '../../src/config/redact.ts';
import { issuesOf, keyText, loadTexts, MINIMAL, OPENAI } from '../support/config-kit.ts';

describe('configuration: several files', () => {
  const named = (name: string, more = ''): string => MINIMAL.replace('"a"', `"${name}"`) + more;

  it('keeps the agents in the order of the files', () => {
    const { config } = loadTexts([named('z'), named('b')]);
    expect(config.agents.map(({ id }) => id)).toEqual(['z', 'b']);
  });

  it('refuses two agents of the same name', () => {
    expect(issuesOf([named('x'), named('x')])).toEqual([
      'b.toml:2: agent.name is the duplicate name "x", taken in a.toml:2. Choose another name or add an alias.',
    ]);
  });

  it('refuses an alias that is taken, by an alias or by a name', () => {
    const aliased = named('y').replace('name', 'alias = "x"\nname');
    expect(issuesOf([named('x'), aliased])).toEqual([
      'b.toml:2: agent.alias is the duplicate alias "x", taken in a.toml:2. Choose another alias.',
    ]);
    expect(issuesOf([aliased, named('y')])).toEqual([]);
  });

  it('lets a file hold the runtime alone, and only that', () => {
    const runtime = '[runtime]\nmax_parallel_tools = 2';
    expect(loadTexts([named('a'), runtime]).config.parallelToolsMax).toBe(2);
    const missing =
      'agent is missing. Add [agent] with name and system_prompt, and [agent.llm] with provider.';
    expect(issuesOf(['[mcp]', named('a')])).toEqual([`a.toml: ${missing}`]);
    expect(issuesOf(runtime)).toEqual([`a.toml: ${missing}`]);
    expect(issuesOf('')).toEqual([`a.toml: ${missing}`]);
  });

  it('lets files share the runtime and refuses that they disagree', () => {
    const journal = (store: string): string => `[runtime]\njournal.store = "${store}"`;
    expect(issuesOf([named('a', journal('memory')), named('b', journal('memory'))])).toEqual([]);
    expect(issuesOf([named('a', journal('memory')), named('b', journal('sqlite'))])).toEqual([
      'b.toml:7: runtime.journal.store is set to something else in a.toml:7. Keep one of the two; [runtime] holds for the whole process.',
    ]);
  });

  it('refuses a limit for the same tools in two files', () => {
    const limit = '[runtime.tools."x*"]\ntimeout_secs = 1';
    expect(issuesOf([named('a', limit), named('b', limit)])).toEqual([
      'b.toml:6: runtime.tools."x*" is set already in a.toml:6. Keep one of the two; [runtime] holds for the whole process.',
    ]);
  });

  it('takes the keys from one file, which may hold nothing else, and refuses a second', () => {
    expect(loadTexts([named('a'), keyText()]).config.auth?.keys).toHaveLength(1);
    expect(issuesOf([named('a', keyText({ name: 'x' })), keyText({ name: 'y' })])).toEqual([
      'b.toml:1: auth is set already in a.toml:6. Keep one of the two; [auth] holds for the whole process.',
    ]);
  });

  it('joins the parts of a policy from several files', () => {
    const policy = named('a', '[runtime.liveness.chat]\npolicy = "park"');
    const { liveness } = loadTexts([policy, '[runtime.liveness.chat]\ngrace_secs = 2']).config;
    expect(liveness.chat).toEqual({ policy: 'park', graceMs: 2_000 });
  });

  it('tells the issues of all files and sources at once', () => {
    const wrong = named('a', '[runtime]\nx = 1');
    expect(
      issuesOf([wrong, wrong, 'x = ['], { env: { PORT: 'x', DEFAULT_AGENT: 'q' } }),
    ).toHaveLength(4);
  });

  it('keeps the secrets of every agent out of the log', () => {
    expect(secretsOf(loadTexts([OPENAI, named('b')]).config)).toEqual(['sk-secret-key']);
  });
});
