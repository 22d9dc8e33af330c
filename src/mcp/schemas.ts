/** A JSON Schema node as it came over the wire. */
export type JsonSchema = Readonly<Record<string, unknown>>;

/** Deeper schemas are passed on as they are; no real tool comes near. */
const DEPTH_MAX = 32;

/**
 * Rewrites a tool's input schema so that strict models take it: closed objects, every property
 * required and the optional ones nullable, `oneOf` and `allOf` in simpler terms.
 *
 * Gives undefined when the root is not an object: no model can call such a tool.
 */
export function sanitizeSchema(schema: JsonSchema): Record<string, unknown> | undefined {
  if (schema['type'] !== 'object' && !isRecord(schema['properties'])) return undefined;
  const { $schema: _dialect, ...rest } = schema;
  return { ...sanitizeNode(rest, 0), ...closedRoot(rest) };
}

/** A root without properties is a tool without arguments. */
function closedRoot(schema: JsonSchema): Record<string, unknown> {
  return isRecord(schema['properties'])
    ? { type: 'object' }
    : { type: 'object', properties: {}, required: [], additionalProperties: false };
}

function sanitizeNode(node: JsonSchema, depth: number): Record<string, unknown> {
  if (depth > DEPTH_MAX) return { ...node };
  const merged = mergeAllOf(node, depth);
  const union = merged['anyOf'] ?? merged['oneOf'];
  const flat = Array.isArray(union) ? simplifyUnion(merged, union, depth) : merged;
  return sanitizeParts(flat, depth);
}

function sanitizeParts(node: JsonSchema, depth: number): Record<string, unknown> {
  const out: Record<string, unknown> = { ...node };
  for (const key of ['$defs', 'definitions']) {
    const defs = node[key];
    if (isRecord(defs)) out[key] = mapValues(defs, (def) => sanitizeChild(def, depth));
  }
  if (isRecord(node['items'])) out['items'] = sanitizeChild(node['items'], depth);
  if (isRecord(node['properties']))
    Object.assign(out, closeObject(node, node['properties'], depth));
  return out;
}

function closeObject(
  node: JsonSchema,
  properties: JsonSchema,
  depth: number,
): Record<string, unknown> {
  const required = requiredOf(node);
  return {
    properties: mapEntries(properties, (key, child) => {
      const sane = sanitizeChild(child, depth);
      return required.has(key) ? sane : nullable(sane);
    }),
    required: Object.keys(properties),
    additionalProperties: false,
  };
}

const sanitizeChild = (child: unknown, depth: number): Record<string, unknown> =>
  isRecord(child) ? sanitizeNode(child, depth + 1) : {};

/** `[X]` is X, `[X, null]` is a nullable X, any other union stays one, as `anyOf`. */
function simplifyUnion(
  node: JsonSchema,
  union: readonly unknown[],
  depth: number,
): Record<string, unknown> {
  const { anyOf: _any, oneOf: _one, ...rest } = node;
  const variants = union.filter(isRecord).map((variant) => sanitizeNode(variant, depth + 1));
  const solid = variants.filter((variant) => variant['type'] !== 'null');
  const hasNull = solid.length < variants.length;
  const [first] = solid;
  if (solid.length === 1 && first !== undefined) {
    return { ...(hasNull ? nullable(first) : first), ...rest };
  }
  return { ...rest, anyOf: variants };
}

/** Strict models know no `allOf`; parts of objects add up, other parts overlay each other. */
function mergeAllOf(node: JsonSchema, depth: number): JsonSchema {
  const parts = node['allOf'];
  if (depth > DEPTH_MAX) return node;
  if (!Array.isArray(parts) || parts.some((part) => !isRecord(part) || '$ref' in part)) return node;
  const { allOf: _all, ...rest } = node;
  const merged: Record<string, unknown> = {};
  for (const raw of [...(parts as JsonSchema[]), rest]) addPart(merged, mergeAllOf(raw, depth + 1));
  return merged;
}

function addPart(sum: Record<string, unknown>, part: JsonSchema): void {
  const properties = { ...recordOf(sum['properties']), ...recordOf(part['properties']) };
  const required = [...new Set([...requiredOf(sum), ...requiredOf(part)])];
  Object.assign(sum, part);
  if (Object.keys(properties).length > 0) sum['properties'] = properties;
  if (required.length > 0) sum['required'] = required;
}

