import type { Bus } from './store.ts';

/** A bus for the journals of one process. */
export function createLocalBus(): Bus {
  const topics = new Map<string, Set<(head: number) => void>>();
  return {
    publish(sessionId, head) {
      const listeners = topics.get(sessionId);
      if (listeners !== undefined) for (const onGrown of listeners) onGrown(head);
    },
    subscribe(sessionId, onGrown) {
      const listeners = topics.get(sessionId) ?? new Set();
      topics.set(sessionId, listeners);
      listeners.add(onGrown);
      return () => {
        listeners.delete(onGrown);
        if (listeners.size === 0 && topics.get(sessionId) === listeners) topics.delete(sessionId);
      };
    },
  };
}
