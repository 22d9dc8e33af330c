/** Hands each item to the one who asks for it next, whichever of the two comes first. */
export class Mailbox<T> {
  readonly #items: T[] = [];
  readonly #waiting: ((item: T) => void)[] = [];
  #count = 0;

  /** Items so far. */
  get count(): number {
    return this.#count;
  }

  put(item: T): void {
    this.#count += 1;
    const next = this.#waiting.shift();
    if (next === undefined) this.#items.push(item);
    else next(item);
  }

  next(): Promise<T> {
    const item = this.#items.shift();
    if (item !== undefined) return Promise.resolve(item);
    return new Promise((resolve) => this.#waiting.push(resolve));
  }
}

/** Mailboxes by name, made when they are first named. */
export class Mailboxes<T> {
  readonly #boxes = new Map<string, Mailbox<T>>();

  of(name: string): Mailbox<T> {
    const known = this.#boxes.get(name) ?? new Mailbox<T>();
    this.#boxes.set(name, known);
    return known;
  }
}
