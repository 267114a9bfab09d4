import { createCipheriv, createDecipheriv } from 'node:crypto';
import type { Randomness } from '../../base/randomness.js';
import { sivDecrypt, sivEncrypt } from './aes-siv.js';
import { associatedDataOfEquals, associatedDataOf, type ValueLocation } from './associated-data.js';
import { EncryptionError } from './encryption-error.js';
import { decodePlain, encodePlain } from './plain-value.js';
import type { WireValue } from '../rows/row.js';

// One encrypted value of one property. The first byte is the algorithm; the numbers are permanent.
// The grammar is in docs/reference/modeling-encryption.md.

/** A256GCM: equal values differ in every row and every write. A256SIV: they are equal bytes. */
export type ValueAlgorithm = 'A256GCM' | 'A256SIV';

const gcmMark = 1;
const sivMark = 2;
const nonceBytes = 12;
const tagBytes = 16;

/** The size of an entity's content key. */
export const contentKeyBytes = 32;
/** The size of the key of deterministic properties. */
export const deterministicKeyBytes = 64;

/** Bytes that encryption adds to a value, its type included. */
export const overheadBytesMax = 2 + nonceBytes + tagBytes;

/** AES-256-GCM with a random nonce, bound to the location. */
export function encryptValue(
  key: Uint8Array,
  location: ValueLocation,
  value: WireValue,
  randomness: Randomness,
): Uint8Array {
  const nonce = randomness.bytes(nonceBytes);
  const cipher = createCipheriv('aes-256-gcm', key, nonce, { authTagLength: tagBytes });
  cipher.setAAD(associatedDataOf(location));
  const body = [cipher.update(encodePlain(value)), cipher.final()];
  return Buffer.concat([Uint8Array.of(gcmMark), nonce, ...body, cipher.getAuthTag()]);
}

/** Throws `EncryptionError` unless the bytes were encrypted with this key for this location. */
export function decryptValue(
  key: Uint8Array,
  location: ValueLocation,
  bytes: Uint8Array,
): WireValue {
  if (bytes[0] !== gcmMark || bytes.length < 1 + nonceBytes + tagBytes) throw refusal(location);
  const end = bytes.length - tagBytes;
  const nonce = bytes.subarray(1, 1 + nonceBytes);
  const decipher = createDecipheriv('aes-256-gcm', key, nonce, { authTagLength: tagBytes });
  decipher.setAAD(associatedDataOf(location));
  decipher.setAuthTag(bytes.subarray(end));
  const body = decipher.update(bytes.subarray(1 + nonceBytes, end));
  try {
    return decodePlain(Buffer.concat([body, decipher.final()]));
  } catch (cause) {
    throw refusal(location, cause);
  }
}

/** AES-256-SIV, bound to table and property only: equal values are equal bytes. */
export function encryptEqual(
  key: Uint8Array,
  location: Pick<ValueLocation, 'table' | 'property'>,
  value: WireValue,
): Uint8Array {
  const body = sivEncrypt(key, associatedDataOfEquals(location), encodePlain(value));
  return Buffer.concat([Uint8Array.of(sivMark), body]);
}

/** Undoes `encryptEqual`; throws as `decryptValue`. */
export function decryptEqual(
  key: Uint8Array,
  location: ValueLocation,
  bytes: Uint8Array,
): WireValue {
  const plain =
    bytes[0] === sivMark
      ? sivDecrypt(key, associatedDataOfEquals(location), bytes.subarray(1))
      : undefined;
  if (plain === undefined) throw refusal(location);
  return decodePlain(plain);
}

function refusal({ table, partitionKey, rowKey, property }: ValueLocation, cause?: unknown) {
  return new EncryptionError(
    `'${property}' of ('${partitionKey}', '${rowKey}') in ${table} was changed, moved from elsewhere, ` +
      'or encrypted with another key',
    { cause },
  );
}
