import { promisify } from 'node:util';
import {
  brotliCompress,
  brotliDecompress,
  constants,
  deflate,
  inflate,
  type BrotliOptions,
} from 'node:zlib';
import { unreachable } from '../../../base/invariant.js';
import { DecodeError } from '../../rows/model-error.js';

/** Brotli (RFC 7932), zlib (RFC 1950, as HTTP's `deflate`), or the bytes themselves. */
export type ValueEncoding = 'identity' | 'br' | 'deflate';

const toBrotli = promisify<Uint8Array, BrotliOptions, Buffer>(brotliCompress);
const toDeflate = promisify<Uint8Array, Buffer>(deflate);
const fromBrotli = promisify<Uint8Array, BrotliOptions, Buffer>(brotliDecompress);
const fromDeflate = promisify<Uint8Array, { maxOutputLength: number }, Buffer>(inflate);

/** Above this quality, Brotli takes many times as long for a few per cent. */
const brotliQuality = 5;

/** Undefined when the result would not be smaller. */
export async function compressed(
  encoding: Exclude<ValueEncoding, 'identity'>,
  bytes: Uint8Array,
): Promise<Uint8Array | undefined> {
  const result = encoding === 'br' ? await brotli(bytes) : await toDeflate(bytes);
  return result.length < bytes.length ? result : undefined;
}

function brotli(bytes: Uint8Array): Promise<Buffer> {
  const params = {
    [constants.BROTLI_PARAM_QUALITY]: brotliQuality,
    [constants.BROTLI_PARAM_SIZE_HINT]: bytes.length,
  };
  return toBrotli(bytes, { params });
}

/** Returns at most `length` bytes. Throws `DecodeError` for invalid input. */
export async function expanded(
  encoding: ValueEncoding,
  bytes: Uint8Array,
  length: number,
): Promise<Uint8Array> {
  // Zero would mean unlimited.
  const options = { maxOutputLength: Math.max(1, length) };
  try {
    switch (encoding) {
      case 'identity':
        return bytes;
      case 'br':
        return await fromBrotli(bytes, options);
      case 'deflate':
        return await fromDeflate(bytes, options);
      default:
        return unreachable(encoding);
    }
  } catch (cause) {
    throw new DecodeError(`the stored parts of a value do not decompress`, { cause });
  }
}
