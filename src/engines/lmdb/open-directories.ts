import { realpathSync } from 'node:fs';
import { DataDirectoryError } from './directory/data-directory-error.js';

/**
 * Data directories that this process has open. A process must open an environment once: the package
 * shares it among all that open it, and two that write to it at a time wait for each other forever.
 */
const open = new Set<string>();

/** Takes the directory for this process; returns how to give it back. */
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
