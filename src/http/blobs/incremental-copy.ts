import { cannotVerifyCopySource } from '../../model/errors/blob-errors.js';
import { StorageError } from '../../model/errors/storage-error.js';
import type { CopiedBlob } from '../../services/blobs/copies.js';
import type { Access, BlobAddress } from '../../services/blobs/types.js';
import { blobAccessOf, blobOf } from './blob.js';
import { copyHeaders } from './copy-blob.js';
import { sourceOf } from './copy-source.js';
import { authoriseSource, type OwnSource } from './own-source.js';
import type { BlobOperation } from './request.js';
import { checkNoBody } from './streamed-body.js';
import { createBlobAccess } from './write-blob.js';

interface Input {
  readonly address: BlobAddress;
  readonly source: OwnSource;
  readonly snapshotMicros: number;
  readonly access: Access;
}

/** `PUT /container/blob?comp=incrementalcopy` (blob-service §14); done when it is answered. */
export const incrementalCopyBlob: BlobOperation<Input, CopiedBlob> = {
  access: createBlobAccess,
  bodyBytesMax: 0,

  parse(request) {
    checkNoBody(request);
    const source = sourceOf(request);
    if (source.kind === 'other') {
      const message = 'Incremental copies are made of blobs of this server alone.';
      throw cannotVerifyCopySource({ status: 403, message });
    }
    const { snapshotMicros } = source.address;
    if (snapshotMicros === undefined) {
      throw new StorageError('IncrementalCopySourceMustBeSnapshot');
    }
    const access = blobAccessOf(request, 'write');
    return { address: blobOf(request), source, snapshotMicros, access };
  },

  async run({ address, source, snapshotMicros, access }, request) {
    await authoriseSource(request, source);
    const copy = {
      source: { ...source.address, snapshotMicros },
      sourceUrl: source.url,
      onPiece: request.exchange.limitSteps(request.backend.clock),
    };
    return request.backend.blobs.copyIncrementally(address, copy, access);
  },

  render(copied) {
    return { status: 202, headers: copyHeaders(copied) };
  },
};
