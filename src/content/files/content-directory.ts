import { join } from 'node:path';
import { foreignKind } from '../../base/foreign-kind.js';
import { makeDirectory } from '../../base/make-directory.js';
import { privateDirectoryMode } from '../../base/private-files.js';
import { syncDirectory } from '../../base/sync-directory.js';
import { ContentLocationError } from '../errors.js';
import type { ContentFiles } from './content-files.js';
import { DiskContentFiles } from './disk-files.js';
import { extentsFolder } from './extent-place.js';
import { sessionsFolder, socketLiveness, type Liveness } from './sessions.js';

/** The folder of the content in a data directory. */
export const contentFolder = 'content';

/** Where content is kept, and how its processes see each other. */
export interface ContentPlace {
  readonly files: ContentFiles;
  readonly liveness: Liveness;
}

/**
 * The content of a data directory, which is there; the folder of the content is made. Throws
 * `ContentLocationError` when something else is there: a link leads elsewhere.
 */
export async function contentDirectory(directory: string): Promise<ContentPlace> {
  const root = join(directory, contentFolder);
  for (const folder of [root, join(root, sessionsFolder), join(root, extentsFolder)]) {
    const foreign = await foreignKind(folder, 'directory');
    if (foreign === undefined) continue;
    throw new ContentLocationError(
      `${folder} ${foreign}. Nothing was changed. Put it back, or choose another data directory.`,
    );
  }
  makeDirectory(root, privateDirectoryMode);
  await syncDirectory(directory);
  return {
    files: new DiskContentFiles(root),
    liveness: socketLiveness(join(root, sessionsFolder)),
  };
}
