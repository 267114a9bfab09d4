import assert from 'node:assert/strict';
import type { TestContext } from 'node:test';
import type { ManualClock } from '../../base/clock.js';
import { manualClock } from '../../base/clock.js';
import { decodeCounter } from '../counter.js';
import type { Add, Check, CommitBatch, Put, Store } from '../store.js';
import type { ConformanceSuite, OpenedStore, SpawnedStore } from './suite.js';

/** Enough for any page of these tests. */
export const wholeRange = { limit: 100_000, bytesMax: 1_000_000_000 } as const;

export interface Setting extends OpenedStore {
  readonly clock: ManualClock;
}

/** A new store that is disposed of when the test ends, with whatever was spawned beside it. */
export async function setUp(suite: ConformanceSuite, t: TestContext): Promise<Setting> {
  const clock = manualClock();
  const opened = await suite.open({ clock });
  const spawned: SpawnedStore[] = [];
  t.after(async () => {
    for (const child of spawned) await child.kill();
    await opened.dispose();
  });
  const { spawn } = opened;
  if (spawn === undefined) return { ...opened, clock };
  return {
    ...opened,
    clock,
    async spawn(role) {
      const child = await spawn(role);
      spawned.push(child);
      return child;
    },
  };
}

export function bytes(text: string): Buffer {
  return Buffer.from(text, 'latin1');
}

export function put(key: string, value = `value of ${key}`): Put {
  return { key: bytes(key), value: bytes(value) };
}

export function batch(parts: Partial<CommitBatch>): CommitBatch {
  return { checks: [], puts: [], deletes: [], ...parts };
}

export function check(key: string, version: Check['version']): Check {
  return { key: bytes(key), version };
}

export function add(key: string, delta: number): Add & { readonly key: Buffer } {
  return { key: bytes(key), delta };
}

/** Commits and returns the version; the test fails when a check does. */
export async function commit(store: Store, parts: Partial<CommitBatch>): Promise<number> {
  const result = await store.commit(batch(parts));
  assert.ok(result.ok, `a check failed: ${JSON.stringify(result)}`);
  return result.version;
}

export async function keysOf(store: Store): Promise<string[]> {
  const page = await store.range({ start: Buffer.alloc(0) }, wholeRange);
  return page.entries.map(({ key }) => Buffer.from(key).toString('latin1'));
}

export async function valueOf(store: Store, key: string): Promise<string | undefined> {
  const entry = await store.get(bytes(key));
  return entry === undefined ? undefined : Buffer.from(entry.value).toString('latin1');
}

/** The test fails when the key is absent or holds no counter. */
export async function counterOf(store: Store, key: string): Promise<number> {
  const entry = await store.get(bytes(key));
  assert.ok(entry !== undefined, `there is no counter ${key}`);
  return decodeCounter(entry.value);
}
