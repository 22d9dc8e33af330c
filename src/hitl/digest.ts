import { CANONICAL_DEPTH_MAX, canonicalDigest, canonicalJson } from '../canonical-json.ts';

/** Deeper arguments are refused. */
export const ARGUMENTS_DEPTH_MAX = CANONICAL_DEPTH_MAX;

/**
 * What a person approves: these arguments and no others. Gives `sha256:HEX` of the canonical JSON;
 * throws a `TypeError` as {@link canonicalJson} does.
 */
export const argumentsDigest = (value: unknown): `sha256:${string}` => canonicalDigest(value);

export { canonicalJson };
