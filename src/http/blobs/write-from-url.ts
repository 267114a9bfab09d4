import type { Bytes } from '../../base/bytes.js';
import type { AppendConditions } from '../../model/blobs/conditions.js';
import { invalidHeader, requestBodyTooLarge } from '../../model/errors/query-errors.js';
import type { Appended } from '../../services/blobs/append-blobs.js';
import type { PageAccess, WrittenPages } from '../../services/blobs/page-blobs.js';
import type { Bounds } from '../../services/blobs/byte-run.js';
import { blockBytesMax } from '../../services/blobs/limits.js';
import type {
  Access,
  BlobAddress,
  NewBlockBlob,
  PutBlobResult,
} from '../../services/blobs/types.js';
import { blockIdParameter } from '../../wire/blobs/block-id.js';
import { pageRange } from '../../wire/blobs/byte-ranges.js';
import { readAppendConditions, readSequenceConditions } from '../../wire/blobs/conditions.js';
import { changedContentHeaders } from '../../wire/blobs/content-headers.js';
import { booleanHeader } from '../../wire/blobs/header-values.js';
import { leaseIdOf } from '../../wire/blobs/lease-headers.js';
import type { Crc64 } from '../../wire/checksum/crc64.js';
import { objectAccess } from '../operations/access.js';
import { appendAccess, appendedHeaders, blockLimits } from './append-blob.js';
import { blobAccessOf, blobOf } from './blob.js';
import { checkBlockSetting } from './block-setting.js';
import { sourceReadOf, withSource, type SourceRead } from './copy-source.js';
import { pagesHeaders } from './page-blob.js';
import { checkType, putBlobBytesMax, putBlobHeaders } from './put-blob.js';
import type { BlobOperation, BlobRequest } from './request.js';
import { checkBytes, checkNoBody, type BodyLimits } from './streamed-body.js';
import { describedBy, createBlobAccess, encryptedHeaders, replacing } from './write-blob.js';

// Writes whose bytes are those of another blob (blob-service §12.2, §12.3, §13, §14).

interface Target {
  readonly address: BlobAddress;
  readonly read: SourceRead;
}

function targetOf(request: BlobRequest): Target {
  checkNoBody(request);
  return { address: blobOf(request), read: sourceReadOf(request) };
}

/** Throws `RequestBodyTooLarge`, and `InvalidHeaderValue` for a source without bytes. */
function checkSomeBytes(request: BlobRequest, limits: BodyLimits, bytes: number): void {
  checkBytes(request, limits, bytes);
  if (bytes === 0) throw invalidHeader('x-ms-source-range', '');
}

interface Summed {
  readonly sum: Crc64;
}

interface NewBlob extends Target {
  readonly access: Access;
  readonly blob: NewBlockBlob;
  /** Absent: those of the source. */
  readonly copiesHeaders: boolean;
}

/** `PUT /container/blob` with `x-ms-blob-type: BlockBlob` and `x-ms-copy-source`. */
export const putBlobFromUrl: BlobOperation<NewBlob, PutBlobResult & Summed> = {
  access: createBlobAccess,
  bodyBytesMax: 0,

  parse(request) {
    const { header } = request;
    checkType(request);
    return {
      ...targetOf(request),
      access: blobAccessOf(request, 'write'),
      copiesHeaders: booleanHeader(header, 'x-ms-copy-source-blob-properties') !== false,
      blob: {
        headers: changedContentHeaders(header) ?? {},
        ...describedBy(request),
      },
    };
  },

  run({ address, access, blob, read, copiesHeaders }, request) {
    return withSource(request, read, async ({ body, bytes, properties, sum }) => {
      if (bytes > putBlobBytesMax) throw requestBodyTooLarge(putBlobBytesMax);
      const { contentMd5: _, ...copied } = properties.headers;
      const made = {
        ...blob,
        headers: copiesHeaders ? { ...copied, ...blob.headers } : blob.headers,
        metadata: blob.metadata.length > 0 ? blob.metadata : properties.metadata,
        tags: read.source.copiesTags ? properties.tags : blob.tags,
      };
      const written = await replacing(request, access, (each) =>
        request.backend.blobs.putBlockBlob(address, made, { ...each, body }),
      );
      return { ...written, sum };
    });
  },

  render({ sum, ...written }) {
    return { status: 201, headers: putBlobHeaders(written, sum.digest()) };
  },
};

