import { createMemoryStore } from '../../src/stores/memory.ts';
import type { Store } from '../../src/stores/store.ts';

/** Calls that change what is stored. */
const CHANGES: ReadonlySet<string> = new Set([
  'append',
  'putRecord',
  'decideApproval',
  'discard',
  'acquire',
  'renew',
  'release',
]);

interface Change {
  readonly method: string;
  readonly args: readonly unknown[];
}

/** A store in memory that remembers what was done to it, so that each earlier moment can be had again. */
export class RecordedStore {
  readonly store: Store;
  readonly #changes: Change[] = [];
  readonly #onChange: (at: number) => void;

  /** `onChange` is told before each change how many came before it. */
  constructor(onChange: (at: number) => void = () => {}) {
    this.#onChange = onChange;
    this.store = this.#recorded(createMemoryStore());
  }

  get length(): number {
    return this.#changes.length;
  }

  /** A store as it was after so many changes; it goes its own way from there. */
  after(count: number): Store {
    const store = createMemoryStore();
    for (const { method, args } of this.#changes.slice(0, count)) {
      const change: unknown = Reflect.get(store, method);
      if (typeof change === 'function') Reflect.apply(change, store, structuredClone(args));
    }
    return store;
  }

  #recorded(store: Store): Store {
    return new Proxy(store, {
      get: (target, key) => {
        const value: unknown = Reflect.get(target, key);
        if (typeof value !== 'function') return value;
        return (...args: unknown[]) => {
          if (CHANGES.has(String(key))) this.#note(String(key), args);
          return Reflect.apply(value, target, args) as unknown;
        };
      },
    });
  }

  #note(method: string, args: readonly unknown[]): void {
    this.#onChange(this.#changes.length);
    this.#changes.push({ method, args: structuredClone(args) });
  }
}
