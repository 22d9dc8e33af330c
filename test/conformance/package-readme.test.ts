import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { SETTINGS } from '../../src/config/settings.ts';
import { ROOT, filesUnder } from './architecture-sources.ts';

/** Hazard: a page that nobody runs goes stale without a sound. */

const readme = readFileSync(join(ROOT, 'README.md'), 'utf8');
const quoted = new Set([...readme.matchAll(/`([^`\n]+)`/g)].map((match) => match[1] ?? ''));

const settings = Object.entries(SETTINGS).map(([name, { flag, env, toml }]) => ({
  name,
  wanted: [
    ...(flag === undefined ? [] : [`--${flag}`]),
    ...env,
    ...(toml === undefined ? [] : [toml.join('.')]),
  ],
}));

describe('the README', () => {
  it.each(settings)('names every way to set $name', ({ wanted }) => {
    expect(wanted.filter((word) => !quoted.has(word))).toEqual([]);
  });

  it('names no variable and no flag that nothing reads', () => {
    const known = new Set(settings.flatMap(({ wanted }) => wanted));
    const elsewhere = [
      'AURA_HITL_WEBHOOK_SECRET',
      'AURA_HITL_WEBHOOK_SECRET_SECONDARY',
      'AURA_HITL_WEBHOOK_TOLERANCE_SECS',
      'CONFIG_PATH',
      'HEAD',
      'OPENAI_API_KEY',
      'SIGTERM',
      'SIGINT',
      'DECISION_ID',
      'RUN_ID',
    ];
    const flags = ['--config', '--verbose', '--debug'];
    const named = [...quoted].filter((word) => /^(?:--[a-z-]+|[A-Z][A-Z_]{3,})$/.test(word));
    expect(named.filter((word) => ![...known, ...elsewhere, ...flags].includes(word))).toEqual([]);
  });

  it('names files and folders that are there', () => {
    const paths = [...quoted].filter((word) =>
      /^(?:src|machines|test|diagrams|\.ci)\/\S*$/.test(word),
    );
    expect(paths.length).toBeGreaterThan(15);
    expect(paths.filter((path) => !existsSync(join(ROOT, path)))).toEqual([]);
  });

  it('names every part of the product', () => {
    const parts = new Set(
      filesUnder('src').flatMap((path) => /^src\/[^/]+\//.exec(path)?.[0] ?? []),
    );
    const missing = [...parts].filter((part) => !quoted.has(part));
    // `src/diagrams/` is how `diagrams/` comes about, not part of the product.
    expect(missing.filter((part) => part !== 'src/diagrams/')).toEqual([]);
  });
});
