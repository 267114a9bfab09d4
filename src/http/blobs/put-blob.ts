import { asBuffer } from '../../base/bytes.js';
import { invalidHeader, missingHeader } from '../../model/errors/query-errors.js';
import type {
  Access,
  BlobAddress,
  NewBlockBlob,
  PutBlobResult,
} from '../../services/blobs/types.js';
import { contentHeadersOfBody } from '../../wire/blobs/content-headers.js';
import { framingBytesMax } from '../../wire/blobs/structured-body.js';
import { blobAccessOf, blobOf } from './blob.js';
import type { BlobOperation, BlobRequest } from './request.js';
import { writtenHeaders } from '../../wire/blobs/modified-headers.js';
import { checkBodyLength, structuredHeaders, summedBodyOf } from './streamed-body.js';
import {
  describedBy,
  checkNoPageBytes,
  createBlobAccess,
  encryptedHeaders,
  replacing,
} from './write-blob.js';

interface Input {
  readonly address: BlobAddress;
  readonly blob: NewBlockBlob;
  readonly access: Access;
}

interface Output extends PutBlobResult {
  readonly crc64: Buffer;
}

/** The longest body of Put Blob, and of former versions (blob-service §3.5). */
export const putBlobBytesMax = 5_000 * 1024 * 1024;
const bodyLimits = [
  { since: '2019-12-12', bytesMax: putBlobBytesMax },
  { since: '2016-05-31', bytesMax: 256 * 1024 * 1024 },
  { since: '', bytesMax: 64 * 1024 * 1024 },
];

/** Other types have operations of their own. */
export function checkType({ header }: BlobRequest): void {
  const type = header('x-ms-blob-type');
  if (type === undefined || type === '') throw missingHeader('x-ms-blob-type');
  if (type.toLowerCase() !== 'blockblob') throw invalidHeader('x-ms-blob-type', type);
  checkNoPageBytes({ header });
}

/** `PUT /container/blob` with a body (blob-service §12.1). */
export const putBlob: BlobOperation<Input, Output> = {
  access: createBlobAccess,
  bodyBytesMax: putBlobBytesMax,
  framingBytesMax,
  streamsBody: true,

  parse(request) {
    checkType(request);
    checkBodyLength(request, bodyLimits);
    const headers = contentHeadersOfBody(request.header);
    const { contentMd5: md5 } = headers;
    const blob = {
      headers,
      ...describedBy(request),
      ...(md5 === undefined ? {} : { md5 }),
    };
    return { address: blobOf(request), blob, access: blobAccessOf(request, 'write') };
  },

  async run({ address, blob, access }, request) {
    const { body, sum } = summedBodyOf(request);
    const written = await replacing(request, access, (each) =>
      request.backend.blobs.putBlockBlob(address, blob, { ...each, body }),
    );
    return { ...written, crc64: sum.digest() };
  },

  render({ crc64, ...written }, _input, request) {
    const headers = [...putBlobHeaders(written, crc64), ...structuredHeaders(request)];
    return { status: 201, headers };
  },
};

/** The headers of the answer, with the checksums of the bytes. */
export function putBlobHeaders(written: PutBlobResult, crc64: Buffer): string[] {
  return [
    ...writtenHeaders(written),
    'Content-MD5',
    asBuffer(written.md5).toString('base64'),
    'x-ms-content-crc64',
    crc64.toString('base64'),
    ...encryptedHeaders,
  ];
}
