import type { Layer, Suites } from './layers.ts';

type SuiteLayer = Exclude<Layer, 'tables' | 'types'>;

/** The short name of a suite, by layer: `approval` of the model layer is `test/model/approval.model.test.ts`. */
const PATHS: Readonly<Record<SuiteLayer, (name: string) => string>> = {
  conformance: (name) => `test/conformance/${name}.test.ts`,
  unit: (name) => `test/unit/${name}.test.ts`,
  model: (name) => `test/model/${name}.model.test.ts`,
  property: (name) => (name === MCP ? MCP_PROPERTY : `test/property/${name}.property.test.ts`),
  simulation: (name) => `test/simulation/${name}.test.ts`,
  integration: (name) => `test/integration/${name}.test.ts`,
};

/** Its edges are told by test titles, not by a table, and its property stands beside them. */
const MCP = 'mcp-server';
const MCP_PROPERTY = 'test/model/mcp-server.property.test.ts';

type Names = Partial<Record<SuiteLayer, readonly string[]>>;

const CHART = ['architecture-charts', 'diagrams'];
const PORT = ['architecture', 'architecture-text'];

const RUN: Names = {
  conformance: CHART,
  model: ['run'],
  property: ['machine-run', 'run-histories'],
  simulation: ['stops', 'deadlines', 'parking', 'park-states', 'resume', 'finalization'],
  integration: ['system-cancel', 'system-deadlines'],
};

const TOOL_CALL: Names = {
  conformance: CHART,
  unit: ['hitl-withdrawals'],
  model: ['tool-call'],
  property: ['machine-tool-call'],
  simulation: ['approvals', 'stops', 'deadlines', 'parked-webhook'],
  integration: ['system-hitl-elicit', 'system-hitl-withdraw'],
};

const APPROVAL_PORTS: Names = {
  conformance: PORT,
  property: ['run-histories', 'world-histories'],
  simulation: ['approvals', 'parked-approvals', 'kept-grants'],
  integration: ['system-approvals', 'system-hitl-deciders'],
};

/** Which suites concern a file. What is planted there must die in one of them. */
const OF: Readonly<Record<string, Names>> = {
  'machines/approval.machine.ts': {
    conformance: CHART,
    model: ['approval'],
    property: ['machine-approval'],
    simulation: ['approvals', 'parked-webhook'],
    integration: ['system-hitl-webhook', 'hitl-webhook'],
  },
  'machines/claims.machine.ts': {
    conformance: CHART,
    model: ['claims'],
    property: ['machine-claims'],
    simulation: ['liveness', 'liveness-causes'],
    integration: ['system-liveness'],
  },
  'machines/mcp-server.machine.ts': {
    conformance: CHART,
    model: [MCP],
    property: [MCP],
    integration: ['mcp-http'],
  },
  'machines/orphan.machine.ts': {
    conformance: CHART,
    model: ['orphan'],
    property: ['recovery'],
    simulation: ['recovery', 'recovery-bounds'],
    integration: ['system-crash'],
  },
  'machines/pool.ts': {
    unit: ['pool'],
    property: ['pool'],
    simulation: ['shutdown'],
    integration: ['system-shutdown'],
  },
  'machines/run.machine.ts': RUN,
  'machines/run.parking.ts': RUN,
  'machines/run.rules.ts': RUN,
  'machines/run.setup.ts': RUN,
  'machines/run.step.ts': RUN,
  'machines/session.machine.ts': {
    conformance: CHART,
    model: ['session'],
    property: ['machine-session', 'session-starts'],
    simulation: ['sessions', 'sessions-interrupt'],
    integration: ['system-runs-busy'],
  },
  'machines/shutdown.machine.ts': {
    conformance: CHART,
    model: ['shutdown'],
    property: ['machine-shutdown'],
    simulation: ['shutdown'],
    integration: ['system-shutdown'],
  },
  'machines/supervisor.machine.ts': {
    conformance: CHART,
    model: ['supervisor'],
    property: ['machine-supervisor'],
    simulation: ['shutdown', 'tenants'],
    integration: ['system-shutdown'],
  },
  'machines/tool-call.machine.ts': TOOL_CALL,
  'machines/tool-call.setup.ts': TOOL_CALL,
  'machines/withdrawn-for.ts': TOOL_CALL,
  'machines/turn.machine.ts': {
    conformance: CHART,
    model: ['turn'],
    property: ['machine-turn'],
    simulation: ['deadlines', 'conversations'],
    integration: ['system-provider'],
  },
  'src/facts/approvals.ts': { ...APPROVAL_PORTS, unit: ['facts-approvals'] },
  'src/facts/call-ended.ts': {
    ...APPROVAL_PORTS,
    simulation: ['stops', 'finalization', 'approvals'],
  },
  'src/facts/run-facts.ts': {
    conformance: PORT,
    property: ['run-histories'],
    simulation: ['stops', 'finalization', 'liveness'],
    integration: ['system-cancel'],
  },
  'src/hitl/approval-desk.ts': {
    ...APPROVAL_PORTS,
    simulation: ['too-early-too-late', 'approvals', 'store-in-trouble', 'tenants'],
  },
  'src/hitl/grants.ts': {
    conformance: PORT,
    unit: ['hitl-grants'],
    simulation: ['kept-grants'],
    integration: ['system-hitl-grants'],
  },
  'src/journal/run-journal.ts': {
    conformance: PORT,
    unit: ['journal-settling', 'journal-writing'],
    property: ['journal'],
    simulation: ['finalization'],
    integration: ['system-crash'],
  },
  'src/ports/approved-call.ts': { ...APPROVAL_PORTS, unit: ['approved-call'] },
  'src/ports/execute-tool.ts': {
    conformance: PORT,
    property: ['run-histories'],
    simulation: ['stops', 'deadlines', 'too-early-too-late', 'finalization'],
    integration: ['system-cancel'],
  },
  'src/ports/gate-of.ts': { ...APPROVAL_PORTS, unit: ['gate-of'] },
  'src/ports/settle-run.ts': {
    conformance: PORT,
    property: ['run-histories'],
    simulation: ['finalization', 'stops', 'store-in-trouble', 'parked-approvals'],
    integration: ['system-crash'],
  },
  'src/ports/stopwatch.ts': {
    conformance: PORT,
    property: ['run-histories'],
    simulation: ['deadlines'],
    integration: ['system-deadlines'],
  },
  'src/ports/stream-turn.ts': {
    conformance: PORT,
    property: ['run-histories'],
    simulation: ['conversations', 'stops', 'resume'],
    integration: ['system-chat'],
  },
  'src/ports/turn-sink.ts': {
    conformance: PORT,
    property: ['run-histories'],
    simulation: ['conversations', 'stops', 'deadlines'],
    integration: ['system-chat'],
  },
};

/** The suites that concern a file, by layer. Throws for a file that nobody has assigned any to. */
export function suitesOf(file: string): Suites {
  const names = OF[file];
  if (names === undefined) throw new Error(`No suites are assigned to ${file}.`);
  const layers = Object.entries(names) as [SuiteLayer, readonly string[]][];
  const suites = layers.map(([layer, list]) => [layer, list.map((name) => PATHS[layer](name))]);
  const { model, ...others }: Suites = Object.fromEntries(suites);
  const isTabled = model !== undefined && names.model?.includes(MCP) === false;
  return { types: [], ...(isTabled && { tables: model }), ...(model && { model }), ...others };
}