function nullable(node: Record<string, unknown>): Record<string, unknown> {
  if (allowsNull(node)) return node;
  const type = node['type'];
  if (Array.isArray(node['anyOf'])) {
    return { ...node, anyOf: [...(node['anyOf'] as unknown[]), { type: 'null' }] };
  }
  if (type === undefined || '$ref' in node || 'const' in node) {
    const { description, ...bare } = node;
    const described = description === undefined ? {} : { description };
    return { anyOf: [bare, { type: 'null' }], ...described };
  }
  const types = Array.isArray(type) ? (type as unknown[]) : [type];
  const choices = Array.isArray(node['enum'])
    ? { enum: [...(node['enum'] as unknown[]), null] }
    : {};
  return { ...node, type: [...types, 'null'], ...choices };
}

/**
 * Takes back what {@link sanitizeSchema} made the model write: a null for an optional property that
 * the server's own schema does not allow to be null means that it is absent.
 */
export function restoreArguments(
  args: Record<string, unknown>,
  schema: JsonSchema,
): Record<string, unknown> {
  return restore(args, schema, { root: schema, depth: 0 }) as Record<string, unknown>;
}

interface RestoreScope {
  readonly root: JsonSchema;
  readonly depth: number;
}

function restore(value: unknown, raw: JsonSchema, scope: RestoreScope): unknown {
  if (scope.depth > DEPTH_MAX) return value;
  const schema = mergeAllOf(resolveRef(raw, scope.root), scope.depth);
  const inner = { root: scope.root, depth: scope.depth + 1 };
  if (Array.isArray(value)) {
    const items = schema['items'];
    return isRecord(items) ? value.map((item) => restore(item, items, inner)) : value;
  }
  const properties = schema['properties'];
  if (!isRecord(value) || !isRecord(properties)) return value;
  return restoreObject(value, properties, { required: requiredOf(schema), scope: inner });
}

function restoreObject(
  value: JsonSchema,
  properties: JsonSchema,
  { required, scope }: { required: ReadonlySet<string>; scope: RestoreScope },
): Record<string, unknown> {
  const kept = Object.entries(value).flatMap(([key, item]): [string, unknown][] => {
    const schema = properties[key];
    if (!isRecord(schema)) return [[key, item]];
    const isAbsent =
      item === null && !required.has(key) && !allowsNull(resolveRef(schema, scope.root));
    return isAbsent ? [] : [[key, restore(item, schema, scope)]];
  });
  return Object.fromEntries(kept);
}

/** Follows references inside the schema; an outside one is left alone. */
function resolveRef(schema: JsonSchema, root: JsonSchema): JsonSchema {
  let at = schema;
  for (let hops = 0; hops < DEPTH_MAX; hops += 1) {
    const ref = at['$ref'];
    if (typeof ref !== 'string' || !ref.startsWith('#/')) return at;
    const target = ref
      .slice(2)
      .split('/')
      .map((part) => part.replaceAll('~1', '/').replaceAll('~0', '~'))
      .reduce<unknown>((node, part) => (isRecord(node) ? node[part] : undefined), root);
    if (!isRecord(target)) return at;
    at = target;
  }
  return at;
}

function allowsNull(schema: JsonSchema): boolean {
  const { type, anyOf, oneOf, const: constant, enum: choices } = schema;
  if (type === 'null' || (Array.isArray(type) && type.includes('null'))) return true;
  if (constant === null || (Array.isArray(choices) && choices.includes(null))) return true;
  const union = anyOf ?? oneOf;
  if (Array.isArray(union))
    return union.some((variant) => isRecord(variant) && allowsNull(variant));
  return type === undefined && choices === undefined && !('const' in schema) && !('$ref' in schema)
    ? schema['properties'] === undefined && schema['allOf'] === undefined
    : false;
}

const requiredOf = (schema: JsonSchema): ReadonlySet<string> =>
  new Set(
    Array.isArray(schema['required'])
      ? (schema['required'] as unknown[]).filter((key) => typeof key === 'string')
      : [],
  );

const isRecord = (value: unknown): value is JsonSchema =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

const recordOf = (value: unknown): JsonSchema => (isRecord(value) ? value : {});

const mapValues = (record: JsonSchema, map: (value: unknown) => unknown): Record<string, unknown> =>
  mapEntries(record, (_key, value) => map(value));

const mapEntries = (
  record: JsonSchema,
  map: (key: string, value: unknown) => unknown,
): Record<string, unknown> =>
  Object.fromEntries(Object.entries(record).map(([key, value]) => [key, map(key, value)]));
