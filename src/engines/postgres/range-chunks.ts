import type { Bytes } from '../../base/bytes.js';
import { asBuffer } from '../../base/bytes.js';
import { guardRefusal, type Guard } from '../../kv/guards.js';
import { keyBytesMax, type Entry, type KeyRange } from '../../kv/store.js';
import { keyAfter } from '../../kv/tuple.js';
import { guardParameters, longHeadBytesMax } from './long-keys.js';
import { bytesOf, numberOf, versionOf, type Row } from './rows.js';
import type { Statement, Statements } from './statements.js';

/** Greater than every key: `ff` bytes, one more than the longest key has. */
const endOfAll = Buffer.alloc(keyBytesMax + 1, 0xff);

/** The next entries of a range, from either end. */
export interface ChunkRequest {
  readonly range: KeyRange;
  readonly reverse: boolean;
  /** At least 1. */
  readonly limit: number;
  /** The bytes of keys and values, at most; the first entry is returned whatever its size. */
  readonly bytesMax: number;
  readonly guard?: Guard | undefined;
}

export interface Chunk {
  readonly entries: readonly Entry[];
  /** Whether entries may be left in the range: `limit` was reached. */
  readonly more: boolean;
}

export type Query = (statement: Statement, values: readonly unknown[]) => Promise<readonly Row[]>;

/** Throws `GuardError`. */
export async function readChunk(
  query: Query,
  statements: Statements,
  { range, reverse, limit, bytesMax, guard }: ChunkRequest,
): Promise<Chunk> {
  const { start, end = endOfAll } = range;
  const values: unknown[] = [
    asBuffer(start),
    asBuffer(end),
    String(limit),
    String(Math.max(1, bytesMax)),
    headOf(start),
    headOf(end),
  ];
  const { forward, forwardGuarded, backward, backwardGuarded } = statements;
  const [plain, guarded] = reverse ? [backward, backwardGuarded] : [forward, forwardGuarded];
  const rows = await (guard === undefined
    ? query(plain, values)
    : query(guarded, [...values, ...guardParameters(guard.key)]));
  const entries: Entry[] = [];
  let count = 0;
  for (const [key, version, value] of rows) {
    if (key === null && guard !== undefined) {
      const refusal = guardRefusal(guard, versionOf(version));
      if (refusal !== undefined) throw refusal;
      continue;
    }
    count += 1;
    if (value === null || count - 1 !== entries.length) continue;
    entries.push({ key: bytesOf(key), value: bytesOf(value), version: numberOf(version) });
  }
  return { entries, more: entries.length < count || count >= limit };
}

/** The rest of a range after an entry. */
export function restOf(range: KeyRange, reverse: boolean, last: Bytes): KeyRange {
  if (reverse) return { ...range, end: last };
  return { ...range, start: keyAfter(last) };
}

function headOf(bound: Bytes): Buffer {
  return asBuffer(bound.subarray(0, longHeadBytesMax));
}
