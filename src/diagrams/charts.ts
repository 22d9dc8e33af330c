import type { AnyStateMachine } from 'xstate';
import { approvalMachine } from '../../machines/approval.machine.ts';
import { claimsMachine } from '../../machines/claims.machine.ts';
import { mcpServerMachine } from '../../machines/mcp-server.machine.ts';
import { orphanMachine } from '../../machines/orphan.machine.ts';
import { runMachine } from '../../machines/run.machine.ts';
import { sessionMachine } from '../../machines/session.machine.ts';
import { shutdownMachine } from '../../machines/shutdown.machine.ts';
import { supervisorMachine } from '../../machines/supervisor.machine.ts';
import { toolCallMachine } from '../../machines/tool-call.machine.ts';
import { turnMachine } from '../../machines/turn.machine.ts';

/** A chart that is drawn: its source is `machines/<name>.machine.ts`. */
export interface Chart {
  readonly name: string;
  readonly machine: AnyStateMachine;
}

/** Every chart, in the order a newcomer reads them. A test compares the list with the folder. */
export const CHARTS: readonly Chart[] = [
  { name: 'supervisor', machine: supervisorMachine },
  { name: 'shutdown', machine: shutdownMachine },
  { name: 'session', machine: sessionMachine },
  { name: 'run', machine: runMachine },
  { name: 'claims', machine: claimsMachine },
  { name: 'turn', machine: turnMachine },
  { name: 'tool-call', machine: toolCallMachine },
  { name: 'approval', machine: approvalMachine },
  { name: 'mcp-server', machine: mcpServerMachine },
  { name: 'orphan', machine: orphanMachine },
];
