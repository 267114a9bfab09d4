import { invalidQueryParameter, missingQueryParameter } from '../../model/errors/query-errors.js';
import { StorageError } from '../../model/errors/storage-error.js';

/** The longest id of a block, decoded (blob-service §12.3). */
export const blockIdBytesMax = 64;

/** The longest text of an id: base64 of the longest id. */
const blockIdTextLengthMax = 4 * Math.ceil(blockIdBytesMax / 3);

/**
 * The bytes of a block id in base64; undefined for any other text. An id has one text: base64 with
 * padding and without bits that stand for nothing, so that lists show what was sent.
 */
export function decodeBlockId(text: string): Buffer | undefined {
  if (text === '' || text.length > blockIdTextLengthMax) return undefined;
  const id = Buffer.from(text, 'base64');
  return id.length <= blockIdBytesMax && id.toString('base64') === text ? id : undefined;
}

/** The text of a block id, as it was sent. */
export function encodeBlockId(id: Uint8Array): string {
  return Buffer.from(id.buffer, id.byteOffset, id.byteLength).toString('base64');
}

/**
 * The `blockid` of Put Block (blob-service §12.3).
 *
 * @throws {StorageError} `MissingRequiredQueryParameter`, `InvalidQueryParameterValue` for what is
 * no base64, `InvalidBlockId` for one that is too long
 */
export function blockIdParameter(text: string | undefined): Buffer {
  if (text === undefined || text === '') throw missingQueryParameter('blockid');
  const id = decodeBlockId(text);
  if (id !== undefined) return id;
  if (text.length > blockIdTextLengthMax) throw new StorageError('InvalidBlockId');
  const bytes = Buffer.from(text, 'base64');
  if (bytes.length > blockIdBytesMax) throw new StorageError('InvalidBlockId');
  throw invalidQueryParameter('blockid', text, 'Not a valid base64 string.');
}
