import { closeSync, openSync, readSync } from 'node:fs';
import { resolve } from 'node:path';
import { variable } from '../../config/environment.ts';
import { errorCode } from '../../config/sources.ts';
import type { CliFlags } from '../flags.ts';
import type { CliIo } from '../io.ts';
import { wrongUsage } from './errors.ts';

/** Which server, and as whom. */
export interface Target {
  /** Scheme, host and path without the slash at the end; the API's `/v1` comes after it. */
  readonly base: string;
  readonly key: string | undefined;
}

const DEFAULT_URL = 'http://127.0.0.1:8080';

/** Far longer than any key; what is longer is another file. */
const KEY_BYTES_MAX = 8_192;

/**
 * The server by `--url` or `RUNWARDEN_URL`, the key by `--api-key-file` or `RUNWARDEN_API_KEY`. Only
 * the real environment counts: a `.env` of some folder must not say where a key is sent. Throws wrong
 * usage that never holds the key.
 */
export function targetOf(flags: CliFlags, { env, cwd }: Pick<CliIo, 'env' | 'cwd'>): Target {
  if (flags['api-key'] !== undefined) {
    const why = 'A key on the command line can be read by every user of the machine.';
    throw wrongUsage(`${why} Give it by --api-key-file or RUNWARDEN_API_KEY, and make a new one.`);
  }
  const url = textOf(flags['url']);
  const source = url === undefined ? 'RUNWARDEN_URL' : '--url';
  const base = baseOf(url ?? variable(env, 'RUNWARDEN_URL') ?? DEFAULT_URL, source);
  return { base, key: keyOf(textOf(flags['api-key-file']), { env, cwd }) };
}

const textOf = (flag: string | boolean | undefined): string | undefined =>
  typeof flag === 'string' ? flag : undefined;

/** Clients of the chat know the server by an address that ends in `/v1`; that one will do too. */
function baseOf(text: string, source: string): string {
  const url = URL.parse(text);
  if (url === null || !/^https?:$/.test(url.protocol)) {
    throw wrongUsage(`${source} is not an http or https address; one looks like ${DEFAULT_URL}.`);
  }
  if (url.username !== '' || url.password !== '') {
    throw wrongUsage(`${source} holds a user name or password; leave them out of the address.`);
  }
  if (url.search !== '' || url.hash !== '') {
    throw wrongUsage(`${source} holds a query or fragment; end it before "?" and "#".`);
  }
  return `${url.origin}${url.pathname}`.replace(/\/+$/, '').replace(/\/v1$/, '');
}

function keyOf(
  file: string | undefined,
  { env, cwd }: Pick<CliIo, 'env' | 'cwd'>,
): string | undefined {
  if (file === undefined) {
    const key = variable(env, 'RUNWARDEN_API_KEY');
    return key === undefined ? undefined : checkedKey(key, 'RUNWARDEN_API_KEY');
  }
  return checkedKey(readKey(resolve(cwd, file), file), `The key file ${file}`);
}

/** A key that no header can carry would be quoted whole in the error of the network. */
function checkedKey(text: string, source: string): string {
  const key = text.trim();
  if (key === '') throw wrongUsage(`${source} is empty; it holds one key.`);
  if (/^[\x21-\x7e]+$/.test(key)) return key;
  throw wrongUsage(`${source} holds more than one key: it is one line of ASCII without spaces.`);
}

function readKey(path: string, shown: string): string {
  try {
    return readStart(path);
  } catch (error) {
    const remedy = 'Check --api-key-file and the permissions of the file.';
    throw wrongUsage(`The key file ${shown} cannot be read (${errorCode(error)}). ${remedy}`);
  }
}

/** The first bytes and no more: it may be a pipe, or a device without an end. */
function readStart(path: string): string {
  const file = openSync(path, 'r');
  try {
    const bytes = Buffer.alloc(KEY_BYTES_MAX);
    let length = 0;
    for (let got = -1; got !== 0 && length < bytes.length; length += got) {
      got = readSync(file, bytes, length, bytes.length - length, null);
    }
    return bytes.toString('utf8', 0, length);
  } finally {
    closeSync(file);
  }
}
