import { expect, it } from 'vitest';
import { textOf } from '../../src/testing/conformance/report.ts';
import { FEATURES } from '../../src/testing/conformance/tasks.ts';
import { conformanceWorld } from '../support/conformance-world.ts';

/** The kit over real sockets against the product in a process of its own. */

const REPORT_MS = 600_000;
const world = conformanceWorld();

it(
  'passes every path of every feature on our own server',
  async () => {
    const report = await world.report(FEATURES);
    const odd = report.results.filter(({ verdict }) => verdict !== 'pass');
    expect(odd, textOf(report)).toEqual([]);
    expect([...new Set(report.results.map(({ feature }) => feature))]).toEqual(FEATURES);
    // What the walk comes to is many; a number far below says that the projection lost something.
    expect(report.charts.edges).toBeGreaterThan(2_000);
    expect(report.charts.paths).toBeGreaterThan(150);
    expect(report.summary).toEqual({ passed: report.results.length, failed: 0, skipped: 0 });
  },
  REPORT_MS,
);
