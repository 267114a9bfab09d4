import { invariant } from '../../base/invariant.js';
import { readSafeInteger } from '../../base/safe-integer.js';

/** A column of a row: its bytes, or null. */
export type Field = Buffer | null;

export type Row = readonly Field[];

export function bytesOf(field: Field | undefined): Buffer {
  invariant(field instanceof Buffer, 'a column has bytes');
  return field;
}

/** An integer of eight bytes, which is a safe one. */
export function numberOf(field: Field | undefined): number {
  return readSafeInteger(bytesOf(field), 0, 'a number of the database');
}

/** The versions of absent entries are null. */
export function versionOf(field: Field | undefined): number | 'absent' {
  return field === null ? 'absent' : numberOf(field);
}
