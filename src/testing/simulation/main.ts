import { readFileSync, writeFileSync } from 'node:fs';
import { parseArgs } from 'node:util';
import { systemClock } from '../../clock.ts';
import { campaign, faultsOf } from './campaign.ts';
import { checkKept, type KeptReport } from './kept-journal.ts';
import { failureReport, historyText, journalsText, reachReport } from './report.ts';
import { digestOf, type Simulated, simulate } from './simulate.ts';
import type { SimHistory } from './steps.ts';

/**
 * `npm run simulate -- [--seed N] [--runs N] [--steps N] [--keep FILE] [--digests]`: plays a history for each seed
 * and tells what was reached; `--replay FILE` plays one from a file; `--journal FILE` checks the journal
 * of a real server. Exit code 0: nothing is wrong; 1: something is; 2: wrong usage.
 */

const USAGE = `Usage: npm run simulate -- [options]
  --seed N        seed of the first run; the next ones follow (default: a fresh one)
  --runs N        how many histories (default 200)
  --steps N       the most steps of a history (default 20)
  --digests       print a digest of the journals of each run
  --keep FILE     write the shortest failing history there
  --replay FILE   play a history from a file, and show its journal
  --journal FILE  check the journal of a server: JSON lines, or the text of /v1/sessions/{id}/events
`;

const say = (text: string): void => void process.stdout.write(`${text}\n`);

async function main(): Promise<number> {
  const options = optionsOf(process.argv.slice(2));
  if (typeof options === 'string') return misused(options);
  if (options.replay !== undefined) return await replay(options.replay);
  if (options.journal !== undefined) return await journal(options.journal);
  return await many(options);
}

interface Options {
  readonly seed: number;
  readonly runs: number;
  readonly stepsMax: number;
  readonly digests: boolean;
  readonly keep: string | undefined;
  readonly replay: string | undefined;
  readonly journal: string | undefined;
}

function misused(why: string): number {
  process.stderr.write(`${why}\n\n${USAGE}`);
  return 2;
}

/** The options, or what is wrong with them. */
function optionsOf(args: string[]): Options | string {
  const text = { type: 'string' } as const;
  try {
    const options = {
      ...{ seed: text, runs: text, steps: text, keep: text, replay: text, journal: text },
      digests: { type: 'boolean' },
    } as const;
    const { values } = parseArgs({ args, options });
    const seed = wholeOr(values.seed, systemClock.now() % 1_000_000_000);
    const [runs, stepsMax] = [wholeOr(values.runs, 200), wholeOr(values.steps, 20)];
    const { keep, replay: file, journal: kept, digests = false } = values;
    return { seed, runs, stepsMax, digests, keep, replay: file, journal: kept };
  } catch (error) {
    return error instanceof Error ? error.message : String(error);
  }
}

/** Throws for what is no whole number from 1. */
function wholeOr(given: string | undefined, fallback: number): number {
  if (given === undefined) return fallback;
  if (/^[1-9]\d{0,8}$/.test(given)) return Number(given);
  throw new RangeError(`"${given}" is no whole number from 1 to 999999999.`);
}

async function many(options: Options): Promise<number> {
  say(`Seed ${options.seed}, ${options.runs} runs of at most ${options.stepsMax} steps.`);
  const onPlayed = (seed: number, played: Simulated): void => say(`${seed} ${digestOf(played)}`);
  const { reach, failure } = await campaign({ ...options, ...(options.digests && { onPlayed }) });
  say(reachReport(reach));
  if (failure === undefined) return 0;
  say(`\n${failureReport(failure, options)}`);
  if (options.keep !== undefined) writeFileSync(options.keep, `${historyText(failure.shrunk)}\n`);
  say(`\n${journalsText(await simulate(failure.shrunk))}`);
  return 1;
}

async function replay(file: string): Promise<number> {
  const history = historyIn(file);
  if (typeof history === 'string') return misused(history);
  const { faults } = await faultsOf(history);
  say(journalsText(await simulate(history)));
  say(faults.length === 0 ? '\nNothing is wrong.' : '');
  for (const fault of faults) say(`Fault: ${fault}`);
  return faults.length === 0 ? 0 : 1;
}

/** The history of a file, or why it holds none. */
function historyIn(file: string): SimHistory | string {
  try {
    const history = JSON.parse(readFileSync(file, 'utf8')) as Partial<SimHistory> | null;
    if (Array.isArray(history?.steps) && history.settings !== undefined) {
      return history as SimHistory;
    }
    return `${file} holds no history: it has no "settings" and "steps".`;
  } catch (error) {
    return `${file} holds no history: ${error instanceof Error ? error.message : String(error)}`;
  }
}

/** What the journal of a file shows, or why it holds none. */
async function keptIn(file: string): Promise<KeptReport | string> {
  try {
    return await checkKept(readFileSync(file, 'utf8'));
  } catch (error) {
    return `${file} holds no journal: ${error instanceof Error ? error.message : String(error)}`;
  }
}

async function journal(file: string): Promise<number> {
  const kept = await keptIn(file);
  if (typeof kept === 'string') return misused(kept);
  const { report, faults } = kept;
  say(report);
  for (const fault of faults) say(`Fault: ${fault}`);
  return faults.length === 0 ? 0 : 1;
}

process.exitCode = await main();
