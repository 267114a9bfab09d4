import { invariant } from '../../base/invariant.js';

/** A column of a row: its bytes as Latin-1 text, or null. */
export type Field = string | null;

export type Row = readonly Field[];

const highStep = 0x1_0000_0000;

export function bytesOf(field: Field | undefined): Buffer {
  invariant(typeof field === 'string', 'a column has bytes');
  return Buffer.from(field, 'latin1');
}

/** An integer of eight bytes, which is a safe one. */
export function numberOf(field: Field | undefined): number {
  return readNumber(bytesOf(field), 0);
}

/** The versions of absent entries are null. */
export function versionOf(field: Field | undefined): number | 'absent' {
  return field === null ? 'absent' : numberOf(field);
}

export function readNumber(bytes: Buffer, at: number): number {
  const number = bytes.readInt32BE(at) * highStep + bytes.readUInt32BE(at + 4);
  invariant(Number.isSafeInteger(number), 'the database keeps safe integers');
  return number;
}
