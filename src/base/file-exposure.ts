import { realpathSync, statSync } from 'node:fs';
import { dirname } from 'node:path';

/** A file whose content the server relies on. */
export interface TrustedFile {
  readonly path: string;
  /** Reading the file grants access. When false, only write access matters. */
  readonly isSecret: boolean;
}

const othersRead = 0o004;
const othersWrite = 0o002;
const stickyBit = 0o1000;

/**
 * Describes the rights that every user of the machine has to a file and should not have, and how to
 * remove them. For a link, the target file and both directories are checked. Returns nothing for a
 * missing file. Windows has other access control and is not checked.
 */
export function exposureOf({ path, isSecret }: TrustedFile): readonly string[] {
  if (process.platform === 'win32') return [];
  const mode = modeOf(path);
  if (mode === undefined) return [];
  const found: string[] = [];
  if (isSecret && (mode & othersRead) !== 0) {
    found.push(`Every user of this machine can read ${path}, which holds keys: chmod o-r ${path}`);
  }
  if ((mode & othersWrite) !== 0) {
    found.push(`Every user of this machine can change ${path}: chmod o-w ${path}`);
  }
  for (const folder of new Set([dirname(path), dirname(realpathSync(path))])) {
    const rights = modeOf(folder) ?? 0;
    // In a sticky directory such as /tmp, users cannot replace files of others.
    if ((rights & othersWrite) === 0 || (rights & stickyBit) !== 0) continue;
    found.push(
      `Every user of this machine can put another file in place of ${path}: chmod o-w ${folder}`,
    );
  }
  return found;
}

function modeOf(path: string): number | undefined {
  return statSync(path, { throwIfNoEntry: false })?.mode;
}
