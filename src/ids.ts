import { randomUUID } from 'node:crypto';
import { v7 } from 'uuid';

/** Every id the product mints. Tests and the simulator give a counting source instead. */
export interface Ids {
  /** UUID v7, so that runs sort by their start. */
  run(): string;
  /** UUID v7: the `decision_id` of an approval. */
  decision(): string;
  /** `cs_` and 32 hex digits. */
  session(): string;
  /** `chatcmpl-` and a UUID v4. */
  completion(): string;
  /** `req_` and 32 hex digits. */
  request(): string;
  /** `obs_` and 32 hex digits. */
  observer(): string;
  /** What a process is known by to the store; a UUID without it. Unique among all that share a store. */
  owner?(): string;
}

const hex = (): string => randomUUID().replaceAll('-', '');

export const randomIds: Ids = {
  run: () => v7(),
  decision: () => v7(),
  session: () => `cs_${hex()}`,
  completion: () => `chatcmpl-${randomUUID()}`,
  request: () => `req_${hex()}`,
  observer: () => `obs_${hex()}`,
};
