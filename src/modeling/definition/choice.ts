import { DefinitionError } from '../rows/model-error.js';

/**
 * Throws `DefinitionError` for an option that is none of its values, which a program without types
 * may give: some other value would be taken for it.
 */
export function requireChoice(
  option: string,
  value: string | undefined,
  choices: readonly string[],
): void {
  if (value === undefined || choices.includes(value)) return;
  const quoted = choices.map((choice) => `'${choice}'`);
  throw new DefinitionError(`${option}: '${value}'; give ${quoted.join(' or ')}`);
}
