import { untilCommitted, type overtaken } from '../containers/until-committed.js';
import type { BlobContext } from './blob-context.js';
import type { BlobKeys } from './keys.js';
import { attemptsMax } from './limits.js';

/**
 * Copies from a container until nothing that was read has changed meanwhile. What an attempt reads
 * stays until it is done. Throws `ServerBusy` when every attempt is overtaken.
 */
export async function copiedUnchanged<Copied>(
  { readers }: Pick<BlobContext, 'readers'>,
  from: BlobKeys,
  attempt: () => Promise<Copied | typeof overtaken>,
): Promise<Copied> {
  const close = readers.begin(from);
  try {
    return await untilCommitted(attemptsMax, attempt);
  } finally {
    close();
  }
}
