import * as z from 'zod';
import { headerName, headerValue } from '../header-values.ts';
import { field } from './fields.ts';

/** Values by the names of headers, as they are written. */
export const headers = z.record(field(headerName), field(headerValue)).superRefine(refuseTwins);

/** Names of headers by names of headers, as they are written. */
export const headerNames = z.record(field(headerName), field(headerName)).superRefine(refuseTwins);

/** Case does not count in header names, so two that differ only there are one header. */
function refuseTwins(map: Record<string, string>, ctx: z.core.$RefinementCtx): void {
  const seen = new Set<string>();
  for (const name of Object.keys(map)) {
    const plain = name.toLowerCase();
    if (seen.has(plain)) refuse(ctx, name, 'is the same header as another', 'Keep one of them.');
    seen.add(plain);
  }
}

/** A check of the names that a map sets: `reserved` are those, in lower case, that it may not. */
export const refuseReserved =
  (reserved: ReadonlySet<string>) =>
  (map: Readonly<Record<string, string>>, ctx: z.core.$RefinementCtx): void => {
    for (const name of Object.keys(map)) {
      if (!reserved.has(name.toLowerCase())) continue;
      refuse(
        ctx,
        name,
        'is a reserved header',
        'Leave it out; Runwarden sets it where it is needed.',
      );
    }
  };

function refuse(
  ctx: z.core.$RefinementCtx,
  key: string,
  message: string,
  suggestion: string,
): void {
  ctx.addIssue({ code: 'custom', path: [key], message, params: { suggestion } });
}

/** The values as they are, under names in lower case. */
export const lowerNames = (map: Readonly<Record<string, string>>): Record<string, string> =>
  Object.fromEntries(Object.entries(map).map(([name, value]) => [name.toLowerCase(), value]));

/** Names and values in lower case, where both name headers. */
export const lowerPairs = (map: Readonly<Record<string, string>>): Record<string, string> =>
  Object.fromEntries(
    Object.entries(map).map(([name, other]) => [name.toLowerCase(), other.toLowerCase()]),
  );
