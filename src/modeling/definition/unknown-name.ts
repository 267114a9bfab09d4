import { nearestName } from '../../base/nearest-name.js';
import { ValueError } from '../rows/model-error.js';

/**
 * Throws `ValueError` for the first name that is not declared, because its value would be lost
 * silently. `owner`: the text for people that names the declaration.
 */
export function refuseUnknownNames(
  owner: string,
  given: object,
  declared: readonly string[],
  tolerated: readonly string[] = [],
): void {
  for (const name of Object.keys(given)) {
    if (declared.includes(name) || tolerated.includes(name)) continue;
    throw new ValueError(unknownName(owner, name, declared));
  }
}

/** The message that a name is not declared, with the declared name that was probably meant. */
export function unknownName(owner: string, name: string, declared: readonly string[]): string {
  const nearest = nearestName(name, declared);
  const hint = nearest === undefined ? '' : `; did you mean '${nearest}'?`;
  return `${owner} has no property '${name}'${hint}`;
}
