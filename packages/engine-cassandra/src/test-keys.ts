import { decodeCounter, encodeTuple, partitionPrefix, storeKey } from 'tabularium/kv';
import type { CommitBatch, CommitResult, Store } from 'tabularium/kv';
import type { Bytes } from './bytes.js';

// Keys and commits of tests.

const prefix = partitionPrefix('blobs', 'account', 1, 'partition');

export function keyNamed(name: string): Bytes {
  return Buffer.concat([prefix, encodeTuple([name])]);
}

export function storeKeyNamed(name: string): Bytes {
  return storeKey('test', name);
}

export function textOf(text: string): Bytes {
  return Buffer.from(text);
}

export function commit(store: Store, parts: Partial<CommitBatch>): Promise<CommitResult> {
  return store.commit({ checks: [], puts: [], deletes: [], ...parts });
}

/** 0 where there is no counter. */
export async function counterAt(store: Store, key: Bytes): Promise<number> {
  const entry = await store.get(key);
  return entry === undefined ? 0 : decodeCounter(entry.value);
}
