/** A whole number from the environment, or the one that the suite uses by itself. */
export function numberSetting(name: string, otherwise: number): number {
  const text = process.env[name];
  if (text === undefined || text === '') return otherwise;
  const value = Number(text);
  if (Number.isSafeInteger(value) && value >= 0) return value;
  throw new Error(`${name} must be a whole number, not '${text}'`);
}

/**
 * The seed of a run: a fresh one each time, so that runs add up, unless the environment asks for
 * one that is to be repeated.
 */
export function seedSetting(name: string): number {
  return numberSetting(name, Math.floor(Math.random() * 2 ** 31));
}
