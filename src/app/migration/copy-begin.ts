import { StoredExtents } from '../../content/files/stored-extents.js';
import { copyStateEntry, copyStateOf, type CopyState } from '../moves/copy-state.js';
import { hasEntries } from './entries.js';
import { MigrationError } from './migration-error.js';
import {
  contentDirectoryOf,
  shownLocation,
  type DataLocation,
  type MigrationStore,
} from './data-location.js';

/**
 * Marks a target as an unfinished copy, or returns how far an earlier attempt has come. Throws
 * `MigrationError` for a target with other data.
 */
export async function beginCopy(
  target: MigrationStore,
  of: {
    readonly from: DataLocation;
    readonly to: DataLocation;
    /** The last version of the source. */
    readonly lastVersion: number;
    /** Whether the source is served meanwhile. */
    readonly isOnline: boolean;
  },
): Promise<CopyState> {
  const { from, to, lastVersion, isOnline } = of;
  const source = shownLocation(from);
  const found = await copyStateOf(target);
  if (found === undefined) {
    const files = await new StoredExtents(contentDirectoryOf(to)).count();
    if (files > 0 || (await hasEntries(target))) {
      throw new MigrationError(
        `${shownLocation(to)} is not empty. Nothing was changed. Choose an empty target` +
          (files > 0 ? `: ${contentDirectoryOf(to)} has the content of blobs.` : '.'),
      );
    }
    const nothing = { source, lastVersion, after: undefined, entries: 0, bytes: 0 };
    const begun: CopyState = isOnline ? { ...nothing, isOnline } : nothing;
    await target.ingest({ entries: [copyStateEntry(begun)], deletes: [], floor: lastVersion });
    return begun;
  }
  if (found.source !== source) {
    throw new MigrationError(
      `${shownLocation(to)} has an unfinished copy of ${found.source}. Finish that, or choose an ` +
        'empty target.',
    );
  }
  const mayDiffer = isOnline || found.isOnline === true;
  if (!mayDiffer && found.lastVersion !== lastVersion) {
    throw new MigrationError(
      `${source} was written to since the copy in ${shownLocation(to)} was begun. Remove that copy, ` +
        'and begin again with an empty target.',
    );
  }
  return found;
}
