import fc from 'fast-check';

/**
 * One seed for all properties of a run: `FC_SEED` if it is given, a fixed one in CI so that the same
 * commit is judged alike each time, else a fresh one. fast-check prints it with a counterexample.
 */
const CI_SEED = 20_261_130;

const given = process.env['FC_SEED'];
const seed = given === undefined ? ciSeed() : Number(given);
if (seed !== undefined && !Number.isInteger(seed)) {
  throw new RangeError(`FC_SEED is "${given}"; give a whole number.`);
}
if (seed !== undefined) fc.configureGlobal({ ...fc.readConfigureGlobal(), seed });

function ciSeed(): number | undefined {
  return process.env['CI'] === 'true' ? CI_SEED : undefined;
}
