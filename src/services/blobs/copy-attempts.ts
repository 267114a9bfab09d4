import { StorageError } from '../../model/errors/storage-error.js';
import type { BlobContext } from './blob-context.js';
import type { BlobKeys } from './keys.js';
import { attemptsMax } from './limits.js';

/**
 * Copies from a container until nothing that was read has changed meanwhile: `attempt` returns
 * undefined when something has. What it reads stays until it is done. Throws `ServerBusy` when every
 * attempt met a change.
 */
export async function copiedUnchanged<Copied>(
  { readers }: Pick<BlobContext, 'readers'>,
  from: BlobKeys,
  attempt: () => Promise<Copied | undefined>,
): Promise<Copied> {
  const close = readers.begin(from);
  try {
    for (let count = 0; count < attemptsMax; count += 1) {
      const copied = await attempt();
      if (copied !== undefined) return copied;
    }
    throw new StorageError('ServerBusy');
  } finally {
    close();
  }
}
