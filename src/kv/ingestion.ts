import type { Bytes } from '../base/bytes.js';
import { invariant } from '../base/invariant.js';
import type { Guarded } from './guards.js';
import { assertKey } from './limits.js';
import type { Entry } from './store.js';

/**
 * Entries that were committed elsewhere and keep their versions, such as those of a moved range or
 * a backup. They may have any partition prefixes, and may be keys of the store. A key occurs at
 * most once among entries and deletes.
 */
export interface Ingestion extends Guarded {
  readonly entries: readonly Entry[];
  readonly deletes: readonly Bytes[];
  /**
   * A safe integer. The versions of all later commits exceed it and the versions of all entries.
   */
  readonly floor: number;
}

/** Callers keep these limits; an engine asserts them before it touches anything. */
export function assertIngestion({ entries, deletes, floor, guard }: Ingestion): void {
  for (const { key, version } of entries) {
    assertKey(key);
    const isVersion = Number.isSafeInteger(version) && version > 0;
    invariant(isVersion, `an ingested version is a safe integer above 0, not ${version}`);
  }
  for (const key of deletes) assertKey(key);
  if (guard !== undefined) assertKey(guard.key);
  const isFloor = Number.isSafeInteger(floor) && floor >= 0;
  invariant(isFloor, `a floor is a safe integer and not negative, not ${floor}`);
}

/** The least version that later commits have to exceed. */
export function floorOf({ entries, floor }: Pick<Ingestion, 'entries' | 'floor'>): number {
  return entries.reduce((greatest, { version }) => Math.max(greatest, version), floor);
}
