import type { Bytes } from '../../base/bytes.js';

const polynomial = 0x1021;

const table: readonly number[] = Array.from({ length: 256 }, (_, byte) => {
  let rest = byte << 8;
  for (let bit = 0; bit < 8; bit++) rest = rest & 0x8000 ? (rest << 1) ^ polynomial : rest << 1;
  return rest & 0xffff;
});

/** CRC-16/XMODEM: polynomial 1021, initial value 0, nothing reflected. */
export function crc16(bytes: Bytes): number {
  let rest = 0;
  for (const byte of bytes) rest = ((rest << 8) ^ (table[(rest >> 8) ^ byte] ?? 0)) & 0xffff;
  return rest;
}
