import { unreachable } from '../../base/invariant.js';
import type { WireValue } from '../rows/row.js';
import { EncryptionError } from './encryption-error.js';

// Encodes a value with its type as bytes, for encryption. The grammar is in
// docs/reference/modeling-encryption.md; the numbers are permanent.

const tags = {
  String: 1,
  Int32: 2,
  Int64: 3,
  Double: 4,
  Boolean: 5,
  Guid: 6,
  Binary: 7,
  DateTime: 8,
} as const satisfies Readonly<Record<WireValue['type'], number>>;

const loneSurrogate = /\p{Cs}/u;

/** One byte for the type, then the value; integers and dates big-endian. */
export function encodePlain(value: WireValue): Uint8Array {
  const body = bodyOf(value);
  const bytes = Buffer.allocUnsafe(1 + body.length);
  bytes[0] = tags[value.type];
  bytes.set(body, 1);
  return bytes;
}

function bodyOf(wire: WireValue): Uint8Array {
  switch (wire.type) {
    case 'String':
      return utf8(wire.value);
    case 'Binary':
      return wire.value;
    case 'Boolean':
      return Uint8Array.of(wire.value ? 1 : 0);
    case 'Guid':
      return Buffer.from(wire.value.replaceAll('-', ''), 'hex');
    case 'Int32':
      return fixed(4, (view) => view.setInt32(0, wire.value));
    case 'Double':
      return fixed(8, (view) => view.setFloat64(0, wire.value));
    case 'Int64':
    case 'DateTime':
      return fixed(8, (view) => view.setBigInt64(0, wire.value));
    default:
      return unreachable(wire);
  }
}

function fixed(size: number, write: (view: DataView) => void): Uint8Array {
  const bytes = new Uint8Array(size);
  write(new DataView(bytes.buffer));
  return bytes;
}

/** Refuses a lone surrogate, which UTF-8 cannot encode, so that decryption gives the same text. */
export function utf8(text: string): Uint8Array {
  if (loneSurrogate.test(text)) {
    throw new EncryptionError('A text with half of a surrogate pair cannot be encrypted');
  }
  return Buffer.from(text, 'utf8');
}

/** Undoes `encodePlain`. Throws `EncryptionError` for bytes that it does not produce. */
export function decodePlain(bytes: Uint8Array): WireValue {
  const body = Buffer.from(bytes.buffer, bytes.byteOffset + 1, bytes.length - 1);
  switch (bytes[0]) {
    case tags.String:
      return { type: 'String', value: body.toString('utf8') };
    case tags.Binary:
      return { type: 'Binary', value: new Uint8Array(body) };
    case tags.Boolean:
      return { type: 'Boolean', value: sized(body, 1).readUInt8() === 1 };
    case tags.Guid:
      return { type: 'Guid', value: guidText(sized(body, 16).toString('hex')) };
    case tags.Int32:
      return { type: 'Int32', value: sized(body, 4).readInt32BE() };
    case tags.Double:
      return { type: 'Double', value: sized(body, 8).readDoubleBE() };
    case tags.Int64:
      return { type: 'Int64', value: sized(body, 8).readBigInt64BE() };
    case tags.DateTime:
      return { type: 'DateTime', value: sized(body, 8).readBigInt64BE() };
    default:
      throw new EncryptionError(`${bytes[0]} is no type of an encrypted value`);
  }
}

function sized(body: Buffer, bytes: number): Buffer {
  if (body.length === bytes) return body;
  throw new EncryptionError(`An encrypted value has ${body.length} bytes instead of ${bytes}`);
}

function guidText(hex: string): string {
  return [0, 8, 12, 16, 20].map((from, index, all) => hex.slice(from, all[index + 1])).join('-');
}
