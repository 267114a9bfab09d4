import { equalBytes } from '../../base/bytes.js';
import { StorageError } from '../../model/errors/storage-error.js';
import { droppedGraceMicros } from '../containers/reclaim.js';
import type { BlobContext } from './blob-context.js';
import { keysOf } from './blob-state.js';
import type { BlobKeys } from './keys.js';
import type { BlobAddress } from './types.js';

/** Well within the time for which the sweep looks for late writes. */
const lateMicros = droppedGraceMicros / 2;

/**
 * For a write that makes a blob when all bytes are there, which may take hours: call this before,
 * and the result after. Its commit would store them in a container that was deleted and swept long
 * ago, where nobody finds them. The result throws `ContainerNotFound` then.
 */
export function containerCheck(
  context: BlobContext,
  address: BlobAddress,
  keys: BlobKeys,
): () => Promise<void> {
  const begunMicros = context.clock.nowMicros();
  return async () => {
    if (context.clock.nowMicros() - begunMicros < lateMicros) return;
    const found = await keysOf(context, address);
    if (!equalBytes(found.base, keys.base)) throw new StorageError('ContainerNotFound');
  };
}
