import {
  closeSync,
  constants,
  fstatSync,
  fsyncSync,
  ftruncateSync,
  linkSync,
  openSync,
  unlinkSync,
  writeFileSync,
} from 'node:fs';
import { endianness } from 'node:os';
import { join } from 'node:path';
import type { Bytes } from '../../base/bytes.js';
import { privateFileMode } from '../../base/private-files.js';
import { systemRandomness } from '../../base/randomness.js';
import { codeOf } from '../../base/thrown.js';
import { emptyDataFile } from './check/snapshot-head.js';
import { dataFile, lockFile } from './directory/file-kinds.js';

/** The size that LMDB gives a shorter lock file; a reader takes 64 bytes. */
const lockBytes = 8272;
/** Errors of file systems without hard links. There LMDB creates its files from empty ones. */
const noLinks: ReadonlySet<string | undefined> = new Set([
  'EPERM',
  'EMLINK',
  'ENOSYS',
  'ENOTSUP',
  'EOPNOTSUPP',
]);
/** The flags with which LMDB opens the files: read-write, and synchronous writing. */
const openings = [
  [lockFile, constants.O_RDWR],
  [dataFile, constants.O_RDWR],
  [dataFile, constants.O_WRONLY | (constants.O_DSYNC ?? 0)],
] as const;

/**
 * Creates the missing files of an environment and opens them as LMDB will. A failing `open` inside
 * the package ends the process without a message; a failure here is an error of Node.js. Other
 * processes may do the same at the same time: a file appears complete or not at all, and an
 * existing file is not touched.
 */
export function prepareFiles(directory: string): void {
  makeWhole(join(directory, lockFile), Buffer.alloc(lockBytes));
  const first = endianness() === 'LE' ? emptyDataFile() : Buffer.alloc(0);
  makeWhole(join(directory, dataFile), first);
  const opened: number[] = [];
  try {
    // All are held open at once, as LMDB needs them.
    for (const [name, flags] of openings) opened.push(openSync(join(directory, name), flags));
    const [lock] = opened;
    if (lock !== undefined && fstatSync(lock).size < lockBytes) ftruncateSync(lock, lockBytes);
  } finally {
    for (const file of opened) closeSync(file);
  }
}

function makeWhole(path: string, content: Bytes): void {
  if (exists(path)) return;
  const unfinished = `${path}.new-${systemRandomness.uuid()}`;
  try {
    const file = openSync(unfinished, 'wx', privateFileMode);
    try {
      writeFileSync(file, content);
      fsyncSync(file);
    } finally {
      closeSync(file);
    }
    linkSync(unfinished, path);
  } catch (error) {
    if (codeOf(error) === 'EEXIST') return;
    if (!noLinks.has(codeOf(error))) throw error;
    closeSync(openSync(path, 'a', privateFileMode));
  } finally {
    removeIfThere(unfinished);
  }
}

function exists(path: string): boolean {
  try {
    closeSync(openSync(path, 'r'));
    return true;
  } catch (error) {
    if (codeOf(error) === 'ENOENT') return false;
    throw error;
  }
}

/** A file that cannot be removed does no harm. */
function removeIfThere(path: string): void {
  try {
    unlinkSync(path);
  } catch {
    // The file was never created, or the disk has failed, which is reported already.
  }
}
