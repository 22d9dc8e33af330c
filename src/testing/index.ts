/** The test kit, imported as `runwarden/testing`. Naming something here makes it public. */

export {
  CHECKS,
  type Check,
  checkJournal,
  type CheckOptions,
  type Violation,
} from '../journal/invariants.ts';
export {
  createScriptedProvider,
  type ScriptedOptions,
  type ScriptStep,
  type ScriptTurn,
} from '../providers/scripted.ts';
export type {
  ChildAct,
  ChildActs,
  Commands,
  Composition,
  CompositionEdge,
  CompositionInvariant,
  CompositionOptions,
  CompositionTimer,
  CompositionView,
  Happening,
  RunningChart,
} from './composition/contract.ts';
export { exploreComposition } from './composition/explore.ts';
export { CompositionError } from './composition/oracle.ts';
export { compositionTable } from './composition/table.ts';
export { type Coverage, type CoverageRow, coverageTable, createCoverage } from './coverage.ts';
export {
  type ChartTimer,
  type Drive,
  type DriveOptions,
  fakeSources,
  startDrive,
} from './drive.ts';
export { driveEdge, driveEdges, transitionTable } from './edges.ts';
export {
  type FakeUpstream,
  type FakeUpstreamOptions,
  startFakeUpstream,
  type UpstreamAnswer,
  type UpstreamRequest,
} from './fake-upstream.ts';
export {
  delta,
  finish,
  type ReplyOptions,
  reply,
  toolCallParts,
  type UpstreamStep,
  type UpstreamToolCall,
  type UpstreamUsage,
} from './fake-upstream-steps.ts';
export { createCountingIds } from './ids.ts';
export { withVariant } from './labels.ts';
export {
  type Edge,
  edgesOf,
  type Fields,
  type PathOptions,
  type Payload,
  type Payloads,
} from './paths.ts';
export { readJournal } from './read-journal.ts';
export { createPorts, type FirstSnapshots, type PortCall, type Ports } from './ports.ts';
export {
  createVirtualClock,
  type PendingTimer,
  type VirtualClock,
} from './virtual-clock.ts';
