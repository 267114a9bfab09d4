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

/** What LMDB makes of a shorter lock file by itself, where a reader has 64 bytes. */
const lockBytes = 8272;
/** File systems without hard links. There LMDB makes its files out of empty ones. */
const noLinks: ReadonlySet<string | undefined> = new Set([
  'EPERM',
  'EMLINK',
  'ENOSYS',
  'ENOTSUP',
  'EOPNOTSUPP',
]);
/** How LMDB opens the files: to read and write, and once more to write synchronously. */
const openings = [
  [lockFile, constants.O_RDWR],
  [dataFile, constants.O_RDWR],
  [dataFile, constants.O_WRONLY | (constants.O_DSYNC ?? 0)],
] as const;

/**
 * Makes the files of an environment that are missing, and opens them as LMDB will. An `open` of the
 * package that fails ends the process without a word; what fails here is an error of Node.js.
 * Another process may do the same at the same time: a file appears whole or not at all, and one
 * that exists is not touched.
 */
export function prepareFiles(directory: string): void {
  makeWhole(join(directory, lockFile), Buffer.alloc(lockBytes));
  const first = endianness() === 'LE' ? emptyDataFile() : Buffer.alloc(0);
  makeWhole(join(directory, dataFile), first);
  const opened: number[] = [];
  try {
    // All at once, as many as LMDB needs.
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

/** What cannot be removed is in nobody's way. */
function removeIfThere(path: string): void {
  try {
    unlinkSync(path);
  } catch {
    // It has not been made, or the disk has failed, which is told already.
  }
}
