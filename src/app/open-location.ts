import { statSync } from 'node:fs';
import { join } from 'node:path';
import { canBeMember } from '../kv/member-store.js';
import type { ServedStore } from '../kv/served-store.js';
import { MigrationError } from './migration/migration-error.js';
import type { DataLocation, MigrationStore } from './migration/data-location.js';
import { openEngine, type Sharing } from './open-engine.js';
import { assertAlone } from './open-partitions.js';
import { settingsOf } from './settings.js';

/** The file of a data directory that has data. */
const dataFile = 'data.mdb';

/**
 * Opens the data of a location that no other process uses; a data directory is locked. Throws
 * `MigrationError`, `DataDirectoryError` or `DatabaseError`.
 */
export async function openSource(source: DataLocation): Promise<MigrationStore> {
  const { location = '', postgresUrl } = source;
  if (postgresUrl !== undefined) return openWhole(source, 'join');
  if (statSync(join(location, dataFile), { throwIfNoEntry: false }) === undefined) {
    throw new MigrationError(`There are no data in ${location}: it has no ${dataFile}.`);
  }
  return openWhole(source, 'exclusive');
}

/** As `openSource`; makes the location where it is absent. */
export async function openTarget(target: DataLocation): Promise<MigrationStore> {
  return openWhole(target, 'exclusive');
}

/** Opens data that are in one location alone. */
async function openWhole(data: DataLocation, sharing: Sharing): Promise<MigrationStore> {
  const settings = settingsFor(data);
  const store = memberOf(await openEngine(settings, sharing));
  await assertAlone(store, settings.storage).catch(async (error: unknown) => {
    await store.close();
    throw error;
  });
  return store;
}

function settingsFor(data: DataLocation) {
  // Entries go to the data file at once: their pages are large.
  return settingsOf({ ...data, ...(data.postgresUrl === undefined && { journal: 'off' }) });
}

function memberOf(store: ServedStore): MigrationStore {
  if (canBeMember(store)) return store;
  throw new MigrationError('This engine cannot take entries with the versions that they have.');
}
