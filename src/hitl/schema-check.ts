import { hasInfinity, isTooDeep } from '../json-depth.ts';
import { compilePointer, PointerSyntaxError } from './rules/pointer.ts';
import {
  boundsProblem,
  isMatch,
  isRecord,
  type SchemaNode,
  valueProblem,
} from './schema-values.ts';

/** All that one check may cost: about a tenth of a second, in which nobody else is served. */
const STEPS_MAX = 50_000;

/** Schemas that a check is inside of at once; one that refers to itself without end has more. */
const NESTING_MAX = 400;

/** Where a value does not fit, by the names and indices that lead there, and how: the end of a sentence. */
export interface Misfit {
  readonly path: readonly string[];
  readonly problem: string;
}

export interface SchemaReading {
  /** A null in the place of an optional property is taken for an absent one. */
  readonly nullIsAbsent?: boolean;
}

/**
 * The first place where a JSON value does not fit a JSON Schema; undefined where it fits or where that
 * cannot be told. The schema is a stranger's: it is read and never compiled into code, its cost is
 * bounded, and what it says in words that are not known here (`format`, `not`, `if`, references to
 * elsewhere) counts for nothing. So a value that does fit is never refused, and one that does not may be
 * found out by the tool alone.
 */
export function misfitOf(
  schema: unknown,
  value: unknown,
  reading: SchemaReading = {},
): Misfit | undefined {
  if (!isRecord(schema) || isTooDeep(schema) || hasInfinity(schema)) return undefined;
  try {
    return new SchemaWalk(schema, reading).visit(schema, value);
  } catch (error) {
    if (error instanceof TooMuchError) return undefined;
    throw error;
  }
}

class TooMuchError extends Error {
  override readonly name = 'TooMuchError';
}

class SchemaWalk {
  readonly #root: SchemaNode;
  readonly #reading: SchemaReading;
  #stepsLeft = STEPS_MAX;
  #nesting = 0;

  constructor(root: SchemaNode, reading: SchemaReading) {
    this.#root = root;
    this.#reading = reading;
  }

  visit(node: unknown, value: unknown): Misfit | undefined {
    this.#spend(1);
    if (node === false) return here('must be left out');
    if (!isRecord(node)) return undefined;
    this.#nesting += 1;
    if (this.#nesting > NESTING_MAX) throw new TooMuchError();
    const misfit = this.#visitNode(node, value);
    this.#nesting -= 1;
    return misfit;
  }

  readonly #spend = (steps: number): void => {
    this.#stepsLeft -= steps;
    if (this.#stepsLeft < 0) throw new TooMuchError();
  };

  #visitNode(node: SchemaNode, value: unknown): Misfit | undefined {
    // Older dialects pass over what stands beside a reference.
    if (node['$ref'] !== undefined) return this.visit(this.#resolve(node['$ref']), value);
    const problem = valueProblem(node, value, this.#spend);
    if (problem !== undefined) return here(problem);
    return this.#inside(node, value) ?? this.#unions(node, value);
  }

  #inside(node: SchemaNode, value: unknown): Misfit | undefined {
    if (Array.isArray(value)) return this.#items(node, value);
    return isRecord(value) ? this.#object(node, value) : undefined;
  }

  #items({ prefixItems, items }: SchemaNode, list: readonly unknown[]): Misfit | undefined {
    // Older dialects list the first ones under `items` itself.
    const first = Array.isArray(items) ? items : Array.isArray(prefixItems) ? prefixItems : [];
    const rest = Array.isArray(items) ? undefined : items;
    for (const [index, item] of list.entries()) {
      const misfit = this.visit(index < first.length ? first[index] : rest, item);
      if (misfit !== undefined) return under(String(index), misfit);
    }
    return undefined;
  }

