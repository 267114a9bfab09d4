import type { Access, BlobProperties, SnapshotAddress } from '../../services/blobs/types.js';
import { metadataHeaders } from '../operations/metadata.js';
import { objectAccess } from '../operations/access.js';
import type { ReplyStream } from '../exchange/reply-stream.js';
import type { StreamedReply } from '../exchange/service.js';
import { blobAccessOf, snapshotOf } from './blob.js';
import { addMd5Header, blobHeaders, tierHeaders } from './blob-headers.js';
import type { BlobOperation } from './request.js';
import { modifiedHeaders } from '../../wire/blobs/modified-headers.js';

interface Input {
  readonly address: SnapshotAddress;
  readonly access: Access;
}

/** Reading a blob needs no credential in a container whose blobs are public. */
export const readBlobAccess = { ...objectAccess('read'), publicAt: 'blob' } as const;

const common = {
  access: readBlobAccess,
  bodyBytesMax: 0,

  parse(request) {
    return { address: snapshotOf(request), access: blobAccessOf(request, 'read') };
  },

  run({ address, access }, { backend }) {
    return backend.blobs.getProperties(address, access);
  },
} satisfies Omit<BlobOperation<Input, BlobProperties>, 'render'>;

/** An answer to HEAD says how long the body of the same GET would be. */
function withoutBody(bytes: number): ReplyStream {
  return { bytes, pieces: none(), close: () => undefined };
}

async function* none(): AsyncGenerator<Buffer> {
  // Nothing.
}

/** `HEAD /container/blob` (blob-service §11.1). Ranges are ignored. */
export const getBlobProperties: BlobOperation<Input, BlobProperties, StreamedReply> = {
  ...common,

  render(blob, _input, request) {
    const headers = blobHeaders(blob, request);
    addMd5Header(headers, 'Content-MD5', blob);
    headers.push(...tierHeaders(blob));
    return { status: 200, headers, stream: withoutBody(blob.bytes) };
  },
};

/** `GET` or `HEAD /container/blob?comp=metadata` (blob-service §11.1). */
export const getBlobMetadata: BlobOperation<Input, BlobProperties> = {
  ...common,

  render({ modifiedMicros, metadata }) {
    return {
      status: 200,
      headers: [...modifiedHeaders(modifiedMicros), ...metadataHeaders(metadata)],
    };
  },
};
