import type { ImportRef, SourceFile } from './architecture-sources.ts';

/**
 * Which part of the product a file belongs to. A file directly under `src` is a leaf unless it is
 * listed here, so that a new one is held to the strictest rule until somebody decides otherwise.
 */
export type Layer =
  | 'charts'
  | 'leaf'
  | 'contracts'
  | 'composition'
  | 'config'
  | 'journal'
  | 'stores'
  | 'ports'
  | 'facts'
  | 'transitions'
  | 'explain'
  | 'providers'
  | 'mcp'
  | 'hitl'
  | 'http'
  | 'console'
  | 'cli'
  | 'testing'
  | 'diagrams';

const FILES: Readonly<Record<string, Layer>> = {
  // Shapes that two layers agree on, with no behaviour of their own.
  'src/agent.ts': 'contracts',
  'src/model.ts': 'contracts',
  'src/tool.ts': 'contracts',
  'src/approval-item.ts': 'contracts',
  'src/handle.ts': 'contracts',
  'src/mcp/server-config.ts': 'contracts',
  // Pure, and of use to layers that may not know the rest of approvals.
  'src/hitl/origin.ts': 'leaf',
  'src/hitl/webhook/signing.ts': 'leaf',
  'src/hitl/elicitation.ts': 'leaf',
  'src/hitl/elicitation-fields.ts': 'leaf',
  'src/hitl/rules/pattern.ts': 'leaf',
  // It finds the run of a decision, so it stands with the ports that hold the runs.
  'src/hitl/approval-desk.ts': 'ports',
  // Where the layers are put together: only these files know them all.
  'src/build-agents.ts': 'composition',
  'src/compose.ts': 'composition',
  'src/create-supervisor.ts': 'composition',
  'src/feed.ts': 'composition',
  'src/http-config.ts': 'composition',
  'src/index.ts': 'composition',
  'src/indexed-scheduler.ts': 'composition',
  'src/option-checks.ts': 'composition',
  'src/other-processes.ts': 'composition',
  'src/recovery.ts': 'composition',
  'src/resumer.ts': 'composition',
  'src/session-places.ts': 'composition',
  'src/retention.ts': 'composition',
  'src/invariant-watch.ts': 'composition',
  'src/parked-expiry.ts': 'composition',
  'src/parked-runs.ts': 'composition',
  'src/server.ts': 'composition',
  'src/supervisor.ts': 'composition',
  'src/supervisor-handle.ts': 'composition',
  'src/supervisor-options.ts': 'composition',
};

/** What each layer may import beside itself, at run time or as a type. */
const MAY_IMPORT: Readonly<Record<Layer, readonly Layer[]>> = {
  charts: [],
  leaf: [],
  contracts: ['leaf', 'journal'],
  config: ['leaf', 'contracts', 'hitl'],
  journal: ['leaf', 'contracts', 'stores'],
  stores: ['leaf', 'contracts', 'journal'],
  ports: ['leaf', 'contracts', 'charts', 'journal', 'facts', 'transitions', 'hitl'],
  facts: ['leaf', 'contracts', 'charts', 'journal', 'ports', 'hitl'],
  transitions: ['leaf'],
  explain: ['leaf', 'contracts', 'journal', 'transitions'],
  providers: ['leaf', 'contracts'],
  mcp: ['leaf', 'contracts', 'charts'],
  hitl: ['leaf', 'contracts'],
  http: ['leaf', 'contracts', 'journal'],
  console: ['leaf', 'contracts', 'journal'],
  cli: ['leaf', 'contracts', 'config', 'composition', 'testing'],
  diagrams: ['leaf', 'charts', 'testing'],
  testing: [
    'leaf',
    'contracts',
    'charts',
    'journal',
    'stores',
    'providers',
    'mcp',
    'http',
    'transitions',
    'composition',
  ],
  composition: [
    'leaf',
    'contracts',
    'charts',
    'config',
    'journal',
    'stores',
    'ports',
    'facts',
    'transitions',
    'explain',
    'providers',
    'mcp',
    'hitl',
    'http',
    'console',
  ],
};

/** What a layer may name but not use. */
const MAY_NAME: Partial<Readonly<Record<Layer, readonly Layer[]>>> = {
  contracts: ['hitl'],
  explain: ['charts', 'ports'],
};

/** The only chart file that every layer may take types from. */
const SHARED_TYPES = 'machines/vocabulary.ts';

