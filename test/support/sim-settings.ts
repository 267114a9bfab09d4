import { createHash } from 'node:crypto';

/** An integer from the environment, or the default. */
export function numberSetting(name: string, otherwise: number): number {
  const text = process.env[name];
  if (text === undefined || text === '') return otherwise;
  const value = Number(text);
  if (Number.isSafeInteger(value) && value >= 0) return value;
  throw new Error(`${name} must be a whole number, not '${text}'`);
}

/**
 * The seed of a run: a new one each time, so that runs cover more, unless the environment sets it,
 * or that of all draws.
 */
export function seedSetting(name: string): number {
  return numberSetting(name, seedFor(name));
}

/**
 * A seed of a use in this process. `scripts/test.js` gives all its processes one number, which it
 * prints, as `TABULARIUM_TEST_DRAW`: with the same number, the same file has the same seeds.
 */
export function seedFor(use: string): number {
  const draw = numberSetting('TABULARIUM_TEST_DRAW', Math.floor(Math.random() * 2 ** 31));
  const file = (process.argv[1] ?? '').split(/[\\/]/).slice(-2).join('/');
  return createHash('sha256').update(`${draw} ${file} ${use}`).digest().readUInt32LE() >>> 1;
}
