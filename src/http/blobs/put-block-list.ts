import { createHash } from 'node:crypto';
import { inSlices } from '../../base/async/slice.js';
import type { Access, BlobAddress, NewProperties, Written } from '../../services/blobs/types.js';
import { contentHeadersOfBlob } from '../../wire/blobs/content-headers.js';
import { crc64 } from '../../wire/checksum/crc64.js';
import { blockListFromPieces } from '../../wire/xml/blob-block-list.js';
import { objectAccess } from '../operations/access.js';
import { blobAccessOf, blobOf } from './blob.js';
import type { BlobOperation } from './request.js';
import { writtenHeaders } from '../../wire/blobs/modified-headers.js';
import { describedBy, encryptedHeaders } from './write-blob.js';

interface Input {
  readonly address: BlobAddress;
  readonly properties: NewProperties;
  readonly access: Access;
  readonly body: Buffer;
}

/** Takes 50,000 blocks with the longest ids. */
const blockListBytesMax = 8 * 1024 * 1024;

/** `PUT /container/blob?comp=blocklist` (blob-service §12.4). */
export const putBlockList: BlobOperation<Input, Written> = {
  access: objectAccess('write'),
  bodyBytesMax: blockListBytesMax,
  // A minute (blob-service §3.1).
  timeLimits: 2,

  parse(request) {
    const { header, exchange } = request;
    const properties = {
      headers: contentHeadersOfBlob(header),
      ...describedBy(request),
    };
    const access = blobAccessOf(request, 'write');
    return { address: blobOf(request), properties, access, body: exchange.body };
  },

  async run({ address, properties, access, body }, { backend }) {
    const blocks = await inSlices(blockListFromPieces(body), backend.clock);
    return backend.blobs.putBlockList(address, { ...properties, blocks }, access);
  },

  render(written, { body }, { header }) {
    // The checksum is that of the document, not of the blob.
    const checksum =
      header('content-md5') === undefined
        ? ['x-ms-content-crc64', crc64(body).toString('base64')]
        : ['Content-MD5', createHash('md5').update(body).digest('base64')];
    return {
      status: 201,
      headers: [...writtenHeaders(written), ...checksum, ...encryptedHeaders],
    };
  },
};
