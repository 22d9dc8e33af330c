import { describe, expect, it } from 'vitest';
import { textOf, type Verdict } from '../../src/testing/conformance/report.ts';
import type { Fault } from '../support/conformance-proxy.ts';
import { conformanceWorld } from '../support/conformance-world.ts';

/** A server is made worse by a proxy in front of it; the report names what is wrong, and only that. */

const REPORT_MS = 300_000;
const world = conformanceWorld();

const failuresOf = async (
  features: readonly string[],
  fault: Fault,
): Promise<readonly Verdict[]> => {
  const report = await world.report(features, fault);
  expect(report.summary.failed).toBe(report.results.filter(isFailure).length);
  for (const { path } of report.results.filter(isFailure)) expect(textOf(report)).toContain(path);
  return report.results.filter(isFailure);
};

const isFailure = ({ verdict }: Verdict): boolean => verdict === 'fail';
const pathsOf = (failures: readonly Verdict[]): readonly string[] =>
  failures.map(({ path }) => path);

const ofType = (frame: string, type: string): boolean => frame.includes(`"type":"${type}"`);

describe('the report on a broken server', () => {
  it(
    'shows an entry that never comes, what was waited for and the entries before it',
    async () => {
      const failures = await failuresOf(['replay'], {
        frames: (frame) => (ofType(frame, 'tool_complete') ? [] : [frame]),
      });
      expect(pathsOf(failures)).toEqual([
        'a reader that comes back while the run goes on misses nothing',
        'from includes, after excludes, Last-Event-ID beats both',
        'the lifecycle can be read alone, and entries by their names',
      ]);
      for (const { why, journal } of failures) {
        expect(why).toContain('INV-');
        expect(journal?.join()).toContain('tool_requested');
      }
    },
    REPORT_MS,
  );

  it(
    'finds a frame that comes twice',
    async () => {
      const failures = await failuresOf(['replay'], {
        frames: (frame) => (ofType(frame, 'text_delta') ? [frame, frame] : [frame]),
      });
      expect(failures.length).toBeGreaterThan(0);
      for (const { why } of failures) expect(why).toContain('INV-');
    },
    REPORT_MS,
  );

  it(
    'finds decisions of nobody that are taken for good',
    async () => {
      const failures = await failuresOf(['approvals'], {
        answer: ({ method, path }) =>
          method === 'POST' && path.includes('/approvals/00000000') ? 204 : undefined,
      });
      expect(pathsOf(failures)).toEqual([
        expect.stringContaining('somebody approves what nobody asked'),
        expect.stringContaining('somebody denies what nobody asked'),
      ]);
      expect(failures[0]?.expected).toContain('404');
    },
    REPORT_MS,
  );

  it(
    'finds streams without [DONE]',
    async () => {
      const failures = await failuresOf(['chat'], {
        frames: (frame) => (frame.includes('[DONE]') ? [] : [frame]),
      });
      expect(pathsOf(failures)).toContain(
        'a stream is chunks, one finish_reason, [DONE] and the end',
      );
      expect(failures.every(({ expected }) => expected?.includes('[DONE]'))).toBe(true);
    },
    REPORT_MS,
  );

  it(
    'finds a Last-Event-ID that is not looked at',
    async () => {
      const failures = await failuresOf(['replay'], { without: ['last-event-id'] });
      expect(pathsOf(failures)).toContain(
        'a reader that comes back while the run goes on misses nothing',
      );
    },
    REPORT_MS,
  );

  it(
    'finds refusals that do not name the field',
    async () => {
      const failures = await failuresOf(['errors'], {
        json: (text) => text.replace(/,"param":"[^"]*"/, ''),
      });
      expect(failures.length).toBeGreaterThan(10);
      for (const { path, expected } of failures) {
        expect(path).toMatch(/names|decision/);
        expect(expected).toContain('invalid_request_error');
      }
    },
    REPORT_MS,
  );

  it(
    'finds a run that ends for another reason than its journal says',
    async () => {
      const failures = await failuresOf(['tools'], {
        frames: (frame) => [frame.replace('"reason":"external"', '"reason":"unclaimed"')],
      });
      expect(failures.length).toBeGreaterThan(0);
      for (const { expected, seen } of failures) {
        expect(expected).toContain('cancelled(external)');
        expect(seen).toContain('cancelled(unclaimed)');
      }
    },
    REPORT_MS,
  );
});