  #object(node: SchemaNode, value: Readonly<Record<string, unknown>>): Misfit | undefined {
    const entries = Object.entries(value).filter(([, item]) => item !== undefined);
    const missing = this.#missing(node, new Set(entries.map(([name]) => name)));
    if (missing !== undefined) return { path: [missing], problem: 'is missing' };
    for (const [name, item] of entries) {
      const misfit = this.#property(node, name, item);
      if (misfit !== undefined) return under(name, misfit);
    }
    const bounds = [node['minProperties'], node['maxProperties']] as const;
    const problem = boundsProblem(entries.length, bounds, 'properties');
    return problem === undefined ? undefined : here(problem);
  }

  #missing(node: SchemaNode, present: ReadonlySet<string>): string | undefined {
    return requiredOf(node).find((name) => {
      this.#spend(1);
      return !present.has(name);
    });
  }

  #property(node: SchemaNode, name: string, value: unknown): Misfit | undefined {
    const own = propertyOf(node, name);
    if (own !== undefined && value === null && this.#isOptional(node, name)) return undefined;
    const byPattern = this.#byPattern(node, name);
    for (const schema of [own, ...byPattern]) {
      const misfit = this.visit(schema, value);
      if (misfit !== undefined) return misfit;
    }
    const isKnown = own !== undefined || byPattern.length > 0;
    return isKnown ? undefined : this.#additional(node['additionalProperties'], value);
  }

  /** So that a null of it says that it is absent. */
  #isOptional(node: SchemaNode, name: string): boolean {
    if (this.#reading.nullIsAbsent !== true) return false;
    const required = requiredOf(node);
    this.#spend(required.length);
    return !required.includes(name);
  }

  #additional(additional: unknown, value: unknown): Misfit | undefined {
    if (additional !== false) return this.visit(additional, value);
    return here('is not known to the tool');
  }

  /** What the patterns of names say of this one; one that cannot be told may be meant and asks nothing. */
  #byPattern({ patternProperties: patterns }: SchemaNode, name: string): readonly unknown[] {
    if (!isRecord(patterns)) return [];
    return Object.entries(patterns).flatMap(([pattern, schema]) => {
      const matches = isMatch(pattern, name, this.#spend);
      return matches === undefined ? [true] : matches ? [schema] : [];
    });
  }

  /** One that fits two forms of a `oneOf` may be wrong; with words left out here, that cannot be told. */
  #unions({ allOf, anyOf, oneOf }: SchemaNode, value: unknown): Misfit | undefined {
    for (const part of listOf(allOf)) {
      const misfit = this.visit(part, value);
      if (misfit !== undefined) return misfit;
    }
    return this.#union(listOf(anyOf), value) ?? this.#union(listOf(oneOf), value);
  }

  #union(forms: readonly unknown[], value: unknown): Misfit | undefined {
    const misfits: Misfit[] = [];
    for (const form of forms) {
      const misfit = this.visit(form, value);
      if (misfit === undefined) return undefined;
      // Of a form that may be null, the other one is what was meant.
      if (!isRecord(form) || form['type'] !== 'null') misfits.push(misfit);
    }
    if (forms.length === 0) return undefined;
    const [only] = misfits;
    return misfits.length === 1 && only !== undefined
      ? only
      : here('has none of the forms it may have');
  }

  /** `true`, which fits everything, for what is not in the schema itself. */
  #resolve(ref: unknown): unknown {
    if (typeof ref !== 'string' || !ref.startsWith('#')) return true;
    try {
      return compilePointer(decodeURIComponent(ref.slice(1)))(this.#root)?.value ?? true;
    } catch (error) {
      if (error instanceof PointerSyntaxError || error instanceof URIError) return true;
      throw error;
    }
  }
}

const here = (problem: string): Misfit => ({ path: [], problem });

const under = (name: string, { path, problem }: Misfit): Misfit => ({
  path: [name, ...path],
  problem,
});

const listOf = (value: unknown): readonly unknown[] => (Array.isArray(value) ? value : []);

const requiredOf = ({ required }: SchemaNode): readonly string[] =>
  listOf(required).filter((name) => typeof name === 'string');

function propertyOf({ properties }: SchemaNode, name: string): unknown {
  return isRecord(properties) && Object.hasOwn(properties, name) ? properties[name] : undefined;
}
