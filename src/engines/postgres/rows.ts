import { invariant } from '../../base/invariant.js';
import { readSafeInteger } from '../../base/safe-integer.js';

/** A column of a row: its bytes as Latin-1 text, or null. */
export type Field = string | null;

export type Row = readonly Field[];

export function bytesOf(field: Field | undefined): Buffer {
  invariant(typeof field === 'string', 'a column has bytes');
  return Buffer.from(field, 'latin1');
}

/** An integer of eight bytes, which is a safe one. */
export function numberOf(field: Field | undefined): number {
  return readSafeInteger(bytesOf(field), 0, 'a number of the database');
}

/** The versions of absent entries are null. */
export function versionOf(field: Field | undefined): number | 'absent' {
  return field === null ? 'absent' : numberOf(field);
}
