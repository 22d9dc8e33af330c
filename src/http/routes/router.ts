import { Router, type RouterMiddleware } from '@koa/router';
import type Koa from 'koa';
import type { HttpDeps } from '../deps.ts';
import { jsonBody } from '../middleware/json-body.ts';
import { approvalEvents } from './approval-events.ts';
import { getApproval, listApprovals } from './approvals.ts';
import { auraInfo } from './aura-info.ts';
import { decideApproval, decisionBody } from './decide-approval.ts';
import { health } from './health.ts';
import { getModel, listModels } from './models.ts';
import { runEvents } from './run-events.ts';
import { chartRun, explainRun } from './run-insight.ts';
import { cancelRun, getRun, listRuns, parkRun, resumeRun } from './runs.ts';
import { pathOf, type RouteName } from './scopes.ts';
import { sessionEvents } from './session-events.ts';
import { getSession, listSessions } from './sessions.ts';
import { startRun } from './start-run.ts';

export interface RoutesOptions extends HttpDeps {
  /** Serves `POST /v1/chat/completions`; the body is parsed when it is called. */
  readonly chat: Koa.Middleware;
}

/** Every route of this room. A POST has its JSON body parsed, as an object. */
export function createRoutes(options: RoutesOptions): Router {
  // A path has one spelling: no trailing slash, no other case.
  const router = new Router({ strict: true, sensitive: true });
  const body = jsonBody(options.config);
  const decision = decisionBody(body);
  const bodyOf = (route: RouteName): Koa.Middleware =>
    route === 'POST /v1/approvals/:decision_id' ? decision : body;
  const on = (route: RouteName, serve: RouterMiddleware): void => {
    if (route.startsWith('GET ')) router.get(pathOf(route), serve);
    else router.post(pathOf(route), bodyOf(route), serve);
  };
  on('GET /health', health(options));
  on('GET /aura/info', auraInfo(options));
  on('GET /v1/models', listModels(options));
  on('GET /v1/models/:id', getModel(options));
  on('POST /v1/chat/completions', options.chat);
  on('POST /v1/runs', startRun(options));
  on('GET /v1/runs', listRuns(options));
  on('GET /v1/runs/:id', getRun(options));
  on('GET /v1/runs/:id/events', runEvents(options));
  on('GET /v1/runs/:id/explain', explainRun(options));
  on('GET /v1/runs/:id/chart', chartRun(options));
  on('POST /v1/runs/:id/cancel', cancelRun(options));
  on('POST /v1/runs/:id/park', parkRun(options));
  on('POST /v1/runs/:id/resume', resumeRun(options));
  on('GET /v1/sessions', listSessions(options));
  on('GET /v1/sessions/:id', getSession(options));
  on('GET /v1/sessions/:id/events', sessionEvents(options));
  on('GET /v1/approvals', listApprovals(options));
  // Before the pattern that would take it for an id.
  on('GET /v1/approvals/events', approvalEvents(options));
  on('GET /v1/approvals/:decision_id', getApproval(options));
  on('POST /v1/approvals/:decision_id', decideApproval(options));
  return router;
}
