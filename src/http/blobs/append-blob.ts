import type { AppendConditions } from '../../model/blobs/conditions.js';
import type { Appended } from '../../services/blobs/append-blobs.js';
import type { Access, BlobAddress, NewProperties, Written } from '../../services/blobs/types.js';
import { readAppendConditions } from '../../wire/blobs/conditions.js';
import { contentHeadersOfBody } from '../../wire/blobs/content-headers.js';
import { framingBytesMax } from '../../wire/blobs/structured-body.js';
import type { Crc64 } from '../../wire/checksum/crc64.js';
import type { GrantedAccess } from '../exchange/access.js';
import { objectAccess } from '../operations/access.js';
import { blobAccessOf, blobOf } from './blob.js';
import { checkBlockSetting } from './block-setting.js';
import type { BlobOperation, BlobRequest } from './request.js';
import { modifiedHeaders, writtenHeaders } from '../../wire/blobs/modified-headers.js';
import {
  checkNoBody,
  checkSomeBody,
  checksumHeaders,
  structuredHeaders,
  summedBodyOf,
  type BodyLimits,
} from './streamed-body.js';
import {
  checkNoPageBytes,
  createBlobAccess,
  describedBy,
  encryptedHeaders,
  replacing,
} from './write-blob.js';

interface Creation {
  readonly address: BlobAddress;
  readonly properties: NewProperties;
  readonly access: Access;
}

/** `PUT /container/blob` with `x-ms-blob-type: AppendBlob` (blob-service §13). */
export const createAppendBlob: BlobOperation<Creation, Written> = {
  access: createBlobAccess,
  bodyBytesMax: 0,

  parse(request) {
    checkNoBody(request);
    checkNoPageBytes(request);
    const properties = {
      headers: contentHeadersOfBody(request.header),
      ...describedBy(request),
    };
    return { address: blobOf(request), properties, access: blobAccessOf(request, 'write') };
  },

  run({ address, properties, access }, request) {
    return replacing(request, access, (each) =>
      request.backend.blobs.putAppendBlob(address, properties, each),
    );
  },

  render(written) {
    return { status: 201, headers: [...writtenHeaders(written), ...encryptedHeaders] };
  },
};

interface AppendInput {
  readonly address: BlobAddress;
  readonly access: Access & { readonly append: AppendConditions };
}

interface AppendOutput extends Appended {
  readonly sum: Crc64;
}

/** The longest block, now and in former versions (blob-service §3.5). */
const appendBlockBytesMax = 100 * 1024 * 1024;
export const blockLimits: BodyLimits = [
  { since: '2022-11-02', bytesMax: appendBlockBytesMax },
  { since: '', bytesMax: 4 * 1024 * 1024 },
];

/** Either permission is enough to append. */
export const appendAccess: GrantedAccess = { ...objectAccess('add', 'write'), needs: 'any' };

/** `PUT /container/blob?comp=appendblock` (blob-service §13). */
export const appendBlock: BlobOperation<AppendInput, AppendOutput> = {
  access: appendAccess,
  bodyBytesMax: appendBlockBytesMax,
  framingBytesMax,
  streamsBody: true,

  parse(request) {
    checkBlockSetting(request, checkSomeBody(request, blockLimits));
    const append = readAppendConditions(request.header);
    return { address: blobOf(request), access: { ...blobAccessOf(request, 'write'), append } };
  },

  async run({ address, access }, request) {
    const { body, sum } = summedBodyOf(request);
    const appended = await request.backend.blobs.appendBlock(address, { ...access, body });
    return { ...appended, sum };
  },

  render({ sum, ...appended }, _input, request) {
    const headers = [...appendedHeaders(appended, request, sum), ...structuredHeaders(request)];
    return { status: 201, headers };
  },
};

export function appendedHeaders(
  { modifiedMicros, offset, count }: Appended,
  request: BlobRequest,
  sum: Crc64,
): string[] {
  return [
    ...modifiedHeaders(modifiedMicros),
    'x-ms-blob-append-offset',
    String(offset),
    'x-ms-blob-committed-block-count',
    String(count),
    ...checksumHeaders(request, sum),
    ...encryptedHeaders,
  ];
}

/** `PUT /container/blob?comp=seal` (blob-service §13). */
export const sealAppendBlob: BlobOperation<AppendInput, Written> = {
  access: objectAccess('write'),
  bodyBytesMax: 0,

  parse(request) {
    const append = readAppendConditions(request.header);
    return { address: blobOf(request), access: { ...blobAccessOf(request, 'write'), append } };
  },

  run({ address, access }, { backend }) {
    return backend.blobs.sealAppendBlob(address, access);
  },

  render({ modifiedMicros }) {
    return {
      status: 200,
      headers: [...modifiedHeaders(modifiedMicros), 'x-ms-blob-sealed', 'true'],
    };
  },
};
