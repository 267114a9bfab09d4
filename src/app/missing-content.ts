import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { contentFolder } from '../content/files/content-directory.js';
import { extentsFolder } from '../content/files/extent-place.js';
import { sessionsFolder } from '../content/files/sessions.js';
import { DataDirectoryError } from '../engines/lmdb/directory/data-directory-error.js';
import type { Store } from '../kv/store.js';
import { entriesOf } from '../services/containers/walk.js';
import { extentsOfBlobs, rangeOfBlobs } from '../services/blobs/stored-blobs.js';

/**
 * Throws `DataDirectoryError` when a data directory has no content, but blobs with bytes there: a
 * disk is not mounted, or a copy lacks the folder. What were written there would be hidden when the
 * disk is back. Blobs are read only where nobody has opened the content before.
 */
export async function assertContentThere(directory: string, store: Store): Promise<void> {
  const root = join(directory, contentFolder);
  if ([sessionsFolder, extentsFolder].some((folder) => existsSync(join(root, folder)))) return;
  for await (const { account, container, blob } of extentsOfBlobs(entriesOf(store, rangeOfBlobs))) {
    throw new DataDirectoryError(
      'damaged',
      `The folder ${root} is missing or empty, but blobs have bytes there, such as ${container}/${blob} ` +
        `of ${account}. Nothing was changed. Mount its disk, or restore it from the same backup as the ` +
        `data file. Where these bytes are lost, make the folder ${join(root, extentsFolder)}: the server ` +
        'starts then, and reading these blobs fails.',
    );
  }
}