interface NewBlock extends Target {
  readonly id: Bytes;
  readonly leaseId: string | undefined;
}

const putBlockLimits = [{ since: '', bytesMax: blockBytesMax }];

/** `PUT /container/blob?comp=block&blockid=…` with `x-ms-copy-source`. */
export const putBlockFromUrl: BlobOperation<NewBlock, Summed> = {
  access: objectAccess('write'),
  bodyBytesMax: 0,

  parse(request) {
    const id = blockIdParameter(request.named('blockid'));
    return { ...targetOf(request), id, leaseId: leaseIdOf(request.header) };
  },

  run({ address, id, leaseId, read }, request) {
    return withSource(request, read, async ({ body, bytes, sum }) => {
      checkSomeBytes(request, putBlockLimits, bytes);
      checkBlockSetting(request, bytes);
      const lease = leaseId === undefined ? {} : { leaseId };
      await request.backend.blobs.putBlock(address, { id }, { ...lease, body });
      return { sum };
    });
  },

  render({ sum }) {
    const crc64 = ['x-ms-content-crc64', sum.digest().toString('base64')];
    return { status: 201, headers: [...crc64, ...encryptedHeaders] };
  },
};

interface NewAppend extends Target {
  readonly access: Access & { readonly append: AppendConditions };
}

/** `PUT /container/blob?comp=appendblock` with `x-ms-copy-source`. */
export const appendBlockFromUrl: BlobOperation<NewAppend, Appended & Summed> = {
  access: appendAccess,
  bodyBytesMax: 0,

  parse(request) {
    const append = readAppendConditions(request.header);
    return { ...targetOf(request), access: { ...blobAccessOf(request, 'write'), append } };
  },

  run({ address, access, read }, request) {
    return withSource(request, read, async ({ body, bytes, sum }) => {
      checkSomeBytes(request, blockLimits, bytes);
      checkBlockSetting(request, bytes);
      const appended = await request.backend.blobs.appendBlock(address, { ...access, body });
      return { ...appended, sum };
    });
  },

  render({ sum, ...appended }, _input, request) {
    return { status: 201, headers: appendedHeaders(appended, request, sum) };
  },
};

interface NewPages extends Target {
  readonly bounds: Bounds;
  readonly access: PageAccess;
}

const pageLimits = [{ since: '', bytesMax: 4 * 1024 * 1024 }];

/** `PUT /container/blob?comp=page` with `x-ms-copy-source`. */
export const putPageFromUrl: BlobOperation<NewPages, WrittenPages & Summed> = {
  access: objectAccess('write'),
  bodyBytesMax: 0,

  parse(request) {
    const { first, last } = pageRange(request.header);
    const sequence = readSequenceConditions(request.header);
    return {
      ...targetOf(request),
      bounds: { start: first, end: last + 1 },
      access: { ...blobAccessOf(request, 'write'), sequence },
    };
  },

  run({ address, bounds, access, read }, request) {
    return withSource(request, read, async ({ body, bytes, sum }) => {
      checkSomeBytes(request, pageLimits, bytes);
      if (bytes !== bounds.end - bounds.start) {
        throw invalidHeader('x-ms-source-range', request.header('x-ms-source-range') ?? '');
      }
      const written = await request.backend.blobs.putPages(address, bounds, { ...access, body });
      return { ...written, sum };
    });
  },

  render({ sum, ...written }, _input, request) {
    return { status: 201, headers: pagesHeaders(written, request, sum) };
  },
};
