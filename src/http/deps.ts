import type { Clock } from '../clock.ts';
import type { SupervisorHandle } from '../handle.ts';
import type { Ids } from '../ids.ts';
import type { HttpConfig, HttpLog } from './config.ts';
import type { SsePool } from './sse-pool.ts';

/** What the routes work with. */
export interface HttpDeps {
  readonly handle: SupervisorHandle;
  readonly config: HttpConfig;
  readonly log: HttpLog;
  readonly clock: Clock;
  readonly ids: Ids;
  /** One for all streams of the server, chat streams included. */
  readonly pool: SsePool;
}
