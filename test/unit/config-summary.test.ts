import { describe, expect, it } from 'vitest';
import { summarize } from '../../src/cli/summary.ts';
import { HASH, keyText, loadTexts, MINIMAL, type Told } from '../support/config-kit.ts';

/** The rows about the process, by name. */
function rowsOf(text: string, told: Told = {}): Readonly<Record<string, string>> {
  const lines = summarize(loadTexts([text], told)).split('\n');
  return Object.fromEntries(
    lines
      .filter((line) => line.startsWith('  '))
      .map((line) => [line.slice(2, 14).trim(), line.slice(14)]),
  );
}

describe('summary of a configuration', () => {
  it('says what nobody set', () => {
    expect(rowsOf(MINIMAL)).toMatchObject({
      access: 'open to everyone who can reach it',
      keeps: '2592000 s, no bound a session, 10737418240 bytes in all',
      chats: 'cancel at once without a reader, parallel in a busy session',
      headless: 'continue at once without a reader, reject in a busy session',
      crash: 'runs at work fail',
      'parked runs': 'resumed when asked to',
    });
  });

  it('says what becomes of runs', () => {
    const env = {
      RUNWARDEN_CHAT_POLICY: 'park',
      RUNWARDEN_CHAT_GRACE_SECS: '2.5',
      RUNWARDEN_CHAT_ON_BUSY: 'enqueue',
      RUNWARDEN_RECOVER: 'resume',
      RUNWARDEN_RESUME_ON_START: 'on',
      RUNWARDEN_RETENTION_SECS: '0',
      RUNWARDEN_SESSION_MAX_BYTES: '7',
      RUNWARDEN_TOTAL_MAX_BYTES: '0',
    };
    expect(rowsOf(MINIMAL, { env })).toMatchObject({
      keeps: 'everything, 7 bytes a session, no bound in all',
      chats: 'park after 2.5 s without a reader, enqueue in a busy session',
      crash: 'runs at work resume, under continue or park',
      'parked runs': 'resumed at the start, 4 at a time',
    });
  });

  it('says which tools are bound, and which run again after a crash', () => {
    const tool = (lines: string): string | undefined =>
      rowsOf(`${MINIMAL}[runtime.tools."get_*"]\n${lines}`)['tool'];
    expect(tool('timeout_secs = 3')).toBe('"get_*", 3 s');
    expect(tool('timeout_secs = 0\nretry = "idempotent"')).toBe(
      '"get_*", off, executed again after a crash',
    );
    expect(tool('')).toBe('"get_*"');
  });

  it('counts the keys and their tenants and shows no hash', () => {
    const other = `sha256:${'f'.repeat(64)}`;
    const text = `${MINIMAL}${keyText()}${keyText({ name: 'b', hash: other, more: 'tenant = "t"' })}`;
    expect(rowsOf(text)['access']).toBe('2 keys of 2 tenants');
    expect(rowsOf(MINIMAL + keyText())['access']).toBe('1 key of 1 tenant');
    expect(summarize(loadTexts([text]))).not.toContain(HASH.slice(7));
  });
});
