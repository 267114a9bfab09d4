import { join } from 'node:path';
import { foreignKind } from '../../../base/foreign-kind.js';
import { DataDirectoryError } from './data-directory-error.js';

export const formatFile = 'format';
export const dataFile = 'data.mdb';
export const lockFile = `${dataFile}-lock`;

/**
 * Makes sure that what the engine opens in a directory are regular files of that directory, as far
 * as they exist: it would wait for the writer of a pipe and heed no signal meanwhile, crash on a
 * device, and write into whatever file a link names. Throws `DataDirectoryError`.
 */
export async function checkFileKinds(directory: string): Promise<void> {
  for (const name of [formatFile, dataFile, lockFile]) {
    const path = join(directory, name);
    const foreign = await foreignKind(path, 'file');
    if (foreign === undefined) continue;
    throw new DataDirectoryError(
      'foreign',
      `${path} ${foreign}. Nothing was changed. Put the file back, or choose another data directory.`,
    );
  }
}
