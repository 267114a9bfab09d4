import { statfs } from 'node:fs/promises';
import { codeOf } from '../thrown.js';

export interface DiskSpace {
  /** The number of bytes that can still be written. */
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

/** The space of the disk of a folder. Undefined when the system does not tell. */
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

/** The most bytes of a disk that are left free. On a small disk it is only a share. */
const reservedBytesMax = 64 * 1024 * 1024;
const reservedShare = 1 / 16;

/**
 * The bytes of a disk that are reserved for deletions and starts. Both have to write before they
 * free anything, so on a full disk neither would be possible.
 */
export function reservedBytes({ totalBytes }: Pick<DiskSpace, 'totalBytes'>): number {
  return Math.min(reservedBytesMax, Math.floor(totalBytes * reservedShare));
}
