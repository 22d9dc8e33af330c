/** Distinct keys in ascending order. Adding one near the end, as ids by time are, is cheap. */
export class OrderedKeys {
  readonly #keys: string[] = [];

  get size(): number {
    return this.#keys.length;
  }

  add(key: string): void {
    const at = this.#place(key);
    if (this.#keys[at] !== key) this.#keys.splice(at, 0, key);
  }

  delete(key: string): void {
    const at = this.#place(key);
    if (this.#keys[at] === key) this.#keys.splice(at, 1);
  }

  /** Keys below `before`, the greatest first. The keys must not change meanwhile. */
  *descending(before?: string): Iterable<string> {
    const end = before === undefined ? this.#keys.length : this.#place(before);
    for (let at = end - 1; at >= 0; at -= 1) yield this.#keys[at] as string;
  }

  /** Keys above `after` and below `before`, the smallest first. The keys must not change meanwhile. */
  *ascending(after: string, before?: string): Iterable<string> {
    const end = before === undefined ? this.#keys.length : this.#place(before);
    let at = this.#place(after);
    if (this.#keys[at] === after) at += 1;
    for (; at < end; at += 1) yield this.#keys[at] as string;
  }

  /** Where the key is, or would be; the end is looked at first. */
  #place(key: string): number {
    let low = 0;
    let high = this.#keys.length;
    if (high > 0 && (this.#keys[high - 1] as string) < key) return high;
    while (low < high) {
      const middle = (low + high) >>> 1;
      if ((this.#keys[middle] as string) < key) low = middle + 1;
      else high = middle;
    }
    return low;
  }
}

/** What `pick` gives for the keys, at most `limit`; it passes a key over with undefined. */
export function firstOf<T>(
  keys: Iterable<string>,
  limit: number,
  pick: (key: string) => T | undefined,
): T[] {
  const picked: T[] = [];
  for (const key of keys) {
    if (picked.length >= limit) break;
    const value = pick(key);
    if (value !== undefined) picked.push(value);
  }
  return picked;
}
