import { createHash } from 'node:crypto';
import { DecodeError, ValueError } from '../../rows/model-error.js';
import type { WireValue } from '../../rows/row.js';

/** The types that can be large. Others have a fixed size. */
export type LargeType = 'String' | 'Binary';
export type LargeValue = Extract<WireValue, { readonly type: LargeType }>;

const loneSurrogate = /\p{Surrogate}/u;

export function isLargeType(value: WireValue): value is LargeValue {
  return value.type === 'String' || value.type === 'Binary';
}

/** Text as UTF-8, bytes unchanged. Throws `ValueError` for a lone surrogate. */
export function bytesOfValue(value: LargeValue): Uint8Array {
  if (value.type === 'Binary') return value.value;
  if (loneSurrogate.test(value.value)) {
    throw new ValueError('a string with half a surrogate pair has no form on the wire');
  }
  return Buffer.from(value.value, 'utf8');
}

export function valueOfBytes(type: LargeType, bytes: Uint8Array): LargeValue {
  if (type === 'Binary') return { type, value: new Uint8Array(bytes) };
  return {
    type,
    value: Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length).toString('utf8'),
  };
}

/** SHA-256 in base64. */
export function checksumOf(bytes: Uint8Array): string {
  return createHash('sha256').update(bytes).digest('base64');
}

/** Throws `DecodeError` when length or checksum differ. */
export function checkBytes(
  name: string,
  bytes: Uint8Array,
  length: number,
  checksum: string,
): void {
  if (bytes.length === length && checksumOf(bytes) === checksum) return;
  throw new DecodeError(`the stored parts of '${name}' are not the value that was written`);
}
