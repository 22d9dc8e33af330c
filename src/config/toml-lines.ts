import type { KeyPath } from './issue.ts';

/** Finds the line (from 1) of a key path, or of its nearest table that stands in the text. */
export type LineFinder = (path: KeyPath) => number | undefined;

/**
 * Notes the line of every key of a TOML document that is known to parse.
 *
 * It reads tables, arrays of tables, dotted and quoted keys, inline tables, lists and all four
 * kinds of strings; what stands in a string or a comment is never taken for a key.
 */
export function indexLines(source: string): LineFinder {
  const scan = new Scan(source);
  scan.document();
  return (path) => {
    for (let length = path.length; length > 0; length -= 1) {
      const line = scan.lines.get(pathId(path.slice(0, length)));
      if (line !== undefined) return line;
    }
    return undefined;
  };
}

const pathId = (path: KeyPath): string => JSON.stringify(path);

class Scan {
  readonly lines = new Map<string, number>();
  /** How many elements each array of tables has so far. */
  readonly #counts = new Map<string, number>();
  readonly #source: string;
  #at = 0;
  #line = 1;

  constructor(source: string) {
    this.#source = source;
  }

  document(): void {
    let table: KeyPath = [];
    for (;;) {
      this.#skip(/[ \t\r\n]/, true);
      const char = this.#peek();
      if (char === '') return;
      if (char === '[') table = this.#header();
      else this.#pair(table);
    }
  }

  #header(): KeyPath {
    const isArray = this.#source.startsWith('[[', this.#at);
    this.#at += isArray ? 2 : 1;
    const line = this.#line;
    const keys = this.#keys();
    this.#at += isArray ? 2 : 1;
    return this.#open(keys, isArray, line);
  }

  /** Resolves a header against the arrays of tables it passes through: the last element is meant. */
  #open(keys: readonly string[], isArray: boolean, line: number): KeyPath {
    let path: KeyPath = [];
    keys.forEach((key, index) => {
      path = [...path, key];
      this.#note(path, line);
      const id = pathId(path);
      const count = this.#counts.get(id) ?? 0;
      const adds = isArray && index === keys.length - 1;
      if (adds) this.#counts.set(id, count + 1);
      if (adds || count > 0) path = [...path, adds ? count : count - 1];
      this.#note(path, line);
    });
    return path;
  }

  #pair(table: KeyPath): void {
    const line = this.#line;
    const keys = this.#keys();
    let path = table;
    for (const key of keys) {
      path = [...path, key];
      this.#note(path, line);
    }
    this.#at += 1; // The "=".
    this.#value(path);
  }

  #keys(): string[] {
    const keys: string[] = [];
    for (;;) {
      this.#skip(/[ \t]/, false);
      keys.push(this.#key());
      this.#skip(/[ \t]/, false);
      if (this.#peek() !== '.') return keys;
      this.#at += 1;
    }
  }

  #key(): string {
    const quote = this.#peek();
    if (quote === '"' || quote === "'") {
      const text = this.#string();
      return quote === '"' ? unescaped(text.slice(1, -1)) : text.slice(1, -1);
    }
    const start = this.#at;
    this.#skip(/[\w-]/, false);
    // A character that no key may begin with: step over it, or the scan would never end.
    if (this.#at === start) this.#at += 1;
    return this.#source.slice(start, this.#at);
  }

  #value(path: KeyPath): void {
    this.#skip(/[ \t]/, false);
    const char = this.#peek();
    if (char === '"' || char === "'") this.#string();
    else if (char === '[') this.#list(path);
    else if (char === '{') this.#inlineTable(path);
    else this.#bare();
  }

  /** A number, a date or a word. Takes one character at least, or a list would never end. */
  #bare(): void {
    this.#step(1);
    this.#skip(/[^,\]}#\r\n]/, false);
  }

  #list(path: KeyPath): void {
    this.#at += 1;
    for (let index = 0; this.#more(']'); index += 1) {
      this.#note([...path, index], this.#line);
      this.#value([...path, index]);
    }
  }

  #inlineTable(path: KeyPath): void {
    this.#at += 1;
    while (this.#more('}')) this.#pair(path);
  }

  /** Whether another element follows; steps over the closing bracket when none does. */
  #more(closing: string): boolean {
    this.#skip(/[ \t\r\n,]/, true);
    const char = this.#peek();
    if (char === closing) this.#at += 1;
    return char !== closing && char !== '';
  }

  /** A string with its quotes. */
  #string(): string {
    const start = this.#at;
    const quote = this.#peek();
    const many = this.#source.startsWith(quote.repeat(3), start);
    this.#at += many ? 3 : 1;
    const end = many ? quote.repeat(3) : quote;
    while (this.#at < this.#source.length && !this.#source.startsWith(end, this.#at)) {
      this.#step(quote === '"' && this.#peek() === '\\' ? 2 : 1);
    }
    this.#at += end.length;
    if (many) this.#extraQuotes(quote);
    return this.#source.slice(start, this.#at);
  }

  /** A long string may end with two quotes of its own before the three that close it. */
  #extraQuotes(quote: string): void {
    for (let extra = 0; extra < 2 && this.#peek() === quote; extra += 1) this.#at += 1;
  }

  #skip(chars: RegExp, comments: boolean): void {
    for (;;) {
      const char = this.#peek();
      if (comments && char === '#') this.#comment();
      else if (char !== '' && chars.test(char)) this.#step(1);
      else return;
    }
  }

  #comment(): void {
    const end = this.#source.indexOf('\n', this.#at);
    this.#at = end < 0 ? this.#source.length : end;
  }

  #step(count: number): void {
    for (const end = this.#at + count; this.#at < end; this.#at += 1) {
      if (this.#peek() === '\n') this.#line += 1;
    }
  }

  #peek(): string {
    return this.#source.charAt(this.#at);
  }

  /** The first place where a path stands is the one to show. */
  #note(path: KeyPath, line: number): void {
    const id = pathId(path);
    if (!this.lines.has(id)) this.lines.set(id, line);
  }
}

const ESCAPE = /\\(u[0-9a-fA-F]{4}|U[0-9a-fA-F]{8}|x[0-9a-fA-F]{2}|.)/gs;
const SHORT_ESCAPES: Readonly<Record<string, string>> = {
  b: '\b',
  t: '\t',
  n: '\n',
  f: '\f',
  r: '\r',
  e: '\u001b',
};

function unescaped(text: string): string {
  return text.replace(ESCAPE, (_, code: string) =>
    code.length > 1
      ? String.fromCodePoint(Number.parseInt(code.slice(1), 16))
      : (SHORT_ESCAPES[code] ?? code),
  );
}
