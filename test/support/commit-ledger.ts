import assert from 'node:assert/strict';
import { decodeCounter } from '../../src/kv/counter.js';
import { CommitUnknownError, StoreUnavailableError } from '../../src/kv/errors.js';
import { partitionPrefix } from '../../src/kv/partition-prefix.js';
import type { Store } from '../../src/kv/store.js';

/** How many commits are under way. */
export const writers = 16;
const prefix = partitionPrefix('tables', 'account', 1, 'partition');
const counter = Buffer.concat([prefix, Buffer.from('count')]);

/** The key of a row. */
export function keyOf(name: string): Buffer {
  return Buffer.concat([prefix, Buffer.from(`row ${name}`)]);
}

/** What became of commits, by the names of their rows. */
export interface CommitLedger {
  readonly applied: Map<string, number>;
  readonly refused: Map<string, unknown>;
}

export function newLedger(): CommitLedger {
  return { applied: new Map(), refused: new Map() };
}

/** Inserts rows, each with an addition, until it is told to end. */
export async function write(
  store: Store,
  ledger: CommitLedger,
  signal: AbortSignal,
): Promise<void> {
  let serial = 0;
  const one = async (writer: number): Promise<void> => {
    while (!signal.aborted) {
      serial += 1;
      const name = `${writer} ${serial}`;
      const key = keyOf(name);
      try {
        const result = await store.commit({
          checks: [{ key, version: 'absent' }],
          puts: [{ key, value: Buffer.from(name) }],
          deletes: [],
          adds: [{ key: counter, delta: 1 }],
        });
        // Nobody else writes the row: were a commit applied twice, its check would fail.
        assert.ok(result.ok, `${name} was there already`);
        ledger.applied.set(name, result.version);
      } catch (error) {
        if (error instanceof assert.AssertionError) throw error;
        ledger.refused.set(name, error);
      }
    }
  };
  await Promise.all(Array.from({ length: writers }, (_, writer) => one(writer)));
}

/** Errors that the contract of a store does not have. */
export function isNoStoreError(error: unknown): boolean {
  return !(error instanceof StoreUnavailableError || error instanceof CommitUnknownError);
}

/** The store has what the ledger says, applied once, and nothing else of it. */
export async function assertExactly(
  store: Store,
  { applied, refused }: CommitLedger,
): Promise<void> {
  for (const [name, version] of applied) {
    assert.equal((await store.get(keyOf(name)))?.version, version, `${name} is lost`);
  }
  let unknown = 0;
  for (const [name, error] of refused) {
    if (error instanceof CommitUnknownError) {
      if ((await store.get(keyOf(name))) !== undefined) unknown += 1;
      continue;
    }
    assert.equal(await store.get(keyOf(name)), undefined, `${name} was refused: ${String(error)}`);
  }
  const count = await store.get(counter);
  assert.equal(count === undefined ? 0 : decodeCounter(count.value), applied.size + unknown);
}
