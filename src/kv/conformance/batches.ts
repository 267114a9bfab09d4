import assert from 'node:assert/strict';
import { startsWith, type Bytes } from '../../base/bytes.js';
import type { ManualClock } from '../../base/clock.js';
import { manualClock } from '../../base/clock.js';
import { decodeCounter } from '../counter.js';
import { canBeMember, type MemberStore } from '../member-store.js';
import { partitionPrefix } from '../partition-prefix.js';
import { assertPartitionRule } from '../partition-rule.js';
import type { Add, Check, CommitBatch, Put, Store } from '../store.js';
import { prefixRange } from '../tuple.js';
import { withCallLimits } from './call-limits.js';
import type { TestScope } from '../../base/conformance/suite-test.js';
import type { ConformanceSuite, OpenedStore, SpawnedStore } from './suite.js';

/** Larger than any page of these tests. */
export const wholeRange = { limit: 100_000, bytesMax: 1_000_000_000 } as const;

export interface Setting extends OpenedStore {
  readonly clock: ManualClock;
}

/**
 * Opens a new store and disposes of it, and of spawned processes, after the test. Calls have the
 * suite's time limit.
 */
export async function setUp(suite: ConformanceSuite, t: TestScope): Promise<Setting> {
  const clock = manualClock();
  const opened = await suite.open({ clock });
  const spawned: SpawnedStore[] = [];
  t.after(async () => {
    for (const child of spawned) await child.kill();
    await opened.dispose();
  });
  const { spawn, reopen } = opened;
  const limited = (store: Store) => withCallLimits(store, suite.callMillisMax);
  return {
    ...opened,
    clock,
    store: limited(opened.store),
    ...(reopen !== undefined && { reopen: async () => limited(await reopen()) }),
    ...(spawn !== undefined && {
      async spawn(role) {
        const child = await spawn(role);
        spawned.push(child);
        return { ...child, store: limited(child.store) };
      },
    }),
  };
}

export function bytes(text: string): Buffer {
  return Buffer.from(text, 'latin1');
}

/** The partition of the suite's keys, unless a test is about several partitions. */
const partition = partitionPrefix('tables', 'account', 1, 'partition');

/** A key of the suite's partition. Latin-1, so that any byte can occur. */
export function keyNamed(name: string): Buffer {
  return Buffer.concat([partition, bytes(name)]);
}

/** A key of another partition. Keys with the same partition name are neighbours. */
export function keyIn(partitionName: string, name: string): Buffer {
  return Buffer.concat([partitionPrefix('tables', 'account', 2, partitionName), bytes(name)]);
}

/** The inverse of `keyNamed`. */
export function nameOf(key: Bytes): string {
  assert.ok(startsWith(key, partition), `${String(key)} is of another partition`);
  return Buffer.from(key.subarray(partition.length)).toString('latin1');
}

export function put(name: string, value = `value of ${name}`): Put {
  return { key: keyNamed(name), value: bytes(value) };
}

/** A batch of one partition. Tests of illegal batches build them otherwise. */
export function batch(parts: Partial<CommitBatch>): CommitBatch {
  const whole = { checks: [], puts: [], deletes: [], ...parts };
  assertPartitionRule(whole);
  return whole;
}

export function check(name: string, version: Check['version']): Check {
  return { key: keyNamed(name), version };
}

export function add(name: string, delta: number): Add & { readonly key: Buffer } {
  return { key: keyNamed(name), delta };
}

/** Commits and returns the version; the test fails when a check does. */
export async function commit(store: Store, parts: Partial<CommitBatch>): Promise<number> {
  const result = await store.commit(batch(parts));
  assert.ok(result.ok, `a check failed: ${JSON.stringify(result)}`);
  return result.version;
}

export function memberOf(store: Store): MemberStore {
  assert.ok(canBeMember(store), 'the store has what members have');
  return store;
}

/** The names of all keys of the suite's partition, in order. */
export async function keysOf(store: Store): Promise<string[]> {
  const page = await store.range(prefixRange(partition), wholeRange);
  return page.entries.map(({ key }) => nameOf(key));
}

export async function valueOf(store: Store, name: string): Promise<string | undefined> {
  const entry = await store.get(keyNamed(name));
  return entry === undefined ? undefined : Buffer.from(entry.value).toString('latin1');
}

/** The test fails when the key is absent or holds no counter. */
export async function counterOf(store: Store, name: string): Promise<number> {
  const entry = await store.get(keyNamed(name));
  assert.ok(entry !== undefined, `there is no counter ${name}`);
  return decodeCounter(entry.value);
}
