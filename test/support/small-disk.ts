import { execFile } from 'node:child_process';
import { chown, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';

const run = promisify(execFile);

/** A file system in memory that is soon full. */
export interface SmallDisk extends AsyncDisposable {
  readonly folder: string;
  grow(mebibytes: number): Promise<void>;
}

/** Undefined where this user may not mount one. `uid`: whose it is. */
export async function mountSmallDisk(
  mebibytes: number,
  uid: number,
): Promise<SmallDisk | undefined> {
  const folder = await mkdtemp(join(tmpdir(), 'tabularium-disk-'));
  try {
    await run('mount', ['-t', 'tmpfs', '-o', `size=${mebibytes}m`, 'tmpfs', folder]);
  } catch {
    await rm(folder, { recursive: true });
    return undefined;
  }
  await chown(folder, uid, uid);
  return {
    folder,
    async grow(size) {
      await run('mount', ['-o', `remount,size=${size}m`, folder]);
    },
    async [Symbol.asyncDispose]() {
      await run('umount', ['--lazy', folder]);
      await rm(folder, { recursive: true, force: true });
    },
  };
}
