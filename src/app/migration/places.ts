import { realpathSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { shownAddress } from '../../engines/postgres/hosts.js';
import { canBeMember, type MemberStore } from '../../kv/member-store.js';
import type { ServedStore } from '../../kv/served-store.js';
import { openEngine, type Sharing } from '../open-engine.js';
import type { ServerOptions } from '../options/table.js';
import { assertAlone } from '../open-partitions.js';
import { settingsOf } from '../settings.js';
import { MigrationError } from './migration-error.js';

/** Where data are: a data directory, or a database with a directory for the content of blobs. */
export type MigrationPlace = Pick<ServerOptions, 'location' | 'postgresUrl' | 'postgresSchema'>;

/** The file of a data directory that has data. */
const dataFile = 'data.mdb';

/** For people, and to know a place again. */
export function shownPlace({ location = '', postgresUrl, postgresSchema }: MigrationPlace): string {
  if (postgresUrl === undefined) return realPath(location);
  return `${shownAddress(postgresUrl)}, schema ${postgresSchema ?? 'tabularium'}`;
}

/** Where the files of the content are. */
export function contentDirectoryOf({ location = '' }: MigrationPlace): string {
  return realPath(location);
}

/** Throws `MigrationError` for places that are the same, or keep content in the same files. */
export function assertApart(from: MigrationPlace, to: MigrationPlace): void {
  if (shownPlace(from) === shownPlace(to)) {
    throw new MigrationError(`Source and target are the same: ${shownPlace(from)}.`);
  }
  const directory = contentDirectoryOf(to);
  if (directory !== contentDirectoryOf(from)) return;
  throw new MigrationError(
    `The content of blobs would stay in ${directory}, which the source uses. Give another ` +
      'directory for that of the target.',
  );
}

export type MigrationStore = MemberStore & ServedStore;

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

function realPath(path: string): string {
  try {
    return realpathSync(path);
  } catch {
    // It is made later.
    return path;
  }
}
