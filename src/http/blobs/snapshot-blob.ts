import type { Metadata } from '../../model/resources/metadata.js';
import type { TakenSnapshot } from '../../services/blobs/snapshots.js';
import type { Access, BlobAddress } from '../../services/blobs/types.js';
import { formatSnapshotTime } from '../../wire/blobs/snapshot-time.js';
import { metadataOf } from '../operations/metadata.js';
import { blobAccessOf, blobOf } from './blob.js';
import type { BlobOperation } from './request.js';
import { writtenHeaders } from '../../wire/blobs/modified-headers.js';
import { createBlobAccess, encryptedHeaders } from './write-blob.js';

interface Input {
  readonly address: BlobAddress;
  /** Absent: that of the blob. */
  readonly metadata: Metadata | undefined;
  readonly access: Access;
}

/** `PUT /container/blob?comp=snapshot` (blob-service §16.1). */
export const snapshotBlob: BlobOperation<Input, TakenSnapshot> = {
  access: createBlobAccess,
  bodyBytesMax: 0,

  parse(request) {
    const metadata = metadataOf(request.exchange);
    return {
      address: blobOf(request),
      metadata: metadata.length === 0 ? undefined : metadata,
      access: blobAccessOf(request, 'write'),
    };
  },

  run({ address, metadata, access }, { backend }) {
    return backend.blobs.snapshotBlob(address, { metadata }, access);
  },

  render({ snapshotMicros, ...written }) {
    return {
      status: 201,
      headers: [
        ...writtenHeaders(written),
        'x-ms-snapshot',
        formatSnapshotTime(snapshotMicros),
        ...encryptedHeaders,
      ],
    };
  },
};
