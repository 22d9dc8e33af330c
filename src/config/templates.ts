import { nearest } from '../nearest.ts';
import type { KeyPath } from './issue.ts';

/** The variables a template may name. */
export type Environment = Readonly<Record<string, string | undefined>>;

/** A template that cannot be filled in, and where it stands. */
export interface TemplateFault {
  readonly path: KeyPath;
  readonly problem: string;
  readonly suggestion: string;
}

export interface Expansion {
  /** The tree with every template replaced. What could not be replaced is left as written. */
  readonly tree: unknown;
  readonly faults: readonly TemplateFault[];
}

const TEMPLATE = /\{\{\s*env\.([^{}]*?)\s*\}\}/g;
const INSIDE = /^([A-Z_][A-Z0-9_]*)\s*(?:\|\s*default:\s*'([^']*)')?$/;

/**
 * Fills in `{{ env.NAME }}` and `{{ env.NAME | default: 'text' }}` in every string value, after
 * the TOML was parsed: a value is taken literally and can neither end its string nor add a key.
 * A variable that is set to nothing counts as set. Other uses of `{{` are left alone.
 */
export function expandTemplates(tree: unknown, env: Environment): Expansion {
  const faults: TemplateFault[] = [];
  return { tree: expand(tree, [], { env, faults }), faults };
}

/** Whether any part of the text is filled in from the environment. */
export function hasTemplate(value: string): boolean {
  return value.search(TEMPLATE) >= 0;
}

interface Scope {
  readonly env: Environment;
  readonly faults: TemplateFault[];
}

function expand(value: unknown, path: KeyPath, scope: Scope): unknown {
  if (typeof value === 'string') return expandText(value, path, scope);
  if (Array.isArray(value)) return value.map((item, at) => expand(item, [...path, at], scope));
  if (!isTable(value)) return value;
  const copy: Record<string, unknown> = Object.create(null);
  for (const [key, item] of Object.entries(value)) {
    if (hasTemplate(key)) scope.faults.push(keyFault([...path, key]));
    copy[key] = expand(item, [...path, key], scope);
  }
  return copy;
}

function expandText(value: string, path: KeyPath, { env, faults }: Scope): string {
  return value.replace(TEMPLATE, (whole, inside: string) => {
    const [, name, fallback] = INSIDE.exec(inside) ?? [];
    if (name === undefined) {
      faults.push(malformed(path));
      return whole;
    }
    const found = env[name] ?? fallback;
    if (found === undefined) faults.push(missing(path, name, env));
    return found ?? whole;
  });
}

function missing(path: KeyPath, name: string, env: Environment): TemplateFault {
  const close = nearest(name, Object.keys(env));
  const hint = close === undefined ? '' : ` Did you mean ${close}?`;
  return {
    path,
    problem: `needs the environment variable ${name}, which is not set`,
    suggestion: `Set it, or write {{ env.${name} | default: '…' }}.${hint}`,
  };
}

const malformed = (path: KeyPath): TemplateFault => ({
  path,
  problem: 'has a template that cannot be read',
  suggestion:
    "Write {{ env.NAME }} or {{ env.NAME | default: 'text' }}, with NAME in capitals, digits and _.",
});

const keyFault = (path: KeyPath): TemplateFault => ({
  path,
  problem: 'has a template in its name',
  suggestion: 'Templates are filled in in values only.',
});

/** Dates are values of TOML too, and no tables. */
export function isTable(value: unknown): value is Record<string, unknown> {
  return (
    typeof value === 'object' && value !== null && !Array.isArray(value) && !(value instanceof Date)
  );
}
