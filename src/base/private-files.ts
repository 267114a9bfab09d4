import { chmodSync, statSync, type Stats } from 'node:fs';

/** The modes of files and directories that only their owner may use. */
export const privateFileMode = 0o600;
export const privateDirectoryMode = 0o700;

const othersMask = 0o077;
const stickyBit = 0o1000;

/**
 * Removes all rights of others to a file or directory. Returns a warning for people when that
 * fails; undefined otherwise, also for a missing file. Windows inherits rights from directories and
 * is not checked.
 */
export function keepPrivate(path: string): string | undefined {
  if (process.platform === 'win32') return undefined;
  const found = statSync(path, { throwIfNoEntry: false });
  if (found === undefined) return undefined;
  return openToOthers(path, found) ?? ofAnother(path, found);
}

function openToOthers(path: string, { mode }: Stats): string | undefined {
  if ((mode & othersMask) === 0) return undefined;
  try {
    // A directory such as /tmp is shared on purpose.
    if ((mode & stickyBit) === 0) chmodSync(path, mode & 0o700);
  } catch {
    // Some file systems ignore the change, so the mode is read again.
  }
  const left = statSync(path).mode & 0o777;
  if ((left & othersMask) === 0) return undefined;
  return (
    `Other users of this machine may have access to ${path}: its mode is ` +
    `${left.toString(8).padStart(4, '0')}, and it cannot be changed here.`
  );
}

function ofAnother(path: string, { uid }: Stats): string | undefined {
  const own = process.geteuid?.();
  if (own === undefined || uid === own) return undefined;
  return `${path} belongs to another user (${uid}), who can read and change it.`;
}
