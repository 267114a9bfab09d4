import { realpathSync, statSync } from 'node:fs';
import { dirname } from 'node:path';

/** A file that a server trusts. */
export interface TrustedFile {
  readonly path: string;
  /** Whoever reads it gets in. Otherwise it only matters who may write it. */
  readonly isSecret: boolean;
}

const othersRead = 0o004;
const othersWrite = 0o002;
const stickyBit = 0o1000;

/**
 * What every user of the machine may do with a file and should not, for people, with what to do
 * about it. A link is judged by the file that it leads to, and by the folders of both. Nothing is
 * said of a file that is not there. Windows gives rights in other ways and is left alone.
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
    // Of a folder such as /tmp nobody takes what belongs to another.
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
