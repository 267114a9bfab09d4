import { link, open, rename, rm, stat, unlink } from 'node:fs/promises';
import { basename, dirname, relative, resolve, sep } from 'node:path';
import type { Bytes } from '../../../base/bytes.js';
import { makeDirectory } from '../../../base/make-directory.js';
import { codeOf } from '../../../base/thrown.js';
import { systemRandomness, type Randomness } from '../../../base/randomness.js';
import { ValueError } from '../../table/errors.js';
import type { Place, Slot } from './place.js';

/**
 * Files under a directory, with paths by the payload. Missing folders are created. A file appears
 * and changes as a whole, and is on the disk when a write resolves; a crash can leave a file that
 * ends in `.tmp`, which no program reads.
 *
 * File systems have no conditions: two processes that replace or delete the same file at the same
 * moment are not distinguished. Let one worker do that; creating a file is safe with many.
 */
export function fileIn<Payload>(
  directory: string,
  path: (payload: Payload) => string,
  { randomness = systemRandomness }: { readonly randomness?: Randomness } = {},
): Place<Payload, Bytes> {
  return {
    name: basename(directory),
    slot: (payload) => fileSlot(inside(directory, path(payload)), randomness),
  };
}

function inside(directory: string, path: string): string {
  const file = resolve(directory, path);
  const [first] = relative(directory, file).split(sep);
  if (first === '' || first === '..') throw new ValueError(`'${path}' lies outside the directory`);
  return file;
}

function fileSlot(file: string, randomness: Randomness): Slot<Bytes> {
  const etag = () => unlessMissing(async () => etagOf(await stat(file, { bigint: true })));
  return {
    etag,
    read: () =>
      unlessMissing(async () => {
        const handle = await open(file);
        try {
          const version = etagOf(await handle.stat({ bigint: true }));
          return { value: await handle.readFile(), etag: version };
        } finally {
          await handle.close();
        }
      }),
    async store(value, expected) {
      const temporary = `${file}.${randomness.uuid()}.tmp`;
      makeDirectory(dirname(file));
      try {
        await writeSynced(temporary, value);
        if (expected === undefined) {
          if (!(await linkNew(temporary, file))) return false;
        } else {
          if ((await etag()) !== expected) return false;
          await rename(temporary, file);
        }
        await sync(dirname(file));
        return true;
      } finally {
        await rm(temporary, { force: true });
      }
    },
    async delete(expected) {
      if (expected !== '*' && (await etag()) !== expected) return false;
      const isDeleted = await unlessMissing(async () => {
        await unlink(file);
        return true;
      });
      if (isDeleted === true) await sync(dirname(file));
      return isDeleted ?? false;
    },
  };
}

interface FileVersion {
  readonly ino: bigint;
  readonly mtimeNs: bigint;
  readonly size: bigint;
}

function etagOf({ ino, mtimeNs, size }: FileVersion): string {
  return `${ino}-${mtimeNs}-${size}`;
}

async function writeSynced(file: string, value: Bytes): Promise<void> {
  const handle = await open(file, 'wx');
  try {
    await handle.writeFile(value);
    await handle.sync();
  } finally {
    await handle.close();
  }
}

/** Unlike a rename, a link is created only where there is no file. */
async function linkNew(from: string, to: string): Promise<boolean> {
  try {
    await link(from, to);
    return true;
  } catch (error) {
    if (codeOf(error) === 'EEXIST') return false;
    throw error;
  }
}

async function sync(directory: string): Promise<void> {
  const handle = await open(directory);
  try {
    await handle.sync();
  } finally {
    await handle.close();
  }
}

async function unlessMissing<T>(work: () => Promise<T>): Promise<T | undefined> {
  try {
    return await work();
  } catch (error) {
    if (codeOf(error) === 'ENOENT') return undefined;
    throw error;
  }
}
