import { comparedParts, type ComparedPart } from '../../kv/differences.js';
import type { Store } from '../../kv/store.js';
import { isCopied } from './copy-state.js';

/** Small pages, because the process may serve requests meanwhile. */
const page = { limit: 256, bytesMax: 1 << 20 } as const;
const everything = { start: Buffer.alloc(0) };

/** Compares the entries of two stores that belong to a copy, part by part. */
export function comparedCopies(
  source: Store,
  target: Store,
): AsyncGenerator<ComparedPart, void, void> {
  return comparedParts(source, target, { range: everything, page, isCompared: isCopied });
}
