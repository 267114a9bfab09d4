import type { Bytes } from '../../base/bytes.js';

/** Bytes of a guid, in the order in which its text spells them. */
const guidBytes = 16;

const guidTextLength = 36;

/** Offset in the canonical text of the two digits of each byte. */
const digitsAt = [0, 2, 4, 6, 9, 11, 14, 16, 19, 21, 24, 26, 28, 30, 32, 34];

const hexDigits = Buffer.from('0123456789abcdef', 'latin1');

/** The value of a hexadecimal digit in any letter case; -1 for any other character. */
export function hexDigitValue(code: number): number {
  if (code >= 0x30 && code <= 0x39) return code - 0x30;
  const lower = code | 0x20;
  return lower >= 0x61 && lower <= 0x66 ? lower - 0x57 : -1;
}

const guidShape = /^[0-9A-Fa-f]{8}-[0-9A-Fa-f]{4}-[0-9A-Fa-f]{4}-[0-9A-Fa-f]{4}-[0-9A-Fa-f]{12}$/;

/** A guid in canonical lower case from `8-4-4-4-12` hexadecimal digits in any letter case. */
export function parseGuid(text: string): string | undefined {
  if (text.length !== guidTextLength || !guidShape.test(text)) return undefined;
  return text.toLowerCase();
}

/** Writes the 16 bytes of a canonical guid; returns the end. */
export function writeGuid(target: Uint8Array, at: number, text: string): number {
  for (let index = 0; index < guidBytes; index++) {
    const from = digitsAt[index] ?? 0;
    const high = hexDigitValue(text.charCodeAt(from));
    target[at + index] = (high << 4) | hexDigitValue(text.charCodeAt(from + 1));
  }
  return at + guidBytes;
}

/** Writes the 36 characters of the guid whose bytes begin at `start`; returns the end. */
export function writeGuidText(target: Uint8Array, at: number, bytes: Bytes, start: number): number {
  target[at + 8] = 0x2d;
  target[at + 13] = 0x2d;
  target[at + 18] = 0x2d;
  target[at + 23] = 0x2d;
  for (let index = 0; index < guidBytes; index++) {
    const byte = bytes[start + index] ?? 0;
    const to = at + (digitsAt[index] ?? 0);
    target[to] = hexDigits[byte >> 4] ?? 0;
    target[to + 1] = hexDigits[byte & 15] ?? 0;
  }
  return at + guidTextLength;
}

const scratch = Buffer.alloc(guidTextLength);

/** The canonical text of the guid whose bytes begin at `start`. */
export function guidText(bytes: Bytes, start: number): string {
  return scratch.toString('latin1', 0, writeGuidText(scratch, 0, bytes, start));
}
