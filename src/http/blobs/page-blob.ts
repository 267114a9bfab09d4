import {
  invalidHeader,
  missingHeader,
  requestBodyTooLarge,
} from '../../model/errors/query-errors.js';
import { pageBlobBytesMax, pageRangeBytesMax } from '../../services/blobs/limits.js';
import type { NewPageBlob, PageAccess, WrittenPages } from '../../services/blobs/page-blobs.js';
import type { Bounds } from '../../services/blobs/byte-run.js';
import type { Access, BlobAddress } from '../../services/blobs/types.js';
import { pageBytes, pageRange } from '../../wire/blobs/byte-ranges.js';
import { readSequenceConditions } from '../../wire/blobs/conditions.js';
import { contentHeadersOfBody } from '../../wire/blobs/content-headers.js';
import { countHeader, sequenceNumberHeader } from '../../wire/blobs/header-values.js';
import {
  framingBytesMax,
  isStructured,
  structuredForm,
  structuredHeader,
  structuredLengthHeader,
} from '../../wire/blobs/structured-body.js';
import type { Crc64 } from '../../wire/checksum/crc64.js';
import { objectAccess } from '../operations/access.js';
import { blobAccessOf, blobOf } from './blob.js';
import type { BlobOperation, BlobRequest } from './request.js';
import { modifiedHeaders, writtenHeaders } from '../../wire/blobs/modified-headers.js';
import {
  checkNoBody,
  checkSomeBody,
  checksumHeaders,
  structuredHeaders,
  summedBodyOf,
} from './streamed-body.js';
import { createBlobAccess, describedBy, encryptedHeaders, replacing } from './write-blob.js';

const lengthHeader = 'x-ms-blob-content-length';

/** The size of a page blob; undefined when it is not sent. Throws `InvalidHeaderValue`. */
export function pageBlobBytesOf({ header }: Pick<BlobRequest, 'header'>): number | undefined {
  const bytes = countHeader(header, lengthHeader);
  if (bytes === undefined) return undefined;
  if (bytes % pageBytes !== 0 || bytes > pageBlobBytesMax) {
    throw invalidHeader(lengthHeader, String(bytes));
  }
  return bytes;
}

interface Creation {
  readonly address: BlobAddress;
  readonly blob: NewPageBlob;
  readonly access: Access;
}

/** `PUT /container/blob` with `x-ms-blob-type: PageBlob` (blob-service §14). */
export const createPageBlob: BlobOperation<Creation, WrittenPages> = {
  access: createBlobAccess,
  bodyBytesMax: 0,

  parse(request) {
    checkNoBody(request);
    const bytes = pageBlobBytesOf(request);
    if (bytes === undefined) throw missingHeader(lengthHeader);
    const blob = {
      bytes,
      sequenceNumber: sequenceNumberHeader(request.header, 'x-ms-blob-sequence-number') ?? 0n,
      headers: contentHeadersOfBody(request.header),
      ...describedBy(request),
    };
    return { address: blobOf(request), blob, access: blobAccessOf(request, 'write') };
  },

  run({ address, blob, access }, request) {
    return replacing(request, access, (each) =>
      request.backend.blobs.putPageBlob(address, blob, each),
    );
  },

  render(written) {
    return { status: 201, headers: [...writtenHeaders(written), ...encryptedHeaders] };
  },
};

interface PageInput {
  readonly address: BlobAddress;
  readonly bounds: Bounds;
  readonly isClear: boolean;
  readonly access: PageAccess;
}

interface PageOutput extends WrittenPages {
  /** Absent: nothing was sent. */
  readonly sum?: Crc64;
}

const bodyLimits = [{ since: '', bytesMax: pageRangeBytesMax }];

/** Whether pages are cleared instead of updated. */
function isClear({ header }: BlobRequest): boolean {
  const name = 'x-ms-page-write';
  const text = header(name);
  if (text === undefined) throw missingHeader(name);
  const write = text.toLowerCase();
  if (write !== 'update' && write !== 'clear') throw invalidHeader(name, text);
  return write === 'clear';
}

/** A body has as many bytes as its range. */
function checkBody(request: BlobRequest, { start, end }: Bounds): void {
  const bytes = checkSomeBody(request, bodyLimits);
  if (end - start > pageRangeBytesMax) throw requestBodyTooLarge(pageRangeBytesMax);
  if (bytes === end - start) return;
  const name = isStructured(request.header) ? structuredLengthHeader : 'Content-Length';
  throw invalidHeader(name, String(bytes));
}

function checkClear(request: BlobRequest): void {
  checkNoBody(request);
  if (isStructured(request.header)) throw invalidHeader(structuredHeader, structuredForm);
  const md5 = request.header('content-md5');
  if (md5 !== undefined) throw invalidHeader('Content-MD5', md5);
}

/** `PUT /container/blob?comp=page` (blob-service §14). */
export const putPage: BlobOperation<PageInput, PageOutput> = {
  access: objectAccess('write'),
  bodyBytesMax: pageRangeBytesMax,
  framingBytesMax,
  streamsBody: true,

  parse(request) {
    const { first, last } = pageRange(request.header);
    const bounds = { start: first, end: last + 1 };
    const clears = isClear(request);
    if (clears) checkClear(request);
    else checkBody(request, bounds);
    const sequence = readSequenceConditions(request.header);
    const access = { ...blobAccessOf(request, 'write'), sequence };
    return { address: blobOf(request), bounds, isClear: clears, access };
  },

  async run({ address, bounds, isClear: clears, access }, request) {
    const { blobs } = request.backend;
    if (clears) return blobs.clearPages(address, bounds, access);
    const { body, sum } = summedBodyOf(request);
    const written = await blobs.putPages(address, bounds, { ...access, body });
    return { ...written, sum };
  },

  render({ sum, ...written }, _input, request) {
    const headers = [...pagesHeaders(written, request, sum), ...structuredHeaders(request)];
    return { status: 201, headers };
  },
};

/** `sum`: of what was written; undefined when nothing was sent. */
export function pagesHeaders(
  { modifiedMicros, sequenceNumber }: WrittenPages,
  request: BlobRequest,
  sum: Crc64 | undefined,
): string[] {
  return [
    ...modifiedHeaders(modifiedMicros),
    'x-ms-blob-sequence-number',
    String(sequenceNumber),
    ...(sum === undefined ? [] : checksumHeaders(request, sum)),
    ...encryptedHeaders,
  ];
}
