/** A byte string. Callers never modify bytes they have handed over or received. */
export type Bytes = Uint8Array;

/** Unsigned byte order; a prefix is less than what it begins. Negative, zero or positive. */
export function compareBytes(left: Bytes, right: Bytes): number {
  return Buffer.compare(left, right);
}

export function equalBytes(left: Bytes, right: Bytes): boolean {
  return left.length === right.length && Buffer.compare(left, right) === 0;
}

export function concatBytes(...parts: readonly Bytes[]): Bytes {
  return Buffer.concat(parts);
}
