import { invalidQueryParameter } from '../../model/errors/query-errors.js';
import { StorageError } from '../../model/errors/storage-error.js';
import { pageListRangesMax } from '../../services/blobs/limits.js';
import type { PageList, PageListQuery } from '../../services/blobs/page-lists.js';
import type { Access, SnapshotAddress } from '../../services/blobs/types.js';
import { readRange } from '../../wire/blobs/byte-ranges.js';
import { parseSnapshotTime } from '../../wire/blobs/snapshot-time.js';
import { filled } from '../../wire/http/query-string.js';
import { pageListInPieces } from '../../wire/xml/blob-page-list.js';
import { objectAccess } from '../operations/access.js';
import { itemsAtOnceMax, longXmlReply } from '../operations/replies.js';
import { rangedInteger } from '../operations/integer-parameter.js';
import { blobAccessOf, snapshotOf } from './blob.js';
import type { BlobOperation, BlobRequest } from './request.js';
import { modifiedHeaders } from '../../wire/blobs/modified-headers.js';

interface Input {
  readonly address: SnapshotAddress;
  readonly query: PageListQuery;
  readonly access: Access;
}

const pageSizes = { min: 1, max: 2 ** 31 - 1 };
const digits = /^\d{1,15}$/;

/** The marker is the place where the page begins. */
function fromOf({ query }: BlobRequest): number | undefined {
  const marker = filled(query, 'marker');
  if (marker === undefined) return undefined;
  if (digits.test(marker)) return Number(marker);
  throw invalidQueryParameter('marker', marker, 'It must be one that the service has returned.');
}

function previousOf(request: BlobRequest): number | undefined {
  if (request.header('x-ms-previous-snapshot-url') !== undefined) {
    throw new StorageError('PreviousSnapshotOperationNotSupported');
  }
  const text = request.named('prevsnapshot');
  // A time that no snapshot can have is one that is not found.
  return text === undefined ? undefined : (parseSnapshotTime('prevsnapshot', text) ?? -1);
}

/** `GET /container/blob?comp=pagelist` (blob-service §14). */
export const getPageRanges: BlobOperation<Input, PageList> = {
  access: { ...objectAccess('read'), publicAt: 'blob' },
  bodyBytesMax: 0,

  parse(request) {
    const limit = rangedInteger(request.query, 'maxresults', pageSizes) ?? pageListRangesMax;
    return {
      address: snapshotOf(request),
      query: {
        range: readRange(request.header),
        from: fromOf(request),
        limit: Math.min(limit, pageListRangesMax),
        sinceSnapshotMicros: previousOf(request),
      },
      access: blobAccessOf(request, 'read'),
    };
  },

  run({ address, query, access }, { backend }) {
    return backend.blobs.getPageRanges(address, query, access);
  },

  async render({ modifiedMicros, bytes, ranges, next }, _, { backend }) {
    const list = pageListInPieces({
      ranges,
      ...(next === undefined ? {} : { nextMarker: String(next) }),
    });
    const reply = await longXmlReply(list, ranges.length > itemsAtOnceMax, backend.clock);
    reply.headers.push(...modifiedHeaders(modifiedMicros));
    reply.headers.push('x-ms-blob-content-length', String(bytes));
    return reply;
  },
};
