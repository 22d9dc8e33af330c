const NEWLINE = 0x0a;

/** A line is longer than its splitter keeps. */
export class LineTooLongError extends Error {
  override readonly name = 'LineTooLongError';

  constructor(bytesMax: number) {
    super(`A line is longer than ${bytesMax} bytes.`);
  }
}

/**
 * Cuts a byte stream into lines. Each byte is looked at once and copied at most once, however the
 * stream was cut; a line over `bytesMax` throws {@link LineTooLongError}.
 */
export class LineSplitter {
  readonly #bytesMax: number;
  #parts: Buffer[] = [];
  #size = 0;

  constructor(bytesMax: number) {
    this.#bytesMax = bytesMax;
  }

  /** Gives each line that the chunk completes, without its line break. */
  push(chunk: Buffer, onLine: (line: string) => void): void {
    let from = 0;
    for (let at = chunk.indexOf(NEWLINE); at !== -1; at = chunk.indexOf(NEWLINE, from)) {
      this.#keep(chunk.subarray(from, at));
      from = at + 1;
      onLine(this.#take());
    }
    if (from < chunk.length) this.#keep(chunk.subarray(from));
  }

  #keep(part: Buffer): void {
    this.#size += part.length;
    if (this.#size > this.#bytesMax) {
      this.#parts = [];
      this.#size = 0;
      throw new LineTooLongError(this.#bytesMax);
    }
    this.#parts.push(part);
  }

  #take(): string {
    const [only] = this.#parts;
    const whole =
      this.#parts.length === 1 && only !== undefined
        ? only
        : Buffer.concat(this.#parts, this.#size);
    this.#parts = [];
    this.#size = 0;
    const text = whole.toString('utf8');
    return text.endsWith('\r') ? text.slice(0, -1) : text;
  }
}
