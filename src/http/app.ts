import type { Router } from '@koa/router';
import Koa from 'koa';
import type { Redact } from '../redact-secrets.ts';
import { authenticate } from './auth/authenticate.ts';
import { verifyDecisions } from './auth/decision-signature.ts';
import { isDisconnect } from './disconnect.ts';
import { browserGuard } from './middleware/browser-guard.ts';
import { errorEnvelope } from './middleware/error-envelope.ts';
import { demandJson } from './middleware/json-body.ts';
import { notFoundHere } from './middleware/not-found.ts';
import { requestLimits } from './middleware/request-limits.ts';
import { requestLog } from './middleware/request-log.ts';
import { shutdownGate } from './middleware/shutdown-gate.ts';
import { stallGuard } from './middleware/stall-guard.ts';
import { trackRequests } from './middleware/track-requests.ts';
import { createRoutes, type RoutesOptions } from './routes/router.ts';

export interface AppOptions extends RoutesOptions {
  /** Routers of other rooms, asked after the ones here. With `[auth]` they serve any valid key. */
  readonly more?: readonly Router[];
  /** Takes the secrets out of what an error tells; without it nothing is taken out. */
  readonly redact?: Redact;
}

/** The whole HTTP surface, ready for `listen`. */
export function createApp(options: AppOptions): Koa {
  const { handle, config, log, clock, more = [], redact = (text) => text } = options;
  const app = new Koa();
  app.on('error', (error: Error) => reportStray(error, options));
  app.use(requestLog(log, clock));
  app.use(stallGuard(options));
  app.use(errorEnvelope({ log, clock, redact }));
  app.use(requestLimits);
  // Before what refuses, so that a page whose origin is allowed can read why, and may still ask
  // whether it can decide an approval while the server shuts down.
  app.use(browserGuard(config));
  app.use(shutdownGate(handle));
  app.use(trackRequests(handle));
  app.use(verifyDecisions(options));
  app.use(authenticate(options));
  app.use(demandJson);
  app.use(createRoutes(options).middleware());
  for (const router of more) app.use(router.middleware());
  app.use(notFoundHere);
  return app;
}

/** What reaches Koa itself: errors of a socket, or of a handler whose response has begun. */
function reportStray(error: Error, { log, redact = (text) => text }: AppOptions): void {
  if (isDisconnect(error)) log.debug({}, 'The peer left.');
  else log.error({ stack: redact(error.stack ?? error.message) }, 'A response failed.');
}
