import { StorageError } from '../../model/errors/storage-error.js';

/** The maximum results of a page; a client can ask for fewer (table-service §3.9). */
export const pageSizeMax = 1000;

/** The page size for a `$top`. */
export function pageSize(top: number | undefined): number {
  if (top === undefined) return pageSizeMax;
  if (!Number.isInteger(top) || top < 0 || top > pageSizeMax)
    throw new StorageError('InvalidInput');
  return top;
}
