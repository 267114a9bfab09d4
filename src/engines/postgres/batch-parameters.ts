import { equalBytes, type Bytes } from '../../base/bytes.js';
import type { GuardedBatch } from '../../kv/guards.js';
import { floorOf, type Ingestion } from '../../kv/ingestion.js';
import { byteaArray, int4Array, int8Array } from './binary-array.js';
import type { CommitOptions } from './commit-form.js';
import { shortKeyBytesMax } from './long-keys.js';

/**
 * The numbers that stand for `absent` and `present` among the versions that `commit_batch` checks.
 */
const anyVersion = { absent: -1, present: -2 } as const;

/** A column of keys: for each, the number of its commit in the batch. */
class KeyColumn {
  readonly numbers: number[] = [];
  readonly keys: Bytes[] = [];

  add(number: number, key: Bytes): void {
    this.numbers.push(number);
    this.keys.push(key);
  }

  parameters(): Buffer[] {
    return [int4Array(this.numbers), byteaArray(this.keys)];
  }
}

/** The parameters of `commit_batch` behind those of the session. */
export function commitParameters(
  batches: readonly GuardedBatch[],
  { nowMicros, slots }: CommitOptions,
): unknown[] {
  const [guards, checks, deletes] = [new KeyColumn(), new KeyColumn(), new KeyColumn()];
  const [puts, adds] = [new KeyColumn(), new KeyColumn()];
  const guardVersions: number[] = [];
  const indexes: number[] = [];
  const versions: number[] = [];
  const values: Bytes[] = [];
  const deltas: number[] = [];
  for (const [at, batch] of batches.entries()) {
    const number = at + 1;
    if (batch.guard !== undefined) {
      guards.add(number, batch.guard.key);
      guardVersions.push(batch.guard.version);
    }
    for (const [index, { key, version }] of batch.checks.entries()) {
      checks.add(number, key);
      indexes.push(index);
      versions.push(typeof version === 'number' ? version : anyVersion[version]);
    }
    for (const key of batch.deletes) deletes.add(number, key);
    for (const { key, value } of batch.puts) {
      puts.add(number, key);
      values.push(value);
    }
    for (const { key, delta } of batch.adds ?? []) {
      adds.add(number, key);
      deltas.push(delta);
    }
  }
  const hasLong = [deletes, puts, adds].some(({ keys }) =>
    keys.some((key) => key.length > shortKeyBytesMax),
  );
  return [
    String(nowMicros),
    String(batches.length),
    int4Array(slots === 'all' ? [] : slots),
    hasLong ? 'true' : 'false',
    ...guards.parameters(),
    int8Array(guardVersions),
    int4Array(checks.numbers),
    int4Array(indexes),
    byteaArray(checks.keys),
    int8Array(versions),
    ...deletes.parameters(),
    ...puts.parameters(),
    byteaArray(values),
    ...adds.parameters(),
    int8Array(deltas),
  ];
}

/** The parameters of `insert_batch` behind those of the session. */
export function insertParameters(
  batches: readonly GuardedBatch[],
  { nowMicros, slots }: CommitOptions,
): unknown[] {
  const inserts = new KeyColumn();
  const values: Bytes[] = [];
  for (const [at, { puts }] of batches.entries()) {
    for (const { key, value } of puts) {
      inserts.add(at + 1, key);
      values.push(value);
    }
  }
  return [
    String(nowMicros),
    String(batches.length),
    int4Array(slots === 'all' ? [] : slots),
    ...inserts.parameters(),
    byteaArray(values),
  ];
}

/** Whether a commit only inserts short keys. */
export function isInsertion({ guard, checks, puts, deletes, adds = [] }: GuardedBatch): boolean {
  if (guard !== undefined || deletes.length > 0 || adds.length > 0) return false;
  if (puts.length === 0 || checks.length !== puts.length) return false;
  return puts.every(({ key }, at) => {
    const check = checks[at];
    const isOfKey = check !== undefined && equalBytes(check.key, key);
    return isOfKey && check.version === 'absent' && key.length <= shortKeyBytesMax;
  });
}

/** The parameters of `ingest_batch` behind those of the session. */
export function ingestParameters(ingestion: Ingestion): unknown[] {
  const { entries, deletes, guard } = ingestion;
  return [
    String(floorOf(ingestion)),
    guard === undefined ? null : Buffer.from(guard.key),
    guard === undefined ? null : String(guard.version),
    byteaArray(deletes),
    byteaArray(entries.map(({ key }) => key)),
    int8Array(entries.map(({ version }) => version)),
    byteaArray(entries.map(({ value }) => value)),
  ];
}
