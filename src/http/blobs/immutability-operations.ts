import { StorageError } from '../../model/errors/storage-error.js';
import { givenImmutability } from '../../wire/blobs/immutability-headers.js';
import type { AnyOperation } from '../exchange/service.js';
import { createAppendBlob } from './append-blob.js';
import { copyBlob, copyBlobFromUrl } from './copy-blob.js';
import { setImmutabilityPolicy, setLegalHold } from './immutability.js';
import { createPageBlob } from './page-blob.js';
import { putBlob } from './put-blob.js';
import { putBlockList } from './put-block-list.js';
import type { BlobRequest } from './request.js';
import { putBlobFromUrl } from './write-from-url.js';

/** Operations that can give a blob a policy or a legal hold. */
const giving: ReadonlySet<AnyOperation> = new Set<AnyOperation>([
  putBlob,
  putBlockList,
  putBlobFromUrl,
  createAppendBlob,
  createPageBlob,
  copyBlob,
  copyBlobFromUrl,
  setImmutabilityPolicy,
  setLegalHold,
]);

/**
 * Refuses a policy or a legal hold in a request whose operation would ignore it (blob-service
 * §15.5).
 */
export function refuseImmutability(operation: AnyOperation, { header }: BlobRequest): void {
  if (giving.has(operation)) return;
  const given = givenImmutability(header);
  if (given === undefined) return;
  const [name, value] = given;
  throw new StorageError('UnsupportedHeader', {
    details: [
      ['HeaderName', name],
      ['HeaderValue', value],
    ],
  });
}
