import { realpathSync } from 'node:fs';
import { basename, dirname, isAbsolute, join, relative, sep } from 'node:path';
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

/**
 * Throws `MigrationError` for locations that are the same, or keep content in the same files, and
 * for a target inside of the source, which would be deleted with the source.
 */
export function assertApart(from: DataLocation, to: DataLocation): void {
  if (shownLocation(from) === shownLocation(to)) {
    throw new MigrationError(`Source and target are the same: ${shownLocation(from)}.`);
  }
  const directory = contentDirectoryOf(to);
  const source = contentDirectoryOf(from);
  if (isInside(directory, source)) {
    throw new MigrationError(
      `${directory} is inside of ${source}, which is to be deleted after the migration. Give a ` +
        'directory elsewhere.',
    );
  }
  if (directory !== source) return;
  throw new MigrationError(
    `The content of blobs would stay in ${directory}, which the source uses. Give another ` +
      'directory for that of the target.',
  );
}

export type MigrationStore = MemberStore & ServedStore;

function isInside(inner: string, outer: string): boolean {
  const path = relative(outer, inner);
  return path !== '' && path !== '..' && !path.startsWith(`..${sep}`) && !isAbsolute(path);
}

/** Of a path that does not exist yet, the part that exists is without symbolic links. */
function realPath(path: string): string {
  try {
    return realpathSync(path);
  } catch {
    const parent = dirname(path);
    return parent === path ? path : join(realPath(parent), basename(path));
  }
}
