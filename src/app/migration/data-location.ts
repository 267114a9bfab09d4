import { realpathSync } from 'node:fs';
import { shownAddress } from '../../engines/postgres/hosts.js';
import type { MemberStore } from '../../kv/member-store.js';
import type { ServedStore } from '../../kv/served-store.js';
import type { ServerOptions } from '../options/table.js';
import { MigrationError } from './migration-error.js';

/**
 * A location of data: a data directory, or a database with a directory for the content of blobs.
 */
export type DataLocation = Pick<ServerOptions, 'location' | 'postgresUrl' | 'postgresSchema'>;

/** The text that people read and that identifies the location. */
export function shownLocation({
  location = '',
  postgresUrl,
  postgresSchema,
}: DataLocation): string {
  if (postgresUrl === undefined) return realPath(location);
  return `${shownAddress(postgresUrl)}, schema ${postgresSchema ?? 'tabularium'}`;
}

/** The directory with the content of blobs. */
export function contentDirectoryOf({ location = '' }: DataLocation): string {
  return realPath(location);
}

/** Throws `MigrationError` for locations that are the same, or keep content in the same files. */
export function assertApart(from: DataLocation, to: DataLocation): void {
  if (shownLocation(from) === shownLocation(to)) {
    throw new MigrationError(`Source and target are the same: ${shownLocation(from)}.`);
  }
  const directory = contentDirectoryOf(to);
  if (directory !== contentDirectoryOf(from)) return;
  throw new MigrationError(
    `The content of blobs would stay in ${directory}, which the source uses. Give another ` +
      'directory for that of the target.',
  );
}

export type MigrationStore = MemberStore & ServedStore;

function realPath(path: string): string {
  try {
    return realpathSync(path);
  } catch {
    // The directory does not exist yet.
    return path;
  }
}
