import { nameOfBytes, type Bytes } from '../../base/bytes.js';
import { readSafeInteger, safeIntegerBytes } from '../../base/safe-integer.js';
import { invariant } from '../../base/invariant.js';
import { encodeCounter } from '../../kv/counter.js';
import { guardRefusal, type GuardedBatch } from '../../kv/guards.js';
import type { Check, Entry } from '../../kv/store.js';
import type { Outcome } from './outcomes.js';

/**
 * The stored state that a batch depends on, read under its locks. Keys are given by `nameOfBytes`.
 */
export interface Found {
  /** The versions of the keys of guards and checks that are there. */
  readonly versions: ReadonlyMap<string, number>;
  /** The values of the keys of additions that are there. */
  readonly values: ReadonlyMap<string, Bytes>;
}

/** The outcomes of a batch of commits, and the writes to make. */
export interface Decision {
  readonly outcomes: readonly Outcome[];
  readonly puts: readonly Entry[];
  readonly deletes: readonly Bytes[];
}

/**
 * Decides about independent commits as `commit_batch` does: each is applied whole or not at all.
 * The first one gets the version `version`, and each further one a version that is greater by one.
 */
export function decideBatch(
  batches: readonly GuardedBatch[],
  found: Found,
  version: number,
): Decision {
  const outcomes: (Outcome | undefined)[] = batches.map((batch) => refusalOf(batch, found));
  const puts = addSums(batches, outcomes, found, version);
  const deletes: Bytes[] = [];
  const decided = batches.map((batch, at): Outcome => {
    const outcome = outcomes[at];
    if (outcome !== undefined) return outcome;
    for (const { key, value } of batch.puts) puts.push({ key, value, version: version + at });
    deletes.push(...batch.deletes);
    return { kind: 'result', result: { ok: true, version: version + at } };
  });
  return { outcomes: decided, puts, deletes };
}

/** Undefined when guard and checks hold. */
function refusalOf({ guard, checks }: GuardedBatch, { versions }: Found): Outcome | undefined {
  if (guard !== undefined) {
    const actual = versions.get(nameOfBytes(guard.key)) ?? 'absent';
    const error = guardRefusal(guard, actual);
    if (error !== undefined) return { kind: 'guard', error };
  }
  for (const [failedCheck, check] of checks.entries()) {
    const actual = versions.get(nameOfBytes(check.key)) ?? 'absent';
    if (!holds(check, actual))
      return { kind: 'result', result: { ok: false, failedCheck, actual } };
  }
  return undefined;
}

function holds({ version }: Check, actual: number | 'absent'): boolean {
  return version === 'present' ? actual !== 'absent' : actual === version;
}

/** Additions to one key. */
interface Sum {
  readonly key: Bytes;
  delta: bigint;
  /** The indexes of the commits that add. */
  readonly from: number[];
}

/**
 * Computes the new values of counters. Sets the outcome of commits whose additions are invalid; one
 * that shares the counter with others is to be tried alone.
 */
function addSums(
  batches: readonly GuardedBatch[],
  outcomes: (Outcome | undefined)[],
  { values }: Found,
  version: number,
): Entry[] {
  for (;;) {
    const entries: Entry[] = [];
    let isBad = false;
    for (const [name, { key, delta, from }] of sumsOf(batches, outcomes)) {
      const sum = sumOf(values.get(name), delta);
      const last = from.at(-1);
      invariant(last !== undefined, 'a sum has additions');
      if (sum !== undefined) {
        entries.push({ key, value: encodeCounter(sum), version: version + last });
        continue;
      }
      isBad = true;
      for (const at of from) outcomes[at] = { kind: from.length === 1 ? 'no-counter' : 'alone' };
    }
    if (!isBad) return entries;
  }
}

function sumsOf(
  batches: readonly GuardedBatch[],
  outcomes: readonly (Outcome | undefined)[],
): ReadonlyMap<string, Sum> {
  const sums = new Map<string, Sum>();
  for (const [at, { adds = [] }] of batches.entries()) {
    if (outcomes[at] !== undefined) continue;
    for (const { key, delta } of adds) {
      const name = nameOfBytes(key);
      const sum = sums.get(name) ?? { key, delta: 0n, from: [] };
      sum.delta += BigInt(delta);
      sum.from.push(at);
      sums.set(name, sum);
    }
  }
  return sums;
}

/** Undefined when the value is no counter, or the sum is no safe integer. */
function sumOf(value: Bytes | undefined, delta: bigint): number | undefined {
  const before = value === undefined ? 0 : counterIn(value);
  if (before === undefined) return undefined;
  const sum = Number(BigInt(before) + delta);
  return Number.isSafeInteger(sum) ? sum : undefined;
}

function counterIn(value: Bytes): number | undefined {
  if (value.length !== safeIntegerBytes) return undefined;
  const bytes = Buffer.from(value);
  const isSafe = Number.isSafeInteger(Number(bytes.readBigInt64BE()));
  return isSafe ? readSafeInteger(bytes, 0, 'a counter') : undefined;
}
