import type { DiskWatch } from '../../base/disk/disk-watch.js';
import { operationClass } from '../../model/analytics/operation-name.js';
import { StorageError } from '../../model/errors/storage-error.js';
import type { AdmittedRequest, Interceptor } from '../pipeline/interceptor.js';

/** Writes that need no or hardly any space, besides those of leases and settings. */
const lasting: ReadonlySet<string> = new Set([
  'AbortCopyBlob',
  'AppendBlobSeal',
  'BlobBatch',
  'SetBlobTier',
  'UpdateMessage',
]);
const settings = /Lease|ServiceProperties$|Acl$|ACL$/;

/**
 * Refuses writes that need space when the disk has only its reserve left, so that deletions and
 * starts stay possible.
 */
export class LowSpaceGuard implements Interceptor {
  readonly #disk: Pick<DiskWatch, 'isLow' | 'isStillLow'>;

  constructor(disk: Pick<DiskWatch, 'isLow' | 'isStillLow'>) {
    this.#disk = disk;
  }

  get isActive(): boolean {
    return this.#disk.isLow;
  }

  async beforeWork({ operation, exchange, mayGrow }: AdmittedRequest): Promise<void> {
    const isWrite = operationClass(operation, exchange.method) === 'write';
    if (!isWrite || !mayGrow || lasting.has(operation) || settings.test(operation)) return;
    if (await this.#disk.isStillLow()) throw lowSpaceError();
  }
}

/** The answer to a write that needs space when there is none but a reserve. */
export function lowSpaceError(): StorageError {
  return new StorageError('InternalError', {
    message:
      'The disk of the server is full but for a reserve. Deletions are served, and writes again ' +
      'when there is space: delete what is not needed, or make space on the disk.',
  });
}
