import { randomBytes, randomUUID } from 'node:crypto';
import type { Bytes } from './bytes.js';

/** The only source of chance. Injected, so that a run can be repeated from its seed. */
export interface Randomness {
  bytes(count: number): Bytes;
  /** A version 4 UUID in canonical lower case. */
  uuid(): string;
}

/** The bytes fetched at once: a request for a few takes as long as one for hundreds. */
const poolBytes = 4096;
/** Longer byte strings are keys, and do not come from the pool. */
const shortBytes = 16;
let pool = Buffer.alloc(0);

/** Each byte of the pool is used once, and is erased from the pool. */
function pooledBytes(count: number): Bytes {
  if (count > shortBytes) return randomBytes(count);
  if (count > pool.length) pool = randomBytes(poolBytes);
  const bytes = new Uint8Array(pool.subarray(0, count));
  pool.fill(0, 0, count);
  pool = pool.subarray(count);
  return bytes;
}

export const systemRandomness: Randomness = {
  bytes: pooledBytes,
  uuid: () => randomUUID(),
};
