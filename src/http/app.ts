import { Router } from '@koa/router';
import Koa from 'koa';
import type { HttpDeps } from './deps.ts';
import { isDisconnect } from './disconnect.ts';
import { browserGuard } from './middleware/browser-guard.ts';
import { errorEnvelope } from './middleware/error-envelope.ts';
import { demandJson, jsonBody } from './middleware/json-body.ts';
import { notFoundHere } from './middleware/not-found.ts';
import { requestLog } from './middleware/request-log.ts';
import { shutdownGate } from './middleware/shutdown-gate.ts';
import { stallGuard } from './middleware/stall-guard.ts';
import { trackRequests } from './middleware/track-requests.ts';
import { decideApproval } from './routes/approvals.ts';
import { auraInfo } from './routes/aura-info.ts';
import { health } from './routes/health.ts';
import { getModel, listModels } from './routes/models.ts';
import { runEvents } from './routes/run-events.ts';
import { cancelRun, getRun } from './routes/runs.ts';

export interface AppOptions extends HttpDeps {
  /** Serves `POST /v1/chat/completions`; the body is parsed when it is called. */
  readonly chat: Koa.Middleware;
  /** Routers of other rooms, asked after the ones here. */
  readonly more?: readonly Router[];
}

/** The whole HTTP surface, ready for `listen`. */
export function createApp(options: AppOptions): Koa {
  const { handle, config, log, clock, more = [] } = options;
  const app = new Koa();
  app.on('error', (error: Error) => reportStray(error, options));
  app.use(requestLog(log, clock));
  app.use(stallGuard(options));
  app.use(errorEnvelope(log, clock));
  app.use(shutdownGate(handle));
  app.use(trackRequests(handle));
  app.use(browserGuard(config));
  app.use(demandJson);
  app.use(routes(options).middleware());
  for (const router of more) app.use(router.middleware());
  app.use(notFoundHere);
  return app;
}

function routes(options: AppOptions): Router {
  // A path has one spelling: no trailing slash, no other case.
  const router = new Router({ strict: true, sensitive: true });
  const body = jsonBody(options.config);
  router.get('/health', health(options));
  router.get('/aura/info', auraInfo(options));
  router.get('/v1/models', listModels(options));
  router.get('/v1/models/:id', getModel(options));
  router.post('/v1/chat/completions', body, options.chat);
  router.post('/v1/approvals/:decision_id', body, decideApproval(options));
  router.get('/v1/runs/:id', getRun(options));
  router.get('/v1/runs/:id/events', runEvents(options));
  router.post('/v1/runs/:id/cancel', body, cancelRun(options));
  return router;
}

/** What reaches Koa itself: errors of a socket, or of a handler whose response has begun. */
function reportStray(error: Error, { log }: AppOptions): void {
  if (isDisconnect(error)) log.debug({}, 'The peer left.');
  else log.error({ stack: error.stack }, 'A response failed.');
}
