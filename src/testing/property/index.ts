/**
 * Arbitraries for fast-check, imported as `runwarden/testing/property`; they need `fast-check` beside
 * Runwarden. Naming something here makes it public.
 *
 * `simHistory` gives histories for `simulate`, which plays one and tells what is wrong:
 *
 * ```ts
 * await fc.assert(
 *   fc.asyncProperty(simHistory(), async (history) => {
 *     expect((await simulate(history)).faults).toEqual([]);
 *   }),
 * );
 * ```
 */

export { clientBehaviour, clockMove, fault, humanBehaviour } from './behaviours.ts';
export { simHistory, simSettings, simStep, startStep } from './history.ts';
export { modelEnd, modelPlay, modelScript, toolAsked } from './model-script.ts';
export {
  campaign,
  type CampaignOptions,
  type CampaignOutcome,
  type Failure,
  historyOf,
} from '../simulation/campaign.ts';
export { Reach, type ReachKind } from '../simulation/reach.ts';
export {
  closingLine,
  failureReport,
  historyText,
  journalsText,
  reachReport,
} from '../simulation/report.ts';
export { digestOf, simulate, type Simulated } from '../simulation/simulate.ts';
export type {
  AgentName,
  DecideHow,
  ModelEnd,
  ModelErrorCode,
  ModelPlay,
  ModelScript,
  SimHistory,
  SimSettings,
  SimStep,
  StartStep,
  ToolAsked,
  ToolName,
  ToolPlay,
} from '../simulation/steps.ts';
export { journalTable } from '../simulation/table.ts';
