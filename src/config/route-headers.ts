import { credentialsOf } from '../redact-secrets.ts';
import type { KeyPath } from './issue.ts';
import { SET_FOR_WEBHOOKS } from './schema/hitl-route.ts';
import { isTable } from './templates.ts';
import type { Finding } from './zod-issues.ts';

/** What the headers of `[hitl.route]` are told to be and are not, or hardly should be. */
export function oddRouteHeaders(tree: unknown): readonly Finding[] {
  const [fixed, passedOn] = [namesAt(tree, FIXED), namesAt(tree, PASSED_ON)];
  const given = new Set(fixed.map((name) => name.toLowerCase()));
  return [
    ...fixed.filter(isOurs).map((name) => ignored([...FIXED, name])),
    ...passedOn.filter(isOurs).map((name) => ignored([...PASSED_ON, name])),
    ...passedOn
      .filter((name) => given.has(name.toLowerCase()) && isCredential(name))
      .map((name) => replaceable([...PASSED_ON, name])),
  ];
}

const FIXED = ['hitl', 'route', 'headers'];
const PASSED_ON = ['hitl', 'route', 'headers_from_request'];

/** AURA's configurations may have them. */
const isOurs = (name: string): boolean => SET_FOR_WEBHOOKS.has(name.toLowerCase());

const isCredential = (name: string): boolean =>
  credentialsOf({ [name.toLowerCase()]: 'any' }).length > 0;

const ignored = (path: KeyPath): Finding => ({
  path,
  problem: 'has no effect: Runwarden sets that header itself',
  suggestion: 'Leave it out.',
});

/** The request's header wins where it is there, so a caller may speak to the webhook as himself. */
const replaceable = (path: KeyPath): Finding => ({
  path,
  problem: 'lets a caller replace the credential that hitl.route.headers gives',
  suggestion: 'Remove it here, unless callers are to bring their own; or remove it there.',
});

function namesAt(tree: unknown, path: readonly string[]): readonly string[] {
  const found = path.reduce<unknown>((at, key) => (isTable(at) ? at[key] : undefined), tree);
  return isTable(found) ? Object.keys(found) : [];
}
