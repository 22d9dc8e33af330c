import { readdirSync, readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { simulate } from '../../src/testing/simulation/simulate.ts';
import type { SimHistory } from '../../src/testing/simulation/steps.ts';

/** Histories that once showed a fault, in files. */

const FOLDER = new URL('histories/', import.meta.url);

const read = (file: string): SimHistory =>
  JSON.parse(readFileSync(new URL(file, FOLDER), 'utf8')) as SimHistory;

describe('kept histories', () => {
  it.each(readdirSync(FOLDER))('%s shows no fault', async (file) => {
    expect((await simulate(read(file))).faults).toEqual([]);
  });
});
