import { StorageError } from '../../model/errors/storage-error.js';

/** Results in a page, at most and unless the client asks for fewer (table-service §3.9). */
export const pageSizeMax = 1000;

/** The page size that `$top` asks for. */
export function pageSize(top: number | undefined): number {
  if (top === undefined) return pageSizeMax;
  if (!Number.isInteger(top) || top < 0 || top > pageSizeMax)
    throw new StorageError('InvalidInput');
  return top;
}
