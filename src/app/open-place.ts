import { statSync } from 'node:fs';
import { join } from 'node:path';
import { canBeMember } from '../kv/member-store.js';
import type { ServedStore } from '../kv/served-store.js';
import { MigrationError } from './migration/migration-error.js';
import type { MigrationPlace, MigrationStore } from './migration/places.js';
import { openEngine, type Sharing } from './open-engine.js';
import { assertAlone } from './open-partitions.js';
import { settingsOf } from './settings.js';

/** The file of a data directory that has data. */
const dataFile = 'data.mdb';

/**
 * Opens the data of a place that nobody else uses; a data directory is locked. Throws
 * `MigrationError`, `DataDirectoryError` or `DatabaseError`.
 */
export async function openSource(place: MigrationPlace): Promise<MigrationStore> {
  const { location = '', postgresUrl } = place;
  if (postgresUrl !== undefined) return openWhole(place, 'join');
  if (statSync(join(location, dataFile), { throwIfNoEntry: false }) === undefined) {
    throw new MigrationError(`There are no data in ${location}: it has no ${dataFile}.`);
  }
  return openWhole(place, 'exclusive');
}

/** As `openSource`; makes the place where it is absent. */
export async function openTarget(place: MigrationPlace): Promise<MigrationStore> {
  return openWhole(place, 'exclusive');
}

/** Opens data that are in one place alone. */
async function openWhole(place: MigrationPlace, sharing: Sharing): Promise<MigrationStore> {
  const settings = settingsFor(place);
  const store = memberOf(await openEngine(settings, sharing));
  await assertAlone(store, settings.storage).catch(async (error: unknown) => {
    await store.close();
    throw error;
  });
  return store;
}

function settingsFor(place: MigrationPlace) {
  // Entries go to the data file at once: their pages are large.
  return settingsOf({ ...place, ...(place.postgresUrl === undefined && { journal: 'off' }) });
}

function memberOf(store: ServedStore): MigrationStore {
  if (canBeMember(store)) return store;
  throw new MigrationError('This engine cannot take entries with the versions that they have.');
}
