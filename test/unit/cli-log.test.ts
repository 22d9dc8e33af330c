import { describe, expect, it } from 'vitest';
import { createLog, type LogOptions } from '../../src/log.ts';
import { prettyLine } from '../../src/log-pretty.ts';

/** A log and the lines it wrote. */
function logged(options: LogOptions = {}) {
  const lines: string[] = [];
  const log = createLog({ destination: { write: (line) => void lines.push(line) }, ...options });
  return { log, lines, entry: (): unknown => JSON.parse(lines[0] ?? '') };
}

describe('log', () => {
  it('writes one JSON line with the level as a word and fields at the top', () => {
    const { log, lines, entry } = logged();
    log.info({ clean_shutdown: true, unaborted_tasks: false }, 'shutdown complete');
    expect(lines).toHaveLength(1);
    expect(lines[0]).toMatch(/^\{.*\}\n$/);
    expect(entry()).toMatchObject({
      level: 'info',
      msg: 'shutdown complete',
      clean_shutdown: true,
      unaborted_tasks: false,
      time: expect.stringMatching(/^\d{4}-\d\d-\d\dT.*Z$/),
    });
  });

  it('leaves out what is below its level', () => {
    const { log, lines } = logged({ level: 'warn' });
    log.info('no');
    log.debug('no');
    log.warn('yes');
    expect(lines).toHaveLength(1);
  });

  it('blanks out values under the keys of secrets, at any depth and in children', () => {
    const { log, lines } = logged();
    const secret = 'hunter2hunter2';
    log.child({ api_key: secret, run_id: 'r' }).info({
      apiKey: secret,
      request: { headers: { 'X-Anything': secret }, list: [{ Authorization: secret }] },
      env: { MODE: secret },
      'set-cookie': secret,
    });
    expect(lines.join()).not.toContain(secret);
    expect(lines.join()).toContain('X-Anything');
    expect(lines.join()).toContain('"run_id":"r"');
  });

  it('blanks out known secrets wherever they turn up', () => {
    const { log, lines } = logged({ secrets: ['sk-"quoted"', 'sk-plain', 'ab'] });
    log.error(
      { err: new Error('refused sk-plain'), url: 'http://x/?k=sk-plain' },
      'sk-"quoted" about',
    );
    expect(lines.join()).not.toMatch(/sk-|quoted/);
    // Too short to be a secret: it would blank out ordinary words.
    expect(lines.join()).toContain('about');
  });

  it('keeps ordinary fields whose names only look like secrets', () => {
    const { log, entry } = logged();
    log.info({ prompt_tokens: 3, progress_token: 4, key: 'k' });
    expect(entry()).toMatchObject({ prompt_tokens: 3, progress_token: 4, key: 'k' });
  });

  it('cuts what nests too deep instead of searching it for ever', () => {
    const { log, lines } = logged();
    const loop: Record<string, unknown> = {};
    loop['self'] = loop;
    log.info(loop);
    expect(lines[0]).toContain('[deep]');
  });

  it('writes for a person when asked to', () => {
    const { log, lines } = logged({ pretty: true });
    log.warn({ run_id: 'r-1', note: 'two words' }, 'careful');
    expect(lines[0]).toMatch(
      /^\d\d:\d\d:\d\d\.\d{3} WARN {2}careful run_id=r-1 note="two words"\n$/,
    );
  });
});

describe('line for a person', () => {
  it('shows the stack of an error below', () => {
    const line = prettyLine(
      JSON.stringify({ level: 'error', msg: 'no', err: { stack: 'Error: x\n  at y' } }),
    );
    expect(line).toBe(' ERROR no\n    Error: x\n    at y\n');
  });

  it('cannot be driven by control characters', () => {
    expect(prettyLine(JSON.stringify({ level: 'info', msg: 'a\u001b[2J\nb' }))).toBe(
      ' INFO  a\\x1b[2J\\x0ab\n',
    );
  });

  it.each([['no JSON\n'], ['3\n'], ['null\n']])('leaves %j as it is', (line) => {
    expect(prettyLine(line)).toBe(line);
  });
});
