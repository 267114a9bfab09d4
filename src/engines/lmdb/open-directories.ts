import { realpathSync } from 'node:fs';
import { DataDirectoryError } from './directory/data-directory-error.js';

/**
 * The data directories that this process has open. A process must open an environment once: the
 * package shares it among all that open it, and two concurrent writers would deadlock.
 */
const open = new Set<string>();

/** Claims the directory for this process; returns the function that releases it. */
export function claimDirectory(directory: string): () => void {
  const path = realpathSync(directory);
  if (open.has(path)) {
    throw new DataDirectoryError(
      'in-use',
      `The data directory ${directory} is in use by process ${process.pid}, which is this one. ` +
        'Close the store that is open, or choose another directory with --location.',
    );
  }
  open.add(path);
  return () => {
    open.delete(path);
  };
}
