import { join } from 'node:path';
import { foreignKind } from '../../../base/foreign-kind.js';
import { DataDirectoryError } from './data-directory-error.js';

export const formatFile = 'format';
export const dataFile = 'data.mdb';
export const lockFile = `${dataFile}-lock`;

/**
 * Checks that the files which the engine opens are regular files of the directory, as far as they
 * exist. With a pipe the engine would wait for a writer and ignore signals; with a device it would
 * crash; with a link it would write to any file. Throws `DataDirectoryError`.
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
