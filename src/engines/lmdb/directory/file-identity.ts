import { statSync, type BigIntStats } from 'node:fs';

export type IdentityStats = Pick<BigIntStats, 'ino' | 'dev' | 'birthtimeNs' | 'ctimeNs'>;

/**
 * Tells a file from its copies, in whatever place and state either is. Stays the same while the
 * file is written, renamed within its file system, or mounted elsewhere. Throws when there is no
 * file at the path.
 */
export function fileIdentityAt(path: string): string {
  return fileIdentityOf(statSync(path, { bigint: true }));
}

/**
 * The inode alone is not enough: file systems use the number of a removed file again, and two of
 * them have the same numbers. The birth time, in nanoseconds, tells such files apart. The device
 * would too, but systems number devices anew when they boot or mount, so it is part of the identity
 * only where the file system keeps no birth time. Node.js then gives zero, or the time of the last
 * change instead.
 */
export function fileIdentityOf({ ino, dev, birthtimeNs, ctimeNs }: IdentityStats): string {
  const hasBirthTime = birthtimeNs > 0n && birthtimeNs !== ctimeNs;
  return hasBirthTime ? `${ino} born ${birthtimeNs}` : `${ino} on ${dev}`;
}
