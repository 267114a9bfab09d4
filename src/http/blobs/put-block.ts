import type { Bytes } from '../../base/bytes.js';
import { blockBytesMax } from '../../services/blobs/limits.js';
import type { BlobAddress } from '../../services/blobs/types.js';
import { blockIdParameter } from '../../wire/blobs/block-id.js';
import { leaseIdOf } from '../../wire/blobs/lease-headers.js';
import { framingBytesMax } from '../../wire/blobs/structured-body.js';
import type { Crc64 } from '../../wire/checksum/crc64.js';
import { objectAccess } from '../operations/access.js';
import { blobOf } from './blob.js';
import { checkBlockSetting } from './block-setting.js';
import type { BlobOperation } from './request.js';
import { checkSomeBody, structuredHeaders, summedBodyOf } from './streamed-body.js';
import { encryptedHeaders } from './write-blob.js';

interface Input {
  readonly address: BlobAddress;
  readonly id: Bytes;
  readonly leaseId: string | undefined;
}

/** The longest body of Put Block, and of former versions (blob-service §3.5). */
const bodyLimits = [
  { since: '2019-12-12', bytesMax: blockBytesMax },
  { since: '2016-05-31', bytesMax: 100 * 1024 * 1024 },
  { since: '', bytesMax: 4 * 1024 * 1024 },
];

/** `PUT /container/blob?comp=block&blockid=…` (blob-service §12.3). */
export const putBlock: BlobOperation<Input, Crc64> = {
  access: objectAccess('write'),
  bodyBytesMax: blockBytesMax,
  framingBytesMax,
  streamsBody: true,

  parse(request) {
    checkBlockSetting(request, checkSomeBody(request, bodyLimits));
    return {
      address: blobOf(request),
      id: blockIdParameter(request.named('blockid')),
      leaseId: leaseIdOf(request.header),
    };
  },

  async run({ address, id, leaseId }, request) {
    const { body, sum } = summedBodyOf(request);
    const lease = leaseId === undefined ? {} : { leaseId };
    await request.backend.blobs.putBlock(address, { id }, { ...lease, body });
    return sum;
  },

  render(sum, _input, request) {
    const md5 = request.header('content-md5');
    const checksum =
      md5 === undefined
        ? ['x-ms-content-crc64', sum.digest().toString('base64')]
        : ['Content-MD5', md5];
    return {
      status: 201,
      headers: [...checksum, ...structuredHeaders(request), ...encryptedHeaders],
    };
  },
};
