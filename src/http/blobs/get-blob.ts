import { createHash } from 'node:crypto';
import { invalidHeader } from '../../model/errors/query-errors.js';
import { StorageError } from '../../model/errors/storage-error.js';
import type {
  Access,
  BlobReading,
  ReadRange,
  SnapshotAddress,
} from '../../services/blobs/types.js';
import { contentRange, readRange } from '../../wire/blobs/byte-ranges.js';
import { booleanHeader } from '../../wire/blobs/header-values.js';
import { isStructured } from '../../wire/blobs/structured-body.js';
import { crc64 } from '../../wire/checksum/crc64.js';
import type { Reply, StreamedReply } from '../exchange/service.js';
import { blobAccessOf, snapshotOf } from './blob.js';
import { addMd5Header, blobHeaders } from './blob-headers.js';
import { readBlobAccess } from './get-blob-properties.js';
import type { BlobOperation, BlobRequest } from './request.js';
import { structuredAnswer } from './structured-answer.js';

/** The checksum of the range that a request wants (blob-service §11.3). */
type RangeChecksum = 'md5' | 'crc64';

interface Input {
  readonly address: SnapshotAddress;
  readonly access: Access;
  readonly range: ReadRange | undefined;
  readonly checksum: RangeChecksum | undefined;
  /** The content comes in segments with checksums. */
  readonly isStructured: boolean;
}

/** The longest range whose checksum is answered: it is read before the header is sent. */
const summedRangeBytesMax = 4 * 1024 * 1024;

const checksumHeaders = {
  md5: 'x-ms-range-get-content-md5',
  crc64: 'x-ms-range-get-content-crc64',
} as const;

/** The checksum that a request wants. Throws `InvalidHeaderValue` without a range, and for two. */
function checksumOf({ header }: BlobRequest, range: ReadRange | undefined) {
  const wantsMd5 = booleanHeader(header, checksumHeaders.md5) === true;
  const wantsCrc64 = booleanHeader(header, checksumHeaders.crc64) === true;
  if (!wantsMd5 && !wantsCrc64) return undefined;
  const checksum: RangeChecksum = wantsMd5 ? 'md5' : 'crc64';
  if (range === undefined || (wantsMd5 && wantsCrc64)) {
    throw invalidHeader(checksumHeaders[checksum], 'true');
  }
  return checksum;
}

/** `GET /container/blob` (blob-service §11). */
export const getBlob: BlobOperation<Input, BlobReading, Reply | StreamedReply> = {
  access: readBlobAccess,
  bodyBytesMax: 0,

  parse(request) {
    const range = readRange(request.header);
    const checksum = checksumOf(request, range);
    const asStructured = isStructured(request.header);
    if (asStructured && checksum !== undefined) {
      throw invalidHeader(checksumHeaders[checksum], 'true');
    }
    return {
      address: snapshotOf(request),
      access: blobAccessOf(request, 'read'),
      range,
      checksum,
      isStructured: asStructured,
    };
  },

  run({ address, access, range }, { backend }) {
    return backend.blobs.getBlob(address, { ...access, range });
  },

  render(reading, { range, checksum, isStructured: asStructured }, request) {
    const { properties, start, end } = reading;
    const headers = blobHeaders(properties, request);
    const status = range === undefined ? 200 : 206;
    const isPart = range !== undefined || asStructured;
    if (range !== undefined) {
      const part = contentRange({ first: start, last: end - 1 }, properties.bytes);
      headers.push('Content-Range', part);
    }
    // Content-MD5 is that of the body.
    addMd5Header(headers, isPart ? 'x-ms-blob-content-md5' : 'Content-MD5', properties);
    const head = { status, headers };
    if (checksum !== undefined) return summedAnswer(reading, { ...head, checksum }, request);
    if (!asStructured) return { ...head, ...contentOf(reading) };
    const answer = structuredAnswer(reading);
    return { ...answer, status, headers: [...headers, ...answer.headers] };
  },
};

async function summedAnswer(
  reading: BlobReading,
  { status, headers, checksum }: Pick<Reply, 'status' | 'headers'> & { checksum: RangeChecksum },
  request: BlobRequest,
): Promise<Reply> {
  const whole = await wholeOf(reading, request);
  return { status, headers: [...headers, ...summed(checksum, whole)], body: whole };
}

/** Short content is sent with its headers. */
function contentOf(reading: BlobReading): Pick<Reply, 'body'> | Pick<StreamedReply, 'stream'> {
  const { start, end, body, whole } = reading;
  if (whole !== undefined) return { body: whole };
  return { stream: { bytes: end - start, pieces: body, close: () => reading.close() } };
}

/** Reads the range into memory. Throws `OutOfRangeInput` when it is too long. */
async function wholeOf(reading: BlobReading, { exchange }: BlobRequest): Promise<Buffer> {
  const { start, end, body } = reading;
  try {
    if (end - start > summedRangeBytesMax) throw new StorageError('OutOfRangeInput');
    await exchange.memory.enter(end - start);
    const whole = Buffer.allocUnsafe(end - start);
    let at = 0;
    for await (const piece of body) at += piece.copy(whole, at);
    return whole;
  } finally {
    reading.close();
  }
}

function summed(checksum: RangeChecksum, bytes: Buffer): string[] {
  if (checksum === 'md5') {
    return ['Content-MD5', createHash('md5').update(bytes).digest('base64')];
  }
  return ['x-ms-content-crc64', crc64(bytes).toString('base64')];
}
