import { invalidHeader } from '../../model/errors/query-errors.js';
import { StorageError } from '../../model/errors/storage-error.js';

/** A checksum that a request claims for its body, as the bytes of the header. */
export type ClaimedChecksum =
  | { readonly kind: 'md5'; readonly bytes: Buffer }
  | { readonly kind: 'crc64'; readonly bytes: Buffer };

const md5Bytes = 16;
const crc64Bytes = 8;

/** The bytes of a text in base64, if there are as many as expected and it has no other form. */
function base64Of(text: string, bytes: number): Buffer | undefined {
  const decoded = Buffer.from(text, 'base64');
  return decoded.length === bytes && decoded.toString('base64') === text ? decoded : undefined;
}

/** The value of `Content-MD5` and of the headers like it. @throws {StorageError} `InvalidMd5` */
export function parseMd5(text: string): Buffer {
  const md5 = base64Of(text, md5Bytes);
  if (md5 === undefined) throw new StorageError('InvalidMd5');
  return md5;
}

/**
 * The value of `x-ms-content-crc64` and of the headers like it (blob-service §3.1).
 *
 * @param name the name of the header
 * @throws {StorageError} `InvalidHeaderValue`
 */
export function parseCrc64(name: string, text: string): Buffer {
  const sum = base64Of(text, crc64Bytes);
  if (sum === undefined) throw invalidHeader(name, text);
  return sum;
}

/**
 * The checksum of a request by the values of its two headers; undefined when it has none
 * (blob-service §3.1).
 *
 * @throws {StorageError} `BothCrc64AndMd5HeaderPresent`, `InvalidMd5`, `InvalidHeaderValue`
 */
export function claimedChecksum(
  md5: string | undefined,
  crc64: string | undefined,
): ClaimedChecksum | undefined {
  if (md5 !== undefined && crc64 !== undefined) {
    throw new StorageError('BothCrc64AndMd5HeaderPresent');
  }
  if (md5 !== undefined) return { kind: 'md5', bytes: parseMd5(md5) };
  if (crc64 === undefined) return undefined;
  return { kind: 'crc64', bytes: parseCrc64('x-ms-content-crc64', crc64) };
}
