import { statfs } from 'node:fs/promises';
import { codeOf } from './thrown.js';

export interface DiskSpace {
  /** What may still be written, in bytes. */
  readonly freeBytes: number;
  readonly totalBytes: number;
}

/** The file system cannot be asked, or the process may not. */
const freeSpaceUnknown: ReadonlySet<string> = new Set([
  'ENOSYS',
  'ENOTSUP',
  'EOPNOTSUPP',
  'EPERM',
  'EACCES',
]);

/** What the disk of a folder has. Undefined when it does not say. */
export async function diskSpace(folder: string): Promise<DiskSpace | undefined> {
  try {
    const { bsize, bavail, blocks } = await statfs(folder);
    // Some file systems, such as those over a network, say that they have no blocks at all.
    if (blocks === 0) return undefined;
    return { freeBytes: bsize * bavail, totalBytes: bsize * blocks };
  } catch (error) {
    if (freeSpaceUnknown.has(codeOf(error) ?? '')) return undefined;
    throw error;
  }
}

/** So much of a disk is left free, and of a small one only a share of it. */
const reservedBytesMax = 64 * 1024 * 1024;
const reservedShare = 1 / 16;

/**
 * What writes leave of a disk to deletions and to starts, in bytes. A deletion has to be written
 * down before it frees anything, and a start writes as well: on a full disk, neither could be.
 */
export function reservedBytes({ totalBytes }: Pick<DiskSpace, 'totalBytes'>): number {
  return Math.min(reservedBytesMax, Math.floor(totalBytes * reservedShare));
}
