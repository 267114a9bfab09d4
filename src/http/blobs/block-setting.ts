import { StorageError } from '../../model/errors/storage-error.js';
import type { BlobRequest } from './request.js';

/**
 * Throws `RequestBodyTooLarge` for a block that exceeds the limit of this server, which may be
 * lower than that of the protocol.
 */
export function checkBlockSetting({ backend }: Pick<BlobRequest, 'backend'>, bytes: number): void {
  const { blockBytesMax } = backend;
  if (bytes <= blockBytesMax) return;
  throw new StorageError('RequestBodyTooLarge', {
    message:
      `This server takes blocks of ${blockBytesMax} bytes at most. Write smaller ones, or start ` +
      'it with a larger --max-block-mib (blobs.maxBlockMiB).',
    details: [['MaxLimit', String(blockBytesMax)]],
  });
}
