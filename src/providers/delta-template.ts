/**
 * The fast path of a stream's plain deltas: it reads the text out of a frame without parsing the
 * frame, and only where parsing could not have said anything else.
 *
 * Why it agrees with `JSON.parse`. A template is cut out of a frame that was parsed and meant
 * nothing but its text: what stands before the text's string, between its quotes, and after it.
 * Putting another string between those quotes changes the value of that one string and nothing
 * else, as long as it holds no quote, no backslash and no control character, since then it cannot
 * end the string nor be escaped. That the quotes are really those of the text is not assumed: a
 * probe is put between them and parsed once. The same holds for the `obfuscation` that OpenAI
 * fills with noise after the text.
 *
 * The strings it gives share the memory of the frame they came in.
 */

/** What a template needs of a parsed frame. */
export interface PlainFrame {
  /** Where the text stands in the frame's value. */
  readonly textOf: (frame: unknown) => unknown;
  readonly text: string;
  readonly obfuscation?: string;
}

/** Distinct from anything a frame holds by accident; plain, so it may stand in any string. */
const PROBE_TEXT = '\u{e000}runwarden-text\u{e001}';
const PROBE_NOISE = '\u{e000}runwarden-noise\u{e001}';

/** The first character of a probe, as it is or escaped. */
const MAY_HOLD_PROBE = /\u{e000}|\\u/u;

/** Frames that fit no earlier one are not worth learning from for ever. */
const FRUITLESS_MAX = 8;

const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const SPACE = 0x20;

export class DeltaTemplate {
  /** Ends with the opening quote of the text; empty while nothing is learned. */
  #head = '';
  /** From the closing quote of the text to the end, or to the opening quote of the noise. */
  #middle = '';
  /** From the closing quote of the noise; empty where there is none. */
  #tail = '';
  #fruitless = 0;

  /** The text of the frame, or undefined when the frame must be parsed. */
  match(frame: string): string | undefined {
    const start = this.#head.length;
    if (start === 0 || !frame.startsWith(this.#head)) return undefined;
    const end = plainEnd(frame, start);
    // An empty text may make the reader look at another key, so it is left to the parser.
    if (end <= start || !this.#endsRight(frame, end)) return undefined;
    this.#fruitless = 0;
    return frame.slice(start, end);
  }

  /**
   * Takes a frame that was parsed and found to hold its text alone. Returns whether the frames
   * to come are compared with this one; if not, they are still compared with the one before.
   */
  learn(frame: string, plain: PlainFrame): boolean {
    if (this.#fruitless === FRUITLESS_MAX) return false;
    this.#fruitless += 1;
    const head = headOf(frame, plain);
    if (head === undefined) return false;
    const rest = frame.slice(head.length + plain.text.length);
    const [middle, tail] = cutNoise(rest, plain.obfuscation);
    if (!isProven(head, middle, tail, plain)) return false;
    this.#head = head;
    this.#middle = middle;
    this.#tail = tail;
    return true;
  }

  #endsRight(frame: string, end: number): boolean {
    if (!frame.startsWith(this.#middle, end)) return false;
    const after = end + this.#middle.length;
    if (this.#tail === '') return frame.length === after;
    const noiseEnd = plainEnd(frame, after);
    return (
      noiseEnd !== -1 && frame.length === noiseEnd + this.#tail.length && frame.endsWith(this.#tail)
    );
  }
}

/** Whether the string is written in JSON as it is. */
const isPlain = (text: string): boolean => plainEnd(`${text}"`, 0) === text.length;

/** Where the string that starts at `at` ends, or -1 when it holds more than plain characters. */
function plainEnd(frame: string, at: number): number {
  for (let i = at; i < frame.length; i += 1) {
    const code = frame.charCodeAt(i);
    if (code === QUOTE) return i;
    if (code === BACKSLASH || code < SPACE) return -1;
  }
  return -1;
}

/** The text is looked for behind the `delta`; a wrong find is refused by the probe. */
function headOf(frame: string, { text }: PlainFrame): string | undefined {
  const delta = isPlain(text) ? frame.indexOf('"delta"') : -1;
  const at = delta === -1 ? -1 : frame.indexOf(`"${text}"`, delta);
  return at === -1 ? undefined : frame.slice(0, at + 1);
}

function cutNoise(rest: string, noise: string | undefined): readonly [string, string] {
  if (noise === undefined || !isPlain(noise)) return [rest, ''];
  const at = rest.lastIndexOf(`"${noise}"`);
  if (at === -1) return [rest, ''];
  return [rest.slice(0, at + 1), rest.slice(at + 1 + noise.length)];
}

function isProven(head: string, middle: string, tail: string, { textOf }: PlainFrame): boolean {
  if (MAY_HOLD_PROBE.test(`${head}${middle}${tail}`)) return false;
  const noise = tail === '' ? '' : PROBE_NOISE;
  try {
    const frame: unknown = JSON.parse(`${head}${PROBE_TEXT}${middle}${noise}${tail}`);
    return textOf(frame) === PROBE_TEXT && (tail === '' || noiseOf(frame) === PROBE_NOISE);
  } catch {
    return false;
  }
}

function noiseOf(frame: unknown): unknown {
  return typeof frame === 'object' && frame !== null && 'obfuscation' in frame
    ? frame.obfuscation
    : undefined;
}
