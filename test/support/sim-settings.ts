/** An integer from the environment, or the default. */
export function numberSetting(name: string, otherwise: number): number {
  const text = process.env[name];
  if (text === undefined || text === '') return otherwise;
  const value = Number(text);
  if (Number.isSafeInteger(value) && value >= 0) return value;
  throw new Error(`${name} must be a whole number, not '${text}'`);
}

/**
 * The seed of a run: a new one each time, so that runs cover more, unless the environment sets one
 * to repeat.
 */
export function seedSetting(name: string): number {
  return numberSetting(name, Math.floor(Math.random() * 2 ** 31));
}
