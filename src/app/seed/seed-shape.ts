import { nearestName } from '../../base/nearest-name.js';
import { SeedError, type SeedPath } from './seed-data.js';

// What TypeScript would say of a seed, for programs without types.

/** Throws `SeedError` for what is no object, and for a member that there is not. */
export function checkMembers(value: unknown, path: SeedPath, known: readonly string[]): void {
  checkObject(value, path, `an object with members of ${known.join(', ')}`);
  if (typeof value !== 'object' || value === null) return;
  for (const name of Object.keys(value)) {
    if (known.includes(name)) continue;
    const meant = nearestName(name, known);
    const hint = meant === undefined ? '' : `; did you mean '${meant}'?`;
    const shown = name.slice(0, 60);
    throw new SeedError(
      [...path, shown],
      `there is no such member, only ${known.join(', ')}${hint}`,
    );
  }
}

/** Throws `SeedError` for what is no plain object; undefined is one that is absent. */
export function checkObject(value: unknown, path: SeedPath, wanted = 'an object'): void {
  if (value === undefined) return;
  if (typeof value === 'object' && value !== null && !Array.isArray(value)) return;
  throw new SeedError(path, `it must be ${wanted}, not ${kindOf(value)}`);
}

/** Throws `SeedError` for what is no list; undefined is one that is absent. */
export function checkList(value: unknown, path: SeedPath): void {
  if (value === undefined || Array.isArray(value)) return;
  throw new SeedError(path, `it must be a list, not ${kindOf(value)}`);
}

function kindOf(value: unknown): string {
  if (value === null) return 'null';
  if (Array.isArray(value)) return 'a list';
  return typeof value === 'object' ? 'an object' : `a ${typeof value}`;
}
