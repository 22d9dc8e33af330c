import { describe, expect, it } from 'vitest';
import { editDistance, nearest } from '../../src/nearest.ts';
import { configOf, issuesOf, MINIMAL, OPENAI } from '../support/config-kit.ts';

const prompt = (text: string, env = {}): string | undefined =>
  configOf(MINIMAL.replace('"Be kind."', text), { env }).agents[0]?.systemPrompt;

describe('configuration: templates', () => {
  it.each([
    ['"{{ env.A }}"', 'x'],
    ['"{{env.A}}{{  env.A  }}"', 'xx'],
    ['"<{{ env.A | default: \'d\' }}>"', '<x>'],
    ['"{{ env.NONE | default: \'a b\' }}"', 'a b'],
    ['"{{ env.NONE|default:\'\' }}"', ''],
    ['"{{ env.EMPTY }}"', ''],
    ['"{{ env.EMPTY | default: \'d\' }}"', ''],
    ['"{{ user }} and {{ environment }}"', '{{ user }} and {{ environment }}'],
    ["'''{{ env.A }}'''", 'x'],
  ])('%s becomes "%s"', (written, expected) => {
    expect(prompt(written, { A: 'x', EMPTY: '' })).toBe(expected);
  });

  it('takes a value literally, so it can neither end its string nor add a key', () => {
    const value = '"\nhidden = true\n$& \\n {{ env.B }}';
    expect(prompt('"{{ env.A }}"', { A: value, B: 'b' })).toBe(value);
  });

  it('reads numbers and switches from filled-in text', () => {
    const text = `${MINIMAL.replace('name', 'hidden = "{{ env.H }}"\nname')}[runtime]\nmax_parallel_tools = "{{ env.N }}"`;
    const config = configOf(text, { env: { H: 'on', N: '8' } });
    expect(config.parallelToolsMax).toBe(8);
    expect(config.agents[0]?.hidden).toBe(true);
  });

  it('fills in values inside lists and inline tables', () => {
    const text = `${MINIMAL}[mcp.servers.x]\ntransport = "stdio"\ncmd = ["{{ env.A }}"]\nenv = { K = "{{ env.A }}" }`;
    const [server] = configOf(text, { env: { A: 'x' } }).agents[0]?.mcp.servers ?? [];
    expect(server).toMatchObject({ cmd: ['x'], env: { K: 'x' } });
  });

  it('leaves comments alone', () => {
    expect(issuesOf(`# {{ env.NONE }}\n${MINIMAL}`)).toEqual([]);
  });

  it('names every missing variable at once and nothing that follows from it', () => {
    const text = OPENAI.replace('"sk-secret-key"', '"{{ env.KEY }}"').replace(
      '"gpt-5-mini"',
      '"{{ env.MODEL }}"',
    );
    const told = { env: { MODELL: 'x' } };
    expect(issuesOf(`${text}max_tokens = "{{ env.MAX }}"`, told)).toEqual([
      "a.toml:6: agent.llm.api_key needs the environment variable KEY, which is not set. Set it, or write {{ env.KEY | default: '…' }}.",
      "a.toml:7: agent.llm.model needs the environment variable MODEL, which is not set. Set it, or write {{ env.MODEL | default: '…' }}. Did you mean MODELL?",
      "a.toml:8: agent.llm.max_tokens needs the environment variable MAX, which is not set. Set it, or write {{ env.MAX | default: '…' }}.",
    ]);
  });

  it('refuses a key that is empty once it is filled in', () => {
    const [issue] = issuesOf(OPENAI.replace('"sk-secret-key"', '"{{ env.KEY }}"'), {
      env: { KEY: '' },
    });
    expect(issue).toContain('agent.llm.api_key is empty');
  });

  it.each([
    ['{{ env.lower }}'],
    ["{{ env.A | default 'x' }}"],
    ['{{ env.A | upper }}'],
    ['{{ env. }}'],
  ])('refuses %s, which would stay as it is', (template) => {
    const text = MINIMAL.replace('"Be kind."', JSON.stringify(template));
    expect(issuesOf(text, { env: { A: 'x' } })).toEqual([
      "a.toml:3: agent.system_prompt has a template that cannot be read. Write {{ env.NAME }} or {{ env.NAME | default: 'text' }}, with NAME in capitals, digits and _.",
    ]);
  });

  it('refuses a template in the name of a key', () => {
    const text = `${MINIMAL}[mcp.servers.x]\ntransport = "stdio"\ncmd = ["x"]\nenv = { "{{ env.A }}" = "1" }`;
    expect(issuesOf(text, { env: { A: 'x' } })).toEqual([
      'a.toml:9: mcp.servers.x.env."{{ env.A }}" has a template in its name. Templates are filled in in values only.',
    ]);
  });
});

describe('nearest known word', () => {
  it.each([
    ['setup_sec', 'setup_secs'],
    ['setupSecs', 'setup_secs'],
    ['SETUP-SECS', 'setup_secs'],
    ['tolo_secs', 'tool_secs'],
    ['zebra', undefined],
    ['', undefined],
  ])('for "%s" is %s', (word, expected) => {
    expect(nearest(word, ['tool_secs', 'setup_secs'])).toBe(expected);
  });

  it('prefers the nearer of two', () => {
    expect(nearest('step_secs', ['setup_secs', 'stop_secs'])).toBe('stop_secs');
  });

  it.each([
    ['', 'abc', 3],
    ['abc', 'abc', 0],
    ['abc', 'acb', 1],
    ['kitten', 'sitting', 3],
  ])('from "%s" to "%s" it is %i edits', (from, to, distance) => {
    expect(editDistance(from, to)).toBe(distance);
    expect(editDistance(to, from)).toBe(distance);
  });
});
