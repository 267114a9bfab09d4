import { SharedRuns } from '../../../base/async/shared-runs.js';
import type { RequireWhole } from '../shard-map/shard-map-options.js';
import { ManagerError } from './manager-errors.js';
import type { ManagerRow, ManagerRows } from './manager-rows.js';

// Shards into which a restore has not ended: each has a part of its rows, or gets those of the
// backup over newer ones.

/** The backup whose restore into a shard has not ended. One point read. */
export async function unendedRestore(
  rows: ManagerRows,
  shard: string,
): Promise<string | undefined> {
  return (await rows.find('restore', shard))?.texts['Backup'];
}

/** Throws `ManagerError` for the shard of a restore that has not ended. */
export function refuseRestoring(shard: string, backup: string | undefined): void {
  if (backup === undefined) return;
  throw new ManagerError(
    `the shard '${shard}' has a part of the backup '${backup}', whose restore has not ended: ` +
      `${howToEnd}; then run or cancel the operation that moves its partitions, if one is under ` +
      'way, and then attach it',
  );
}

export const howToEnd =
  'restore it again with resume, or give it up with giveUpRestore, and restore another one';

/** As `refuseRestoring`, for any of several shards. A range read. */
export async function refuseAnyRestoring(
  rows: ManagerRows,
  shards: readonly string[],
): Promise<void> {
  refuseListed(await rows.list('restore'), shards);
}

function refuseListed(
  restores: readonly ManagerRow[],
  shards: readonly (string | undefined)[],
): void {
  for (const { name, texts } of restores) {
    if (shards.includes(name)) refuseRestoring(name, texts['Backup'] ?? '');
  }
}

/**
 * As `refuseAnyRestoring`, for the partitions of a step: those that ask at the same time share a
 * range read, which begins after each of them has asked.
 */
export function sharedLook(rows: ManagerRows): RequireWhole {
  const looks = new SharedRuns();
  let latest: readonly ManagerRow[] = [];
  return async (shards) => {
    await looks.run('restores', undefined, async () => {
      latest = await rows.list('restore');
    });
    refuseListed(latest, shards);
  };
}
