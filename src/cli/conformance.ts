import { appendFileSync, mkdirSync, writeFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { type ChildServer, startChild } from '../testing/conformance/child-server.ts';
import { NotTestable, runConformance } from '../testing/conformance/conformance.ts';
import { configFiles, SERVER_FLAGS } from '../testing/conformance/kit/config-text.ts';
import { addressesOf, type Kit, type KitPorts, startKit } from '../testing/conformance/kit/kit.ts';
import { type Report, textOf } from '../testing/conformance/report.ts';
import { GRACE_SECS } from '../testing/conformance/shutdown-tasks.ts';
import { FEATURES } from '../testing/conformance/tasks.ts';
import { OperatorError, wrongUsage } from './client/errors.ts';
import { EXIT } from './client/exit-codes.ts';
import { targetOf } from './client/target.ts';
import { type OperatorCall, option } from './operator.ts';

/** Where the kit listens when it tests a server of somebody else, who must know it beforehand. */
const PORTS: KitPorts = { model: 4_901, mcp: 4_902 };

/** Tests a running server, or one that it starts; prints the report. Exit code 1 when a path failed. */
export async function conformance(call: OperatorCall): Promise<void> {
  if (call.flags['print-config'] !== undefined) return printConfig(call);
  const features = featuresOf(option(call, 'only'));
  const isOwn = option(call, 'url') === undefined;
  if (!isOwn && call.flags['serve'] === true) {
    throw wrongUsage('--serve starts a server of its own; leave it out, or --url.');
  }
  openReport(call);
  const report = isOwn ? await testOwn(call, features) : await testOther(call, features);
  printReport(call, report);
  if (report.summary.failed === 0) return;
  throw new OperatorError({ code: 'conformance', message: '', exitCode: EXIT.refused });
}

function featuresOf(only: string | undefined): readonly string[] {
  if (only === undefined) return FEATURES;
  const wanted = only.split(',').map((name) => name.trim());
  const unknown = wanted.find((name) => !FEATURES.includes(name));
  if (unknown === undefined) return wanted;
  throw wrongUsage(`There is no feature "${unknown}"; there are ${FEATURES.join(', ')}.`);
}

/** The configuration for a server under test: in a folder, or on the output. */
function printConfig(call: OperatorCall): void {
  const { io } = call;
  const ports = portsOf(call, PORTS);
  const files = configFiles(addressesOf(ports));
  const folder = option(call, 'print-config');
  if (folder === undefined) {
    for (const { name, text } of files) io.out(`# ${name}\n${text}\n`);
    return;
  }
  const path = pathOf(call, folder);
  writing(folder, () => {
    mkdirSync(path, { recursive: true });
    for (const { name, text } of files) writeFileSync(resolve(path, name), text);
  });
  io.out(`Start the server with:
  runwarden serve --config ${folder} ${SERVER_FLAGS.join(' ')}
and test it with:
  runwarden conformance --url http://127.0.0.1:8080 --model-port ${ports.model} --mcp-port ${ports.mcp}
`);
}

function portsOf(call: OperatorCall, without: KitPorts): KitPorts {
  const port = (name: string, otherwise: number): number => Number(option(call, name) ?? otherwise);
  return { model: port('model-port', without.model), mcp: port('mcp-port', without.mcp) };
}

async function testOther(call: OperatorCall, features: readonly string[]): Promise<Report> {
  const target = targetOf(call.flags, call.io);
  return withKit(call, PORTS, (kit) => test(call, { target, kit, features }));
}

/** Starts a server of this package for the report, and more for the paths that end theirs. */
async function testOwn(call: OperatorCall, features: readonly string[]): Promise<Report> {
  const { io } = call;
  return withKit(call, { model: 0, mcp: 0 }, async (kit) => {
    const files = configFiles(kit.addresses);
    const startServer = (): Promise<ChildServer> =>
      startChild({ files, env: io.env, timers: io.timers, graceSecs: GRACE_SECS });
    const server = await startServer();
    try {
      return await test(call, { target: { base: server.url }, kit, features, startServer });
    } finally {
      await server.close();
    }
  });
}

async function withKit<T>(
  call: OperatorCall,
  without: KitPorts,
  use: (kit: Kit) => Promise<T>,
): Promise<T> {
  const ports = portsOf(call, without);
  // No two reports on one server may share a session.
  const name = `conformance-${call.io.now().toString(36)}`;
  const kit = await startKit(ports, name).catch((error: unknown) => {
    const why = error instanceof Error ? error.message : String(error);
    throw wrongUsage(`The scripted model or MCP server cannot listen: ${why}.`);
  });
  try {
    return await use(kit);
  } finally {
    await kit.close();
  }
}

type Subject = Pick<
  Parameters<typeof runConformance>[0],
  'target' | 'kit' | 'features' | 'startServer'
>;

async function test({ io, signal }: OperatorCall, subject: Subject): Promise<Report> {
  try {
    const report = await runConformance({ ...subject, ...io, signal });
    signal.throwIfAborted();
    return report;
  } catch (error) {
    if (!(error instanceof NotTestable)) throw error;
    const remedy = 'Write its configuration with --print-config DIR.';
    const message = `${error.message} ${remedy}`;
    throw new OperatorError({ code: 'not_testable', message, exitCode: EXIT.unreachable });
  }
}

/** A report that cannot be written is found before the paths are taken. */
function openReport(call: OperatorCall): void {
  const file = option(call, 'json');
  if (file !== undefined && file !== '-')
    writing(file, () => appendFileSync(pathOf(call, file), ''));
}

function writing(name: string, write: () => void): void {
  try {
    write();
  } catch (error) {
    throw wrongUsage(`${name} cannot be written: ${(error as NodeJS.ErrnoException).code}.`);
  }
}

const pathOf = ({ io }: OperatorCall, name: string): string => resolve(io.cwd, name);

/** JSON goes to a file, or takes the output for itself; the text goes to the other side then. */
function printReport(call: OperatorCall, report: Report): void {
  const { io } = call;
  const file = option(call, 'json');
  const json = `${JSON.stringify(report, null, 2)}\n`;
  if (file === '-') io.out(json);
  else if (file !== undefined) writing(file, () => writeFileSync(pathOf(call, file), json));
  const text = textOf(report);
  if (file === '-') io.err(text);
  else io.out(text);
}
