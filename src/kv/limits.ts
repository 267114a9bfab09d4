import type { Bytes } from '../base/bytes.js';
import { invariant } from '../base/invariant.js';
import type { CommitBatch, RangeOptions } from './store.js';
import { keyBytesMax } from './store.js';

/** Callers keep these limits; an engine asserts them before it touches anything. */
export function assertKey(key: Bytes): void {
  invariant(
    key.length >= 1 && key.length <= keyBytesMax,
    `a key has 1 to ${keyBytesMax} bytes, not ${key.length}`,
  );
}

export function assertBatch(batch: CommitBatch): void {
  for (const check of batch.checks) assertKey(check.key);
  for (const put of batch.puts) assertKey(put.key);
  for (const key of batch.deletes) assertKey(key);
  if (batch.adds === undefined) return;
  for (const { key, delta } of batch.adds) {
    assertKey(key);
    invariant(Number.isSafeInteger(delta), `a counter changes by a safe integer, not ${delta}`);
  }
}

export function assertRangeOptions(options: RangeOptions): void {
  invariant(options.limit >= 1, 'a range page holds at least one entry');
  invariant(options.bytesMax >= 0, 'a range page cannot hold less than no bytes');
}