/** What readers may know of the journal. */
const READ_SIDE: ReadonlySet<string> = new Set(['src/journal/events.ts', 'src/journal/reader.ts']);
const READERS: ReadonlySet<Layer> = new Set(['http', 'console', 'cli']);

/** One SDK, one place. A package that is not listed may not be imported by the product. */
const PACKAGE_HOMES: Readonly<Record<string, readonly string[]>> = {
  '@koa/bodyparser': ['src/http/'],
  '@koa/router': ['src/http/'],
  '@modelcontextprotocol/sdk': ['src/mcp/'],
  '@viz-js/viz': ['src/diagrams/'],
  '@xstate/graph': ['src/diagrams/', 'src/testing/'],
  commander: ['src/cli/', 'src/config/'],
  'eventsource-parser': ['src/cli/', 'src/providers/', 'src/testing/'],
  'fast-check': ['src/testing/property/', 'src/testing/simulation/'],
  koa: ['src/http/'],
  'koa-sse-stream': ['src/http/'],
  'node:http': [
    'src/hitl/webhook/',
    'src/http/',
    'src/providers/',
    'src/mcp/',
    'src/testing/',
    'src/server.ts',
  ],
  'node:sqlite': ['src/stores/'],
  openai: ['src/providers/', 'src/testing/'],
  re2js: ['src/hitl/'],
  pino: ['src/log.ts'],
  'prom-client': ['src/http/', 'src/metrics.ts'],
  'smol-toml': ['src/config/'],
  undici: ['src/providers/', 'src/mcp/'],
  uuid: ['src/ids.ts'],
  xstate: [
    'machines/',
    'src/supervisor.ts',
    'src/commands/',
    'src/feed.ts',
    'src/indexed-scheduler.ts',
    'src/mcp/',
    'src/ports/',
    'src/testing/',
    'src/transitions/',
    'src/explain/',
    'src/diagrams/',
  ],
  zod: ['src/cli/', 'src/config/', 'src/hitl/', 'src/http/', 'src/mcp/', 'src/journal/'],
};

export function layerOf(path: string): Layer {
  if (path.startsWith('machines/')) return 'charts';
  const listed = FILES[path];
  if (listed !== undefined) return listed;
  // The handle, one command a file.
  if (path.startsWith('src/commands/')) return 'composition';
  const folder = /^src\/([^/]+)\//.exec(path)?.[1];
  if (folder === undefined) return 'leaf';
  if (!(folder in MAY_IMPORT)) throw new Error(`src/${folder} is no layer of the architecture.`);
  // The line above has just checked that it is a key.
  return folder as Layer;
}

/** What is wrong with the imports of `file`, one sentence each. */
export function brokenImports(file: SourceFile): readonly string[] {
  return file.imports.flatMap((ref) => {
    const wrong = ref.isRelative ? wrongFile(file.path, ref) : wrongPackage(file.path, ref);
    return wrong === undefined ? [] : [`${file.path}:${ref.line} ${wrong}`];
  });
}

function wrongFile(path: string, ref: ImportRef): string | undefined {
  if (!ref.specifier.endsWith('.ts')) return `imports ${ref.specifier} without its extension`;
  if (!/^(src|machines)\//.test(ref.target)) return `imports ${ref.target}, which is not shipped`;
  const [from, to] = [layerOf(path), layerOf(ref.target)];
  if (to === 'charts' && ref.target === SHARED_TYPES && ref.isType) return undefined;
  if (ref.isType && MAY_NAME[from]?.includes(to) === true) return undefined;
  if (from !== to && !MAY_IMPORT[from].includes(to)) {
    return `(${from}) imports ${ref.target} (${to})`;
  }
  if (READERS.has(from) && to === 'journal' && !READ_SIDE.has(ref.target)) {
    return `imports ${ref.target}, beyond the journal's read side`;
  }
  return undefined;
}

function wrongPackage(path: string, ref: ImportRef): string | undefined {
  const homes = PACKAGE_HOMES[ref.target];
  if (homes?.some((home) => path.startsWith(home)) === true) return undefined;
  if (homes === undefined && ref.target.startsWith('node:')) {
    return path.startsWith('machines/') ? `imports ${ref.target} into a chart` : undefined;
  }
  return homes === undefined
    ? `imports ${ref.target}, a package without a home`
    : `imports ${ref.target}, whose home is ${homes.join(', ')}`;
}
