import type { Bytes } from '../base/bytes.js';

/** A key, and the bytes of its value as it was seen last. */
export interface SizedKey {
  readonly key: Bytes;
  readonly valueBytes: number;
}

/**
 * Keys in their order, in parts that one call reads: of no more keys and bytes than given. A larger
 * entry is a part of its own.
 */
export function* inParts(
  keys: Iterable<SizedKey>,
  { keysMax, bytesMax }: { readonly keysMax: number; readonly bytesMax: number },
): Generator<readonly SizedKey[], void, void> {
  let part: SizedKey[] = [];
  let partBytes = 0;
  for (const each of keys) {
    const bytes = each.key.length + each.valueBytes;
    const isFull = part.length === keysMax || partBytes + bytes > bytesMax;
    if (isFull && part.length > 0) {
      yield part;
      [part, partBytes] = [[], 0];
    }
    part.push(each);
    partBytes += bytes;
  }
  if (part.length > 0) yield part;
}
