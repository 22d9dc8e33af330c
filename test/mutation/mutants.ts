import type { Mutant } from './mutant.ts';
import { APPROVAL_MUTANTS } from './mutants/approval.ts';
import { CLAIMS_MUTANTS } from './mutants/claims.ts';
import { FACTS_MUTANTS } from './mutants/facts.ts';
import { MCP_SERVER_MUTANTS } from './mutants/mcp-server.ts';
import { PORTS_MUTANTS } from './mutants/ports.ts';
import { RUN_MUTANTS } from './mutants/run.ts';
import { RUN_STOP_MUTANTS } from './mutants/run-stop.ts';
import { SESSION_MUTANTS } from './mutants/session.ts';
import { SHUTDOWN_MUTANTS } from './mutants/shutdown.ts';
import { TOOL_CALL_MUTANTS } from './mutants/tool-call.ts';
import { TURN_MUTANTS } from './mutants/turn.ts';

/** Every planted bug; each must be seen by a test. */
export const MUTANTS: readonly Mutant[] = [
  ...RUN_MUTANTS,
  ...RUN_STOP_MUTANTS,
  ...TURN_MUTANTS,
  ...TOOL_CALL_MUTANTS,
  ...APPROVAL_MUTANTS,
  ...CLAIMS_MUTANTS,
  ...SESSION_MUTANTS,
  ...SHUTDOWN_MUTANTS,
  ...MCP_SERVER_MUTANTS,
  ...PORTS_MUTANTS,
  ...FACTS_MUTANTS,
];
