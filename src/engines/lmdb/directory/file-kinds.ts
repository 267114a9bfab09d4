import type { Stats } from 'node:fs';
import { lstat } from 'node:fs/promises';
import { join } from 'node:path';
import { kindOf } from '../../../base/regular-file.js';
import { codeOf } from '../../../base/thrown.js';
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
    const stats = await statsOf(path);
    if (stats === undefined || stats.isFile()) continue;
    throw new DataDirectoryError(
      'foreign',
      `${path} is ${kindOf(stats)}, not a regular file. Nothing was changed. Put the file back, or ` +
        'choose another data directory.',
    );
  }
}

async function statsOf(path: string): Promise<Stats | undefined> {
  try {
    return await lstat(path);
  } catch (error) {
    if (codeOf(error) === 'ENOENT') return undefined;
    throw error;
  }
}
