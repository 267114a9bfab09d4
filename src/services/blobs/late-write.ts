import { equalBytes } from '../../base/bytes.js';
import { StorageError } from '../../model/errors/storage-error.js';
import { droppedGraceMicros } from '../containers/reclaim.js';
import type { BlobContext } from './blob-context.js';
import { keysOf } from './blob-state.js';
import type { BlobKeys } from './keys.js';
import type { BlobAddress } from './types.js';

/** Well within the time for which the sweep of dropped containers looks for late writes. */
const lateMicros = droppedGraceMicros / 2;

/**
 * For a write that commits a blob after all its bytes were received, which may take hours. Call
 * this function before that, and the returned one afterwards: it throws `ContainerNotFound` when
 * the container was deleted meanwhile. Otherwise the commit might store the blob in a container
 * that was swept long ago, where nothing finds it.
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
