import { afterAll, beforeAll } from 'vitest';
import { systemClock } from '../../src/clock.ts';
import { type ChildServer, startChild } from '../../src/testing/conformance/child-server.ts';
import { runConformance } from '../../src/testing/conformance/conformance.ts';
import { configFiles } from '../../src/testing/conformance/kit/config-text.ts';
import { type Kit, startKit } from '../../src/testing/conformance/kit/kit.ts';
import type { Report } from '../../src/testing/conformance/report.ts';
import { type Fault, startProxy } from './conformance-proxy.ts';

const GRACE_SECS = 3;
/** A child process takes seconds to start on a machine that does much else. */
const START_MS = 60_000;

export interface ConformanceWorld {
  /** The report of these features; through a proxy with a fault where one is given. */
  report(features: readonly string[], fault?: Fault): Promise<Report>;
  readonly url: string;
}

/** The kit with one real server process for all tests of a file. */
export function conformanceWorld(): ConformanceWorld {
  let kit: Kit;
  let server: ChildServer;
  let reports = 0;
  beforeAll(async () => {
    kit = await startKit({ model: 0, mcp: 0 }, 'world');
    server = await startServer();
  }, START_MS);
  afterAll(async () => {
    await server.close();
    await kit.close();
  }, START_MS);

  const startServer = (): Promise<ChildServer> =>
    startChild({
      files: configFiles(kit.addresses),
      env: process.env,
      timers: systemClock,
      graceSecs: GRACE_SECS,
    });

  const test = (features: readonly string[], base: string): Promise<Report> =>
    runConformance({
      target: { base },
      // Reports on one server must not share their sessions.
      kit: { ...kit, name: `report-${(reports += 1)}` },
      features,
      startServer,
      fetch,
      timers: systemClock,
      now: Date.now,
      signal: new AbortController().signal,
    });

  return {
    get url() {
      return server.url;
    },
    report: async (features, fault) => {
      if (fault === undefined) return test(features, server.url);
      const proxy = await startProxy(server.url, fault);
      try {
        return await test(features, proxy.url);
      } finally {
        await proxy.close();
      }
    },
  };
}
