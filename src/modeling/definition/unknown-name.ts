import { nearestName } from '../../base/nearest-name.js';
import { ValueError } from '../rows/model-error.js';

/**
 * Throws `ValueError` for the first name that is none of the declared ones: its value would be lost
 * without a word. `owner` is what declares them.
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

/** Says that a name is not declared, and which one it may stand for. */
export function unknownName(owner: string, name: string, declared: readonly string[]): string {
  const nearest = nearestName(name, declared);
  const hint = nearest === undefined ? '' : `; did you mean '${nearest}'?`;
  return `${owner} has no property '${name}'${hint}`;
}
